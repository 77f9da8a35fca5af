//! The sessions that a damaged archive does not have whole (L-14).

use std::collections::BTreeMap;

use super::{KeptSession, SessionState, kept_sessions};
use ctxc_store::{Archive, ObjectKind};
use ctxc_transcript::text::Digest;

/// The ids of the sessions to which the objects belong, each with the most lines that one of its objects lacks. An object
/// that cannot be read is left out.
#[must_use]
pub fn damaged_sessions(archive: &dyn Archive, incomplete: &[(ObjectKind, Digest, u64)]) -> BTreeMap<String, u64> {
    let kept = kept_sessions(archive).unwrap_or_default();
    let has_file =
        |kept: &KeptSession, key: Digest| kept.file_keys(archive).is_ok_and(|mut files| files.any(|it| it == key));
    let mut sessions = BTreeMap::new();
    for (kind, key, n_lost) in incomplete {
        let id = match kind {
            ObjectKind::State => SessionState::read(archive, *key).ok().map(|state| state.session),
            _ => kept.iter().find(|kept| has_file(kept, *key)).map(|kept| kept.id.clone()),
        };
        let Some(id) = id else { continue };
        let most: &mut u64 = sessions.entry(id).or_default();
        *most = (*most).max(*n_lost);
    }
    sessions
}
