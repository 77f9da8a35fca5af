//! What `ctxc` alone tells: how full a context is, what fills it, and what would help, as data and as text (W-01).

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::list::age;
use super::look::{Look, clip};
use super::session::{ContextUsage, SessionRef, short_id};
use super::size::{short, whole_percent};
use super::table::{Cell, Table};
use ctxc_transcript::text::Tokens;

/// The context usage of a session, and the commands that would help most.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Overview {
    /// The session.
    #[serde(skip)]
    pub(crate) read: SessionRef,
    /// When it was last written.
    pub(crate) modified: Timestamp,
    /// Its context usage.
    #[serde(skip)]
    pub(crate) context: ContextUsage,
    /// Whether the client recorded the usage and nothing was added since.
    pub(crate) is_measured: bool,
    /// The origin of the context usage.
    #[serde(skip)]
    pub(crate) origin: Origin,
    /// Usage by kind, largest first; the sum is the context usage.
    pub(crate) usage: Vec<Usage>,
    /// The commands that would save most.
    #[serde(rename = "commands")]
    pub(crate) advice: Vec<Advice>,
}

/// The origin of a figure of context usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The client recorded it.
    Client,
    /// It is what ctxc left of a figure that the client recorded, which has not measured again since.
    Ctxc,
    /// It is an estimate.
    Estimate,
}

impl Origin {
    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Client => "measured",
            Self::Ctxc => "after ctxc",
            Self::Estimate => "estimated",
        }
    }
}

/// The context usage of one kind of content.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct Usage {
    kind: &'static str,
    /// The tool; null for other kinds than tool results.
    tool: Option<String>,
    /// Its share of the context usage, in calibrated tokens.
    pub(crate) tokens: Tokens,
}

impl Usage {
    /// So many tokens of a kind, or of the results of a tool.
    pub(crate) fn new(kind: &'static str, tool: Option<&str>, tokens: Tokens) -> Self {
        Self { kind, tool: tool.map(str::to_owned), tokens }
    }

    fn name(&self) -> String {
        self.tool.as_ref().map_or_else(|| self.kind.to_owned(), |tool| format!("{tool} results"))
    }
}

/// A command and what it saves.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct Advice {
    command: String,
    /// The effect of the command.
    what: &'static str,
    /// The expected saving, in calibrated tokens.
    pub(crate) saves: Tokens,
}

impl Advice {
    /// That `command` does `what`, and saves so much.
    pub(crate) fn new(command: &str, what: &'static str, saves: Tokens) -> Self {
        Self { command: command.to_owned(), what, saves }
    }
}

/// How many rows of usage people are shown; the rest is summed up.
const N_ROWS: usize = 9;

impl Overview {
    /// The overview as text, as of `now`.
    pub(crate) fn text(&self, now: Timestamp, look: Look) -> String {
        let Self { read, context: ContextUsage { before: tokens, window, .. }, usage, .. } = self;
        let title = read.title.as_deref().unwrap_or("session");
        let which = format!("({}, {})", read.id.as_deref().map_or("-", short_id), ago(now, self.modified));
        let room = look.width.map_or(usize::MAX, |width| width.saturating_sub("session    ".len() + which.len()));
        let title = clip(title, room);
        let how = self.origin.word();
        let mut text = format!(
            "session   {title} {which}\ncontext   {} tokens ({} of {}), {how}\n",
            short(*tokens),
            whole_percent(*tokens, *window),
            short(*window),
        );
        let mut table = Table::new(&["used by", "tokens", "share", ""]);
        let (shown, rest) = usage.split_at(usage.len().min(N_ROWS));
        let more =
            (!rest.is_empty()).then(|| (format!("{} more", rest.len()), rest.iter().map(|row| row.tokens).sum()));
        for (name, part) in shown.iter().map(|row| (row.name(), row.tokens)).chain(more) {
            let (part, whole) = (part.0, tokens.0);
            table.push(vec![name.into(), Cell::Count(part), Cell::Share(part, whole), Cell::Bar(part, whole)]);
        }
        if !usage.is_empty() {
            text.push('\n');
            text += &table.render(look);
        }
        if !self.advice.is_empty() {
            let mut table = Table::new(&["command", "saves", ""]);
            for Advice { command, what, saves } in &self.advice {
                table.push(vec![Cell::Whole(command.clone()), Cell::Count(saves.0), (*what).into()]);
            }
            text.push('\n');
            text += &table.render(look);
        }
        text
    }
}

fn ago(now: Timestamp, then: Timestamp) -> String {
    let age = age(now, then);
    if age == "now" { age } else { format!("{age} ago") }
}
