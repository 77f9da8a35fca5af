//! Any text can be read as a shell command.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    assert!(ctxc::plan::reads_any_shell(data));
});
