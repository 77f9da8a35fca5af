//! From outcomes to a file that resumes.
//!
//! [`check`] names what would stop or bend a resume, from the index alone; [`compare`] what only shows beside the
//! transcript that a file was made from.

mod against;
mod check;
mod head;
mod pairing;
mod problem;
#[cfg(test)]
mod samples;
mod write_report;

pub use against::{Side, Visible, compare};
pub use check::check;
pub use problem::{Detail, Problem, ProblemKind, Severity, new_problems};
pub use write_report::write_report;
