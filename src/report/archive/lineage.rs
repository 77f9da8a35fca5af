//! The operation history of a session.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::OperationRow;
use super::operation::{Transcript, tokens_text};
use crate::report::look::{Look, Style};
use crate::report::outcome::BeforeAfter;
use crate::report::session::SessionRef;
use crate::report::size::counted;
use ctxc_core::apply::open_cuts;
use ctxc_core::version::History;
use ctxc_store::{Operation, OperationCost};
use ctxc_transcript::text::{Digest, Tokens};

/// The operation history of a session.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Log {
    /// The session whose history this is.
    #[serde(skip)]
    pub(crate) read: SessionRef,
    /// The operations, newest first.
    operations: Vec<LineageRow>,
}

/// An operation, in short.
#[derive(Clone, Debug, JsonSchema, Serialize)]
struct LineageRow {
    /// Its id.
    id: String,
    /// When it was.
    time: String,
    /// The verb.
    verb: String,
    /// The command as it was given.
    command: String,
    /// The session that it belongs to.
    session: String,
    /// The transcript that was read.
    source: Transcript,
    /// The transcript that was written.
    output: Transcript,
    /// `chars4` tokens of the active entries before and after; null where they were not counted.
    tokens: Option<BeforeAfter<Tokens>>,
    /// The context usage before and after, if it was recorded.
    #[serde(skip)]
    cost: Option<OperationCost>,
    /// The number of items that were removed or restored.
    cuts: u64,
    /// The number of its items that are still removed.
    open_cuts: u64,
    /// Whether its output grew before the next operation.
    added_since: bool,
    /// Whether a later operation undid it.
    is_undone: bool,
    /// The operations that it undid.
    undoes: Vec<String>,
}

impl Log {
    /// The log of the session, whose file has the digest `now`, from its `lineage`, newest operation first.
    pub(crate) fn new(session: SessionRef, now: Digest, lineage: &[Operation], history: &History) -> Self {
        let undone = history.undone();
        let holds = |operation: &&Operation| !undone.contains(operation.id.as_str());
        let open = open_cuts(&lineage.iter().filter(holds).cloned().collect::<Vec<_>>());
        let read = std::iter::once(now).chain(lineage.iter().map(|operation| operation.source.digest));
        let steps = lineage.iter().zip(read).map(|(operation, read)| {
            let OperationRow { id, time, verb, command, session, source, output, tokens, cost, cuts } =
                OperationRow::new(operation);
            let open_cuts = open.iter().filter(|cut| cut.last == id).count() as u64;
            let added_since = operation.output.digest != read;
            let is_undone = undone.contains(id.as_str());
            let undoes = history.get(&id).map(|edits| edits.undoes.clone()).unwrap_or_default();
            LineageRow {
                id,
                time,
                verb,
                command,
                session,
                source,
                output,
                tokens,
                cost,
                cuts,
                open_cuts,
                added_since,
                is_undone,
                undoes,
            }
        });
        Self { read: session, operations: steps.collect() }
    }

    /// The history as text.
    pub(crate) fn text(&self, look: Look) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text, look);
        text
    }

    fn write(&self, f: &mut impl fmt::Write, look: Look) -> fmt::Result {
        for (step_idx, step) in self.operations.iter().enumerate() {
            let LineageRow { id, time, verb, command, source, output, cuts, .. } = step;
            if step_idx > 0 {
                writeln!(f)?;
            }
            let tokens = step.cost.map_or_else(String::new, |cost| format!("  {}", tokens_text(cost)));
            let undone = if step.is_undone { "  undone" } else { "" };
            let heading = format!("{id}  {time}  {verb}{tokens}{undone}");
            let style = if step.is_undone { Style::Dim } else { Style::Heading };
            writeln!(f, "{}", look.style(style, &heading))?;
            if step.added_since {
                writeln!(f, "  its output has grown since")?;
            }
            writeln!(f, "  {command}")?;
            writeln!(f, "  {} -> {} ({} -> {})", source.label(), output.label(), source.size(), output.size())?;
            for undone in &step.undoes {
                writeln!(f, "  undoes {undone}")?;
            }
            if *cuts > 0 {
                writeln!(f, "  {} removed or restored, {} still removed", counted(*cuts, "item"), step.open_cuts)?;
            }
        }
        Ok(())
    }
}
