//! `ctxc archive`: look into the archive, copy it, clean it up.

pub(crate) mod copy;
pub(crate) mod gc;
pub(crate) mod list;
mod run;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod upgrade;

pub(crate) use run::{Asked, Settings, run};
