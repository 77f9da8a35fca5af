//! Changes of the running conversation that MCP tools asked for (C-05), made during its compaction.

use std::collections::HashSet;

use anyhow::anyhow;

use super::answer::Request;
use super::planning::{CompactOptions, Conversation};
use crate::mcp::{Call, Change, ClientCall};
use crate::session::cut;
use crate::session::cut::{CutAction, Matches, TargetSpec};
use crate::session::error::CommandError;
use crate::session::open::OpenSession;
use ctxc_core::apply::{CutItem, Rewrite, cut_named};
use ctxc_core::plan::Roles;
use ctxc_transcript::text::Tokens;

impl Conversation<'_> {
    /// Makes the changes that tools asked for. Returns whether the conversation shall also be fitted to a target, which is
    /// `true` without any calls.
    pub(super) fn asked(&mut self, request: &Request, how: &CompactOptions) -> Result<(bool, Rewrite), CommandError> {
        let calls = request.asked.iter().map(ClientCall::call).collect::<Result<Vec<Call>, _>>()?;
        let mut rewrite = Rewrite::default();
        let (mut fits, mut target) = (calls.is_empty(), None);
        let mut seen = HashSet::new();
        // If several calls name an item, the last one decides its replacement.
        for call in calls.iter().rev() {
            match call {
                Call::Context(Change::Cut(action, specs)) => self.cut(*action, specs, &mut seen, &mut rewrite)?,
                Call::Context(Change::Restore(_)) => {
                    return Err(anyhow!("nothing is brought back into a running session").into());
                }
                Call::Context(Change::Fit(to, _)) => {
                    let to = to.of(self.window);
                    target = Some(target.map_or(to, |other: Tokens| other.min(to)));
                    fits = true;
                }
                Call::CompactContext => fits = true,
                Call::Context(Change::Prune) | Call::MemoryRead(_) | Call::ContextStats | Call::ContextRefs(_) => {}
            }
        }
        if calls.iter().any(|call| matches!(call, Call::Context(Change::Prune))) {
            self.prune_by(&how.superseded, request, &mut rewrite)?;
        }
        self.target = target.unwrap_or(self.target);
        Ok((fits, rewrite))
    }

    /// Cuts the items of `specs` that the archive can restore, except those in `seen`, which were cut before.
    fn cut(
        &self,
        action: CutAction,
        specs: &[TargetSpec],
        seen: &mut HashSet<CutItem>,
        rewrite: &mut Rewrite,
    ) -> Result<(), CommandError> {
        let OpenSession { reading, settings, .. } = &self.work;
        let (calls, items) = cut::find(action, specs, reading, Roles::Both, Matches::One)?;
        let line = |item: &CutItem| match item {
            CutItem::Text(line) => Some(*line),
            CutItem::Result(call_idx) => calls.calls.get(*call_idx)?.result.map(|result| result.line),
        };
        let is_open = |item: &CutItem| {
            let at = line(item).and_then(|line| self.message_of(line));
            at.is_some_and(|at| at < self.tail && self.linear.names.contains_key(&at))
        };
        let mut cuts = cut::cuts(specs, &items, &settings.archive_ref);
        cuts.retain(|(item, _)| is_open(item) && seen.insert(*item));
        cut_named(&reading.file, &reading.index, &calls, &cuts, action.verb(), rewrite)?;
        Ok(())
    }
}
