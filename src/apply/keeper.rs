//! What a rewrite takes out, on its way into the archive, and the recipe that brings the source back.

use crate::archive::{Archive, Original, RecipeStep};
use crate::text::{Digest, json_string};
use crate::transcript::scan::Scan;

use super::ApplyError;

/// What was kept, and how the source is built again from the output.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) recipe: Vec<RecipeStep>,
    /// The session ids of the source that the output's own took the place of. The recipe names them.
    pub(super) session_ids: Vec<String>,
    pub(super) source: Digest,
    pub(super) output: Digest,
}

/// Takes note of every line that is written, in order.
pub(super) struct Keeper<'a> {
    archive: Option<&'a mut dyn Archive>,
    recipe: Vec<RecipeStep>,
    session_ids: Vec<String>,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(archive: Option<&'a mut dyn Archive>) -> Self {
        Self { archive, recipe: Vec::new(), session_ids: Vec::new() }
    }

    /// Whether anything is kept at all.
    pub(super) const fn is_on(&self) -> bool {
        self.archive.is_some()
    }

    /// Notes that `n_lines` of the source were written as they are, or with another session id in the place of
    /// `session`.
    pub(super) fn copied(&mut self, n_lines: u64, session: Option<&str>) {
        if n_lines == 0 || !self.is_on() {
            return;
        }
        let session = session.map(|id| self.session_idx(id));
        if let Some(RecipeStep::Copy { lines, session: before }) = self.recipe.last_mut() {
            // A line without an id goes with any neighbour.
            if session.is_none() || before.is_none() || *before == session {
                *lines += n_lines;
                *before = before.or(session);
                return;
            }
        }
        self.recipe.push(RecipeStep::Copy { lines: n_lines, session });
    }

    /// Notes that a line of `session` was changed or left out where the output is a session of its own. What was taken
    /// out is found under that id, and what is added to the output later goes back under it.
    pub(super) fn left(&mut self, session: &str) {
        if self.is_on() {
            self.session_idx(session);
        }
    }

    /// Keeps `original`, in whose place `replacement` was written, or nothing.
    pub(super) fn changed(&mut self, original: &[u8], replacement: Option<&[u8]>) -> Result<(), ApplyError> {
        if !self.is_on() {
            return Ok(());
        }
        if replacement.is_some() {
            self.skipped(1);
        }
        self.replaced(original, replacement.map(Digest::of))
    }

    /// Keeps `original`, in whose place the line of the digest `replaced_by` stands: that line has been passed over.
    pub(super) fn replaced(&mut self, original: &[u8], replaced_by: Option<Digest>) -> Result<(), ApplyError> {
        let Some(archive) = &mut self.archive else { return Ok(()) };
        let uuid = Scan::of(original).uuid.and_then(|it| it.string(original)).map(json_string::decode);
        let kept = archive.put_original(&Original { line: original, uuid: uuid.as_deref(), replaced_by });
        self.recipe.push(RecipeStep::Original(kept.map_err(ApplyError::Archive)?));
        Ok(())
    }

    /// Notes `n_lines` of the output that the source does not have.
    pub(super) fn skipped(&mut self, n_lines: u64) {
        if !self.is_on() {
            return;
        }
        match self.recipe.last_mut() {
            Some(RecipeStep::Skip { lines }) => *lines += n_lines,
            _ => self.recipe.push(RecipeStep::Skip { lines: n_lines }),
        }
    }

    /// The recipe, and the session ids of the source that the output's own took the place of.
    pub(super) fn finish(self) -> (Vec<RecipeStep>, Vec<String>) {
        (self.recipe, self.session_ids)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a file has a handful of session ids")]
    fn session_idx(&mut self, id: &str) -> u32 {
        let known = self.session_ids.iter().position(|known| known == id);
        known.unwrap_or_else(|| {
            self.session_ids.push(id.to_owned());
            self.session_ids.len() - 1
        }) as u32
    }
}
