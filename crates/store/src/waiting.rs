//! Waiting for what a runtime of our own does, also where the caller is within another.

use std::future::Future;
use std::{io, thread};

use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime that runs while somebody waits.
pub struct Waiting {
    runtime: Option<Runtime>,
}

impl Waiting {
    /// A runtime of one thread.
    ///
    /// # Errors
    /// When the system has none to give.
    pub fn new() -> io::Result<Self> {
        Ok(Self { runtime: Some(Builder::new_current_thread().enable_all().build()?) })
    }

    /// Drives `future` until it is done. A runtime cannot wait within another, so that it then runs on a thread beside it.
    ///
    /// # Panics
    /// When `future` does.
    #[expect(clippy::expect_used, reason = "the runtime is only taken when this is dropped")]
    pub fn wait<T: Send>(&self, future: impl Future<Output = T> + Send) -> T {
        let runtime = self.runtime.as_ref().expect("the runtime is there until this is dropped");
        if Handle::try_current().is_err() {
            return runtime.block_on(future);
        }
        thread::scope(|scope| match scope.spawn(move || runtime.block_on(future)).join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // To wait for its end is not allowed within another.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
