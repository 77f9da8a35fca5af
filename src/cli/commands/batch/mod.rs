//! `ctxc batch`: run a command on many sessions (Y-01).

mod input;
mod results;
mod run;

pub(crate) use run::{Settings, run};
