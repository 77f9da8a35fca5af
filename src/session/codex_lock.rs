//! The lock by which Codex says that it has a session open (format: "Codex"), for whoever replaces its file.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::anyhow;

use super::error::CommandError;
use ctxc_transcript::session::rollout_home;

/// The lock of a session that no Codex has open. While it is held, none opens the session either.
#[derive(Debug)]
pub(crate) struct CodexLock(Option<File>);

/// Takes the lock of the session `id`, whose rollout is the file at `path`.
///
/// Codex makes the file of the lock when it first opens a session, so that none is taken where there is no such file, or
/// where the rollout lies outside its folders. Old versions (0.144.6) have no locks.
///
/// # Errors
/// When a running Codex holds the lock, even an idle one: it would go on writing to the old file, and its next
/// turns would be lost.
pub(crate) fn lock_codex_session(path: &Path, id: &str) -> Result<CodexLock, CommandError> {
    let followed = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = format!("{id}.lock");
    let lock = rollout_home(&followed).map(|home| home.join("thread-writer-locks").join(name));
    let Some(file) = lock.and_then(|lock| File::open(lock).ok()) else { return Ok(CodexLock(None)) };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(CommandError::from(anyhow!("Codex still has this session open: {}", path.display()))
                .with_hint("exit Codex first (an idle one holds it too); nothing was written"))
        }
        Err(TryLockError::Error(_)) => Ok(CodexLock(None)),
        Ok(()) => Ok(CodexLock(Some(file))),
    }
}

impl Drop for CodexLock {
    fn drop(&mut self) {
        // A process that another thread is just starting has a copy of the handle.
        if let Some(file) = &self.0 {
            let _ = file.unlock();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    // O-04, O-05
    #[test]
    fn o_04_a_session_that_codex_has_open_is_refused_and_any_other_is_held() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("sessions/2026/11/23");
        let locks = home.path().join("thread-writer-locks");
        fs::create_dir_all(&day).unwrap();
        fs::create_dir_all(&locks).unwrap();
        let path = day.join("rollout-2026-11-23T10-00-00-x.jsonl");
        fs::write(&path, "{}\n").unwrap();
        assert!(lock_codex_session(&path, "x").unwrap().0.is_none(), "no Codex ever opened it");
        let lock = File::create(locks.join("x.lock")).unwrap();
        let held = lock_codex_session(&path, "x").unwrap();
        assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        lock.try_lock().unwrap();
        let refused = lock_codex_session(&path, "x").unwrap_err();
        assert!(format!("{refused:?}").contains("Codex still has this session open"));
        assert!(lock_codex_session(&path, "y").unwrap().0.is_none(), "another session");
    }
}
