//! Sessions in the forms of other programs (Y-03): rows, Markdown, trajectories, chat messages.
//!
//! [`Piece`]s go in, one for each text of the active entries, in their order; text comes out. Rows and Markdown are written
//! as the pieces come; a trajectory and a chat hold the texts of one session.

mod atif;
mod exported;
mod form;
mod markdown;
mod openai;
mod piece;
mod row;
mod steps;

pub(crate) use exported::{ExportProblem, ExportReport};
pub(crate) use form::{Export, Format};
pub(crate) use piece::{Piece, Spent};
