//! `ctxc buffer`: keep a conversation, the newest of it word for word and the rest in short.

pub(crate) mod delete;
mod fill;
mod list;
pub(crate) mod load;
pub(crate) mod push;
pub(crate) mod read;
mod run;
mod state;

pub(crate) use fill::Filling;
pub(crate) use push::Said;
pub(crate) use run::{Asked, Settings, run};
