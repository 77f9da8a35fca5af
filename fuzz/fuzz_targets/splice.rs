//! A rewrite without an edit gives back every byte, whatever the file holds (T-01).
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    assert!(ctxc::transcript::rewrite_is_identity(data), "a rewrite without an edit changed the bytes");
});
