//! Any text can be masked in any line, which stays as long, and JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    assert!(ctxc::version::masks_any(data));
});
