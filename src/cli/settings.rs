//! What commands need, resolved from what was typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use uuid::Uuid;

use super::args::{Estimate, Share};
use super::places::Environment;
use super::ui::Ui;
use ctxc_core::apply::Shelf;
use ctxc_core::version::ThinkingPolicy;
use ctxc_engine::embed::EmbeddingServer;
use ctxc_engine::redact::Redactor;
use ctxc_engine::run::Terms;
use ctxc_engine::{Price, Prices, Prompts, chat};
use ctxc_transcript::session::Found;
use ctxc_transcript::text::Tokens;

/// What every command that rewrites a session needs.
#[derive(Clone, Debug)]
pub(crate) struct Rewriting {
    pub(crate) source: Found,
    /// The estimate that was asked for; without one it follows the purpose.
    pub(crate) estimate: Option<Estimate>,
    pub(crate) thinking: ThinkingPolicy,
    pub(crate) output: Output,
    pub(crate) keep: Keep,
    /// Whether whole sessions may go there, where it is on a server.
    pub(crate) on_server: Consent,
    /// At how many bytes of that archive its user is warned.
    pub(crate) keep_max: Option<u64>,
    /// That archive, as what takes the place of a text names it.
    pub(crate) shelf: Shelf,
    /// The `--archive` that a later command has to repeat, without a password.
    pub(crate) typed_archive: Option<String>,
    pub(crate) mode: Mode,
    /// The context window that was named or is configured; without it the session tells.
    pub(crate) window: Option<Tokens>,
    pub(crate) reporting: Reporting,
}

impl Rewriting {
    /// With the context window that was named, if any was.
    pub(crate) fn in_window(self, named: Option<Tokens>) -> Self {
        Self { window: named.or(self.window), ..self }
    }
}

/// Where a rewritten transcript goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A new session beside the source, under this id or a fresh one.
    NewSession(Option<Uuid>),
    /// This file; ids stay.
    File(PathBuf, Existing),
    /// Standard output; ids stay.
    StandardOutput,
    /// The source itself, after a backup; ids stay.
    InPlace(Existing),
}

/// The policy for a file that exists, or a source that changed a moment ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Refuse.
    Respect,
    /// Go on: `--force`.
    Overwrite,
}

/// Where originals are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// In the archive at this URL.
    In(String),
    /// Nowhere: `--no-archive`.
    Nowhere,
}

/// Whether the work is done or only shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Done.
    Do,
    /// Shown: `--dry-run`.
    Show,
}

/// Whether a result in part is a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It is.
    Lenient,
    /// It ends with exit code 3: `--strict`.
    Strict,
}

/// What shortens texts, and how it is asked.
#[derive(Clone, Debug)]
pub(crate) enum EngineChoice {
    /// What is built in.
    Extract,
    /// A model behind a server.
    Chat(Box<Asking>),
}

impl EngineChoice {
    /// Its name, as `--engine` takes it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Extract => "extract",
            Self::Chat(_) => "chat",
        }
    }
}

/// When a conversation is compacted, and into what.
#[derive(Clone, Debug)]
pub(crate) struct Summaries {
    /// How each of them is made.
    pub(crate) summarizing: Summarizing,
    /// How many messages one is made of.
    pub(crate) chunk_size: NonZeroUsize,
    /// How many of the newest messages stay as they are.
    pub(crate) keep_recent: usize,
    /// How many of the earliest are shown.
    pub(crate) clip_first: u32,
    /// How many of the latest; not none of both.
    pub(crate) clip_last: u32,
    /// The context has to be over this before anything is done.
    pub(crate) budget: Tokens,
}

impl Summaries {
    /// Whether a context of `size` is to be compacted: the one rule for the verb, for a run and for the tool of agents.
    pub(crate) fn is_called_for(&self, size: Tokens, trigger: Trigger) -> bool {
        match trigger {
            Trigger::OverBudget => size > self.budget,
            Trigger::Always => true,
        }
    }
}

