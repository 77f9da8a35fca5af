//! The terminal: standard streams, progress bars and signals. The only folder that prints.
//!
//! Operations report through a [`ui::Ui`]; this module decides whether and in which form that is shown.

pub(crate) mod interrupt;
pub(crate) mod progress;
pub(crate) mod sanitizer;
pub(crate) mod screen;
pub(crate) mod ui;
