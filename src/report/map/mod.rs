//! A map of a session: the content of its context window, and its history, as one page (W-07).

mod data;
mod page;
mod read;
mod steps;

pub(crate) use data::{Map, MapOperation, MapSource};
pub(crate) use page::{STYLE, escaped, filled};
