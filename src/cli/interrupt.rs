//! Ctrl-C: the first one stops the work where nothing is half done, a second one ends the program at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The exit code of a program that was interrupted (U-02).
pub(super) const INTERRUPTED: u8 = 130;

/// Lets a signal end the program at once while `idle` is set, for then nothing is half done.
#[cfg(feature = "mcp")]
pub(super) fn end_while(idle: &Arc<AtomicBool>) {
    for signal in [SIGINT, SIGTERM] {
        // Where the system refuses a handler, a signal ends the program at once anyway.
        let _ = flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(idle));
    }
}

/// Watches for signals from now on; the flag is set by the first.
pub(super) fn watch() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second signal finds the flag that the first has set. Where the system refuses a handler,
        // a signal ends the program at once.
        let ends_at_once = flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&stop));
        let _ = ends_at_once.and_then(|_| flag::register(signal, Arc::clone(&stop)));
    }
    stop
}
