//! From outcomes to a file that resumes.
//!
//! A [`Rewrite`] says what changes line by line. [`follow_up`] adds what follows from it: thinking, the gauge, dead
//! references. [`carry_out`] writes, checks, archives and swaps, in that order; [`restore`] goes the way back.
//! [`check`] names what would stop or bend a resume, from the index alone; [`compare`] what only shows beside the
//! transcript that a file was made from.

mod against;
mod bring_back;
mod calls;
mod carry_out;
mod check;
mod close_loop;
mod compress;
mod cut;
mod cut_inputs;
mod cut_named;
mod dependents;
mod describe;
mod difference;
mod document;
mod envelope;
mod error;
mod follow_up;
mod gauge;
mod give_back;
mod graft;
mod hang;
mod head;
mod images;
mod input;
mod keeper;
mod leaves;
mod ledger;
mod lines;
mod named;
mod new_session;
mod open_cuts;
mod outline;
mod outlook;
mod pairing;
mod pass;
mod placeholder;
mod places;
mod pointers;
mod problem;
mod provenance;
mod prune;
mod read_note;
mod recall;
mod relink;
mod replacements;
mod restore;
mod rewrite;
#[cfg(any(test, feature = "fuzzing"))]
mod round_trip;
mod said;
#[cfg(test)]
mod samples;
mod shown;
mod stage;
mod stream;
mod thinking;
mod tool_said;
mod trace;
mod truncate;
mod undo;
mod unseen;
mod whole;
mod without;
mod write;
mod write_report;

pub use against::{Side, Visible, compare};
pub use bring_back::{BroughtBack, Home, WayBack, bring_back};
pub use calls::{Calls, read_calls};
pub use carry_out::{Before, Destination, Done, Draft, Errand, Origin, carry_out, probe};
pub use check::check;
pub use compress::{Tasks, add_edits, read_tasks};
pub use cut::{BLANK, Label, Page, cut_input, cut_result, cut_text, is_cut, shorten_copy};
pub use cut_inputs::cut_inputs;
pub use cut_named::{CutOutcome, Instead, Item, cut_named};
pub use describe::{Described, describe, shortened};
pub use document::{Said, document, texts};
pub use error::ApplyError;
pub use follow_up::{Consequences, Thinking, follow_up, tokens_before};
pub use gauge::Gauge;
pub use give_back::{Returned, give_back};
pub use ledger::read_ledger;
pub use named::{Named, Text, beginning, each_text, find_named};
pub use new_session::{NewSession, title_line, title_of};
pub use open_cuts::{OpenCut, open_cuts, turned};
pub use outline::{Change, Outline, Outlined};
pub use placeholder::{Placeholder, Shelf, is_placeholder};
pub use problem::{Detail, Problem, ProblemKind, Severity, new_problems};
pub use provenance::{Provenance, Standing, operation_of, provenance};
pub use prune::{Extra, Mask, Pruned, PrunedCall, PrunedRow, Pruning, prune};
pub use recall::{Recalled, Stock, recall};
pub use restore::restore;
pub use rewrite::Rewrite;
#[cfg(any(test, feature = "fuzzing"))]
pub use round_trip::round_trips;
pub use said::{Remark, read_said};
pub use shown::{Order, Shown, Speaker, each_shown, shown_in};
pub use stage::{BadStage, pruning};
pub use thinking::{ThinkingPolicy, ThinkingReach, ThinkingRemoved};
pub use truncate::{Truncated, truncate};
pub use undo::{undo, way_to_root};
pub use whole::is_whole;
pub use without::{Without, without};
pub use write::{Existing, Staged, unnamed_file};
pub use write_report::{probe_report, write_report};
