//! Any text can be read as the plan of a run, or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    assert!(ctxc::cli::reads_any_plan(data));
});
