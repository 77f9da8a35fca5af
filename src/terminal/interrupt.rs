//! Ctrl-C and SIGTERM: the first one stops the work where nothing is half done, a second one ends the program at once.
//!
//! Whoever waits for something that may never come, such as the other end of a pipe, says so: then the first signal ends
//! the program, for nothing is half done. Work that does not stop for a signal within [`PATIENCE`] is ended: every
//! file changes whole or not at all.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use ctxc_transcript::text::Stopped;

/// The exit code of a program that was interrupted (U-02).
pub(crate) const INTERRUPTED: u8 = 130;

/// How long work may go on after a signal.
const PATIENCE: Duration = Duration::from_secs(10);

/// Set by the first signal.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// Set while the program waits for something that may never come.
static WAITING: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Lets a signal end the program at once while `idle` is set, for then nothing is half done.
pub(crate) fn end_while(idle: &Arc<AtomicBool>) {
    for signal in [SIGINT, SIGTERM] {
        // Where the system refuses a handler, a signal ends the program at once anyway.
        let _ = flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(idle));
    }
}

/// Watches for signals from now on; the flag is set by the first.
pub(crate) fn watch() -> Arc<AtomicBool> {
    end_while(&WAITING);
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second signal finds the flag that the first has set. Where the system refuses a handler,
        // a signal ends the program at once.
        let ends_at_once = flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&STOP));
        let _ = ends_at_once.and_then(|_| flag::register(signal, Arc::clone(&STOP)));
    }
    // Without this thread, which a system may refuse, it takes a second signal.
    let _ = thread::Builder::new().name("signals".to_owned()).spawn(end_what_does_not_stop);
    Arc::clone(&STOP)
}

/// Does `wait`, during which a signal ends the program.
///
/// # Errors
/// Those of `wait`, and [`Stopped`] where a signal came before.
pub(crate) fn while_waiting<T>(wait: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    WAITING.store(true, Ordering::SeqCst);
    let result = Stopped::check(&STOP).and_then(|()| wait());
    WAITING.store(false, Ordering::SeqCst);
    result
}

fn end_what_does_not_stop() {
    while !STOP.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(200));
    }
    thread::sleep(PATIENCE);
    #[expect(clippy::exit, reason = "somebody wants it to end, and it does not")]
    std::process::exit(INTERRUPTED.into());
}
