//! `ctxc batch`: run a command on many sessions (Y-01).

mod args;
mod input;
mod results;
mod run;

pub(crate) use args::{Args, CommandRunner, EXAMPLES};
pub(crate) use run::run;
