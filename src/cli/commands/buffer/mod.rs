//! `ctxc buffer`: keep a conversation, the newest of it word for word and the rest in short.

mod delete;
mod fill;
mod list;
mod load;
mod opened;
mod push;
mod read;
mod run;
mod state;

pub(crate) use run::{Args, EXAMPLES, run};
