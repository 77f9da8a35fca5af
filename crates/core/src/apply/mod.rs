//! From a plan to a file that resumes.
//!
//! A [`Rewrite`] says what changes line by line; [`follow_up`] adds what follows from it. [`composed`] puts the edits of several
//! operations together. [`carry_out`] writes, checks, archives and swaps, in that order. [`check()`] finds what would stop a resume.

mod check;
mod compact;
mod edit;
mod error;
mod find;
mod follow;
mod pick;
mod prune;
mod read;
mod render;
#[cfg(test)]
mod samples;
mod truncate;
mod undo;
mod write;

pub use check::against::{Side, ThinkingContexts, Visible, compare, outlived_thinking};
pub use check::as_written::as_written;
pub use check::index::check;
pub use check::problem::{Detail, Problem, ProblemKind, Severity, new_problems};
pub use check::unchanged::unchanged_tokens;
pub use compact::batches::{Labels, NamedBatch, find_batches, merged_batches, over};
pub use compact::boundary::NewHead;
pub use compact::client_compaction::ClientCompaction;
pub use compact::prior::{PriorSummary, prior_summary};
pub use compact::replace::{compact, noted};
pub use compact::scope::{Chunk, Compaction, ReadChunk, Scope, read_chunk};
pub use compact::take_up::{TakeUp, append_line, take_up};
pub use edit::compress::{Tasks, add_edits, read_tasks};
pub use edit::cut::{BLANK, Label, cut_input, cut_result, cut_text, is_cut, shorten_copy};
pub use edit::cut_inputs::cut_inputs;
pub use edit::cut_named::{CutOutcome, Item, Replacement, cut_named};
pub use edit::own_edits::{LineAddresses, leave_derived, own_edits};
pub use edit::rewrite::Rewrite;
pub use error::ApplyError;
pub use find::active::is_active;
pub use find::error::FindError;
pub use find::file::{SessionFile, stamp, take_up_file};
pub use find::kept::{kept_key, take_up_kept};
pub use find::output::{output_at, take_up_output};
pub use find::said::{SUMMARY, said_at};
pub use follow::bounds::{AppendedRun, Thinking, ThinkingReach};
pub use follow::follow_up::{Consequences, follow_up, tokens_before};
pub use follow::gauge::{Gauge, recorded_context};
pub use follow::interim::{InterimResult, answers};
pub use follow::thinking::ThinkingRemoved;
pub use pick::copies::PickedPart;
pub use pick::edits::{pick_lines, pick_together};
pub use pick::kept::PickedLines;
pub use prune::rules::{Pruned, PrunedCall, PrunedRow, SupersededBy, prune};
pub use prune::stage::Pruning;
pub use read::calls::{Calls, read_calls};
pub use read::describe::{Described, describe, shortened};
pub use read::document::{EntryText, document, texts};
pub use read::ledger::read_ledger;
pub use read::named::{MatchedMessage, Named, beginning, each_text, find_named};
pub use read::needs::read_needs;
pub use read::outline::{Change, Outline, Outlined};
pub use read::page::Page;
pub use read::past::{has_placeholder, state_has_placeholder};
pub use read::placeholder::{ArchiveRef, Placeholder, is_placeholder, shell_word};
pub use read::said::{Remark, read_said};
pub use read::shown::{Order, Shown, Speaker, each_shown, shown_in};
pub use read::spoken::{SpokenMessage, read_spoken};
pub use read::steps::read_steps;
pub use render::composed::{ComposedSession, composed};
pub use render::rebase::{Draft, Rebased, RenderInput};
pub use render::source::LineSource;
pub use truncate::cut::{Truncated, truncate};
pub use undo::absent::absent;
pub use undo::items::{Returned, give_back};
pub use undo::open_cuts::{OpenCut, open_cuts};
pub use undo::recall::{Recalled, recall};
pub use write::agent::{agent_description, name_agent};
pub use write::archive_write::{ArchiveWrite, OperationInfo, ReplacedSession};
pub use write::carry_out::{BaseFile, CarriedOut, Destination, REST, RewriteSource, SourceState, carry_out, probe};
pub use write::file::{IfExists, Staged, n_names, unnamed_file};
pub use write::leftover::{leftover_files, remove_leftover};
pub use write::made::remove_made;
pub use write::new_session::{TITLE_LEN, title_of, whole_title_of};
pub use write::overwrite::{Masked, each_part, first_masked, n_masked, overwrite};
#[cfg(any(test, feature = "fuzzing"))]
pub use write::round_trip::round_trips;
pub use write::write_report::{probe_report, write_document, write_private, write_report};
