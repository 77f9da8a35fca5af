//! From outcomes to a file that resumes.
//!
//! A [`Rewrite`] says what changes line by line. [`follow_up`] adds what follows from it: thinking, the gauge, dead
//! references. [`carry_out`] writes, checks, archives and swaps, in that order; [`restore`] goes the way back.
//! [`check`] names what would stop or bend a resume, from the index alone; [`compare`] what only shows beside the
//! transcript that a file was made from.

mod against;
mod calls;
mod carry_out;
mod check;
mod close_loop;
mod compress;
mod cut;
mod dependents;
mod describe;
mod error;
mod follow_up;
mod gauge;
mod head;
mod images;
mod in_place;
mod input;
mod keeper;
mod leaves;
mod mask;
mod new_session;
mod pairing;
mod pass;
mod placeholder;
mod places;
mod pointers;
mod problem;
mod prune;
mod relink;
mod replacements;
mod restore;
mod rewrite;
#[cfg(any(test, feature = "fuzzing"))]
mod round_trip;
#[cfg(test)]
mod samples;
mod stream;
mod thinking;
mod truncate;
mod unseen;
mod write;
mod write_report;

pub use against::{Side, Visible, compare};
pub use calls::{Calls, read_calls};
pub use carry_out::{Destination, Done, Errand, Origin, carry_out, probe};
pub use check::check;
pub use compress::{Tasks, add_edits, read_tasks};
pub use cut::{BLANK, Label, Page, cut_input, cut_result, cut_text, is_cut, shorten_copy};
pub use describe::{Described, describe, shortened};
pub use error::ApplyError;
pub use follow_up::{Consequences, Thinking, follow_up, tokens_before};
pub use gauge::Gauge;
pub use in_place::restore_in_place;
pub use new_session::{NewSession, title_line, title_of};
pub use placeholder::{Placeholder, Shelf, is_placeholder};
pub use problem::{Detail, Problem, ProblemKind, Severity, new_problems};
pub use prune::{Extra, Mask, Pruned, PrunedCall, PrunedRow, Pruning, prune};
pub use restore::{operation_of, restore};
pub use rewrite::Rewrite;
#[cfg(any(test, feature = "fuzzing"))]
pub use round_trip::round_trips;
pub use thinking::{ThinkingPolicy, ThinkingReach, ThinkingRemoved};
pub use truncate::{Truncated, truncate};
pub use write::{Existing, Staged, unnamed_file};
pub use write_report::{probe_report, write_report};
