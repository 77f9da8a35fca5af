//! Any bytes can be read as what a server sends; what comes of them can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    assert!(ctxc::engine::chat::reads_any_reply(data));
});
