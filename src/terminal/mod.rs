//! The terminal: standard streams, progress bars and signals. The only folder that prints.
//!
//! An operation says what happens through a [`ui::Ui`]; whether anybody reads it, and in which form, is decided here.

pub(crate) mod interrupt;
pub(crate) mod progress;
pub(crate) mod sanitizer;
pub(crate) mod screen;
pub(crate) mod ui;
