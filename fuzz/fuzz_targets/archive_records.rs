//! Any bytes can be read as an object of an archive, or are refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    assert!(ctxc::version::reads_any_object(data));
});
