//! How a session came to be what it is.

use std::fmt;

use serde::Serialize;

use super::OperationRow;
use crate::apply::open_cuts;
use crate::archive::Operation;
use crate::report::size::counted;
use crate::text::Digest;

/// The lineage of a session.
#[derive(Clone, Debug, Serialize)]
pub struct Log {
    schema: u32,
    verb: &'static str,
    session: String,
    /// What was done, newest first.
    operations: Vec<Step>,
}

#[derive(Clone, Debug, Serialize)]
struct Step {
    #[serde(flatten)]
    operation: OperationRow,
    /// How many of the items that it cut are still out.
    open_cuts: u64,
    /// Whether something was added to what it wrote before it was read again.
    added_since: bool,
}

impl Log {
    /// The log of `session`, whose file has the digest `now`, from its `lineage`, newest operation first.
    #[must_use]
    pub fn new(session: String, now: Digest, lineage: &[Operation]) -> Self {
        let open = open_cuts(lineage);
        let read = std::iter::once(now).chain(lineage.iter().map(|operation| operation.source.digest));
        let steps = lineage.iter().zip(read).map(|(operation, read)| Step {
            operation: OperationRow::new(operation),
            open_cuts: open.iter().filter(|cut| cut.last == operation.id).count() as u64,
            added_since: operation.output.digest != read,
        });
        Self { schema: 1, verb: "log", session, operations: steps.collect() }
    }
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (step_idx, step) in self.operations.iter().enumerate() {
            let OperationRow { id, time, verb, command, source, output, cuts, .. } = &step.operation;
            if step_idx > 0 {
                writeln!(f)?;
            }
            write!(f, "{id}  {time}  {verb}")?;
            if let Some(tokens) = step.operation.tokens_text() {
                write!(f, "  {tokens}")?;
            }
            writeln!(f)?;
            if step.added_since {
                writeln!(f, "  more was added to its output since")?;
            }
            writeln!(f, "  {source}")?;
            writeln!(f, "  -> {output}")?;
            writeln!(f, "  {command}")?;
            if *cuts > 0 {
                writeln!(f, "  {} cut or given back, {} still out", counted(*cuts, "item"), step.open_cuts)?;
            }
        }
        Ok(())
    }
}
