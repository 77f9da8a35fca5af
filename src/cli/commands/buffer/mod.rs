//! `ctxc buffer`: keep a conversation, the newest of it word for word and the rest in short.

mod args;
mod delete;
mod fill;
mod list;
mod load;
mod opened;
mod push;
mod read;
mod run;
mod state;

pub(crate) use args::{Args, EXAMPLES};
pub(crate) use run::run;
