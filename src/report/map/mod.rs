//! A map of a session: what uses its context window, and how that came to be, as one page (W-07).

mod data;
mod page;
mod read;
mod steps;

pub(crate) use data::{Map, OperationRow, Source};