/// How a conversation is compacted, before its context window is known.
#[derive(Clone, Debug)]
pub(crate) struct Compacting {
    /// What does not depend on the window.
    pub(crate) summaries: Summaries,
    /// The part of the window that the context has to be over; `None` where it is always compacted.
    pub(crate) budget: Option<Share>,
    /// The most that a summary may have; without it 2 % of the window.
    pub(crate) limit: Option<Tokens>,
}

impl Compacting {
    /// How it is compacted in a context window of `window`. 2 % of it, in steps of 1,024, are 4,096 for 200,000 (K-05).
    pub(crate) fn in_window(&self, window: Tokens) -> Summaries {
        const STEP: u64 = 1024;
        let mut summaries = self.summaries.clone();
        summaries.budget = self.budget.map_or(Tokens::ZERO, |budget| Tokens(budget.of(window.0)));
        summaries.summarizing.limit =
            self.limit.unwrap_or_else(|| Tokens((window.0 / 50).div_ceil(STEP).max(1) * STEP));
        summaries
    }
}

/// A size of the context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// A part of the context window.
    Share(Share),
    /// So many tokens.
    Tokens(Tokens),
}

impl Target {
    /// The size in a context window of `window`.
    pub(crate) fn of(self, window: Tokens) -> Tokens {
        match self {
            Self::Share(share) => Tokens(share.of(window.0)),
            Self::Tokens(tokens) => tokens,
        }
    }
}

/// When a conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// Once its context is over the budget.
    OverBudget,
    /// Whatever its size: `--force`.
    Always,
}

/// How messages are summarised.
#[derive(Clone, Debug)]
pub(crate) struct Summarizing {
    /// By whom.
    pub(crate) engine: EngineChoice,
    /// The most that a summary may have.
    pub(crate) limit: Tokens,
    /// What becomes of what the person typed.
    pub(crate) prompts: Prompts,
    /// Who summarises; may be empty.
    pub(crate) persona: String,
    /// What a model is told instead of the default.
    pub(crate) prompt: Option<String>,
}

/// How entries are found by what they mean.
#[derive(Debug)]
pub(crate) struct Meaning {
    pub(crate) server: EmbeddingServer,
    /// What the model costs, where that is known.
    pub(crate) price: Option<Price>,
    pub(crate) consent: Consent,
    pub(crate) secrets: Secrets,
}

/// How a server is asked.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    pub(crate) server: chat::Settings,
    pub(crate) terms: Terms,
    pub(crate) prices: Prices,
    pub(crate) consent: Consent,
    pub(crate) secrets: Secrets,
    /// The variable that sets the key of the server.
    pub(crate) key_variable: &'static str,
}

/// What becomes of secrets in texts that leave the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// Placeholders stand for them.
    Replaced,
    /// They are sent as they are: `--no-redact`.
    Sent,
}

impl Secrets {
    /// What puts placeholders in their place, where that is wanted.
    pub(crate) fn redactor(self) -> Option<Redactor> {
        match self {
            Self::Replaced => Some(Redactor::default()),
            Self::Sent => None,
        }
    }
}

/// Whether texts may be sent, or sessions stored on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// They may: `--yes`, or the user's own configuration says so.
    Given,
    /// A person at a terminal is asked.
    Ask,
}

/// How much is told of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Their sums.
    Sums,
    /// Each of them: `--explain`.
    EachTask,
}

/// How results are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reporting {
    /// The command that the result names.
    pub verb: String,
    /// What goes to standard output.
    pub form: Form,
    /// The file that gets the JSON object as well.
    pub report: Option<PathBuf>,
}

/// The form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for people.
    Text,
    /// One JSON object.
    Json,
}

/// What resolving looks at beside the arguments themselves.
pub(crate) struct Context<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) ui: &'a Ui,
    pub(crate) reporting: Reporting,
}
