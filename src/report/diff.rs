//! How two transcripts differ, as data and as text (U-06).

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::Report;
use super::show::printable;
use super::size::{count, counted, tokens};
use ctxc_transcript::text::Tokens;

/// How two transcripts differ.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Diff {
    /// The first.
    pub before: Side,
    /// The second.
    pub after: Side,
    /// Entries that both have alike.
    pub unchanged: u64,
    /// Entries that only the first has, by their number and their tokens.
    pub dropped: Sum,
    /// Entries that say something else, by what they have in the second.
    pub changed: Sum,
    /// What those have in the first.
    pub changed_from: Tokens,
    /// Entries that only the second has.
    pub added: Sum,
    /// All of them, in the order of the conversation.
    pub entries: Vec<Entry>,
}

impl Report for Diff {}

/// A transcript.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Side {
    /// What it is called.
    pub name: String,
    /// Its live entries.
    pub entries: u64,
    /// Their `chars4` tokens, signatures aside.
    pub tokens: Tokens,
}

/// Entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Sum {
    /// How many.
    pub entries: u64,
    /// Their `chars4` tokens.
    pub tokens: Tokens,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Became {
    /// It is gone.
    Dropped,
    /// It says something else.
    Changed,
    /// It is new.
    Added,
}

/// One entry.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "DiffEntry")]
pub struct Entry {
    /// What became of it.
    pub became: Became,
    /// Its line in the first transcript, from 1.
    pub line_before: Option<u32>,
    /// Its line in the second.
    pub line_after: Option<u32>,
    /// Its `chars4` tokens in the first.
    pub tokens_before: Option<Tokens>,
    /// Its tokens in the second.
    pub tokens_after: Option<Tokens>,
    /// When it was said.
    pub time: Option<String>,
    /// Who says what kind of text: `tool, tool result`.
    pub what: String,
    /// How it begins.
    pub beginning: String,
    /// What is different, as a unified diff; nothing where no text is.
    pub diff: Option<String>,
}

impl Diff {
    /// The difference of `before` and `after`, of which `unchanged` entries are alike.
    #[must_use]
    pub fn new(before: Side, after: Side, unchanged: u64, entries: Vec<Entry>) -> Self {
        let sum = |became: Became| {
            let of = entries.iter().filter(|entry| entry.became == became);
            of.fold(Sum::default(), |sum, entry| Sum {
                entries: sum.entries + 1,
                tokens: sum.tokens + entry.tokens_after.or(entry.tokens_before).unwrap_or_default(),
            })
        };
        let changed = entries.iter().filter(|entry| entry.became == Became::Changed);
        Self {
            unchanged,
            dropped: sum(Became::Dropped),
            changed: sum(Became::Changed),
            changed_from: changed.filter_map(|entry| entry.tokens_before).sum(),
            added: sum(Became::Added),
            before,
            after,
            entries,
        }
    }

    /// What is different, in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let entries = |sum: Sum| counted(sum.entries, "entry").replace("entrys", "entries");
        format!(
            "{} dropped ({}), {} changed ({} -> {}), {} added ({}), {} unchanged; tokens are chars4",
            entries(self.dropped),
            tokens(self.dropped.tokens),
            count(self.changed.entries),
            count(self.changed_from.0),
            tokens(self.changed.tokens),
            count(self.added.entries),
            tokens(self.added.tokens),
            count(self.unchanged),
        )
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (mark, Side { name, entries, tokens: n }) in [("---", &self.before), ("+++", &self.after)] {
            let noun = if *entries == 1 { "entry" } else { "entries" };
            writeln!(f, "{mark} {name}  {} active {noun}, {}", count(*entries), tokens(*n))?;
        }
        self.entries.iter().try_for_each(|entry| entry.fmt(f))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |line: Option<u32>| line.map_or_else(String::new, |line| line.to_string());
        let size = |n: Option<Tokens>| n.map_or_else(String::new, tokens);
        let figure = |n: Option<Tokens>| n.map_or_else(String::new, |n| count(n.0));
        let (mark, line, size) = match self.became {
            Became::Dropped => ("-", number(self.line_before), size(self.tokens_before)),
            Became::Added => ("+", number(self.line_after), size(self.tokens_after)),
            Became::Changed => (
                "~",
                format!("{} -> {}", number(self.line_before), number(self.line_after)),
                format!("{} -> {}", figure(self.tokens_before), size(self.tokens_after)),
            ),
        };
        let time = self.time.as_deref().unwrap_or("-");
        write!(f, "{mark} line {line}  {time}  {}  {size}", self.what)?;
        match &self.diff {
            None => writeln!(f, "  {}", self.beginning),
            Some(diff) => {
                writeln!(f)?;
                printable(diff).lines().try_for_each(|line| writeln!(f, "    {line}"))
            }
        }
    }
}
