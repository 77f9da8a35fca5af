//! `ctxc buffer list`: list the buffers of an archive.

use super::run::Desk;
use crate::buffer;
use crate::cli::error::{CommandError, Completion};
use crate::cli::tell::tell;
use crate::report::buffer::Buffers;

pub(super) fn run(desk: &Desk<'_>) -> Result<Completion, CommandError> {
    let names = buffer::names(&*desk.archive)?;
    let mut states = Vec::with_capacity(names.len());
    for name in names {
        let state = buffer::state(&*desk.archive, &name)?;
        states.push((name.to_string(), state));
    }
    let report = Buffers::new(&states, desk.ui.look());
    tell(desk.reporting, desk.ui, &report, &report)?;
    if states.is_empty() {
        desk.ui.status(format_args!("no buffers in {}", desk.place()));
    }
    Ok(Completion::Full)
}
