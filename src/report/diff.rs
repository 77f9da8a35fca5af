//! How two transcripts differ, as data and as text (U-06).

use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::Report;
use super::look::{Look, Style};
use super::show::printable;
use super::size::{count, tokens};
use ctxc_transcript::Calibration;
use ctxc_transcript::text::Tokens;

/// The differences between two sessions.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Diff {
    /// The first session.
    pub before: Side,
    /// The second session.
    pub after: Side,
    /// The number of entries that are equal in both.
    pub unchanged: u64,
    /// Entries only in the first session.
    pub dropped: Sum,
    /// Entries whose content differs; tokens as in the second session.
    pub changed: Sum,
    /// `chars4` tokens of the changed entries in the first session.
    pub changed_from: Tokens,
    /// Entries only in the second session.
    pub added: Sum,
    /// The differences, in the order of the conversation.
    pub entries: Vec<Entry>,
    /// The estimate of the figures that people are told of entries: that of the first session.
    #[serde(skip)]
    measure: Calibration,
}

impl Report for Diff {}

/// A transcript.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Side {
    /// Its name in messages.
    pub name: String,
    /// What people are told that it is.
    #[serde(skip)]
    pub label: String,
    /// The number of active entries.
    pub entries: u64,
    /// `chars4` tokens without signatures.
    pub tokens: Tokens,
    /// The context usage, as people are told it.
    #[serde(skip)]
    pub usage: Tokens,
}

/// Entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Sum {
    /// How many.
    pub entries: u64,
    /// Their `chars4` tokens.
    pub tokens: Tokens,
}

/// How an entry differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Became {
    /// Only in the first session.
    Dropped,
    /// In both, with different content.
    Changed,
    /// Only in the second session.
    Added,
}

/// One entry.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "DiffEntry")]
pub struct Entry {
    /// The outcome.
    pub became: Became,
    /// Its line in the first transcript, from 1.
    pub line_before: Option<u32>,
    /// Its line in the second.
    pub line_after: Option<u32>,
    /// Its `chars4` tokens in the first.
    pub tokens_before: Option<Tokens>,
    /// Its `chars4` tokens in the second.
    pub tokens_after: Option<Tokens>,
    /// The time of the entry.
    pub time: Option<String>,
    /// The speaker and the kind of text.
    pub what: String,
    /// The beginning of its text.
    pub beginning: String,
    /// The difference as a unified diff; null where the texts are equal.
    pub diff: Option<String>,
}

impl Diff {
    /// The difference of `before` and `after`, of which `unchanged` entries are alike.
    #[must_use]
    pub fn new(before: Side, after: Side, unchanged: u64, entries: Vec<Entry>, measure: Calibration) -> Self {
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
            measure,
        }
    }

    /// The summary: one line for each kind of difference that there is.
    #[must_use]
    pub fn summary(&self) -> String {
        let entries = |n: u64| format!("{} {}", count(n), if n == 1 { "entry" } else { "entries" });
        let size = |n| tokens(self.measure.scale(n));
        let changed_from = format!("{} -> ", count(self.measure.scale(self.changed_from).0));
        let kinds =
            [("removed", self.dropped, ""), ("changed", self.changed, &changed_from), ("added", self.added, "")];
        let told = kinds.into_iter().filter(|(_, sum, _)| sum.entries > 0);
        let mut lines: Vec<String> = told
            .map(|(kind, sum, from)| format!("{kind:<10}{}, {from}{}", entries(sum.entries), size(sum.tokens)))
            .collect();
        lines.push(format!("unchanged {}", entries(self.unchanged)));
        lines.join("\n")
    }
}

impl Diff {
    /// The differences as text.
    #[must_use]
    pub fn text(&self, look: Look) -> String {
        let mut text = String::new();
        for (mark, Side { label, entries, usage, .. }) in [("---", &self.before), ("+++", &self.after)] {
            let noun = if *entries == 1 { "entry" } else { "entries" };
            let side = format!("{mark} {}  {} active {noun}, {}", look.paths(label), count(*entries), tokens(*usage));
            text += &look.style(Style::Heading, &side);
            text.push('\n');
        }
        self.entries.iter().for_each(|entry| entry.write(&mut text, self.measure, look));
        text
    }
}

impl Entry {
    fn write(&self, text: &mut String, measure: Calibration, look: Look) {
        let number = |line: Option<u32>| line.map_or_else(String::new, |line| line.to_string());
        let size = |n: Option<Tokens>| n.map_or_else(String::new, |n| tokens(measure.scale(n)));
        let figure = |n: Option<Tokens>| n.map_or_else(String::new, |n| count(measure.scale(n).0));
        let (mark, style, line, size) = match self.became {
            Became::Dropped => ("-", Style::Removed, number(self.line_before), size(self.tokens_before)),
            Became::Added => ("+", Style::Added, number(self.line_after), size(self.tokens_after)),
            Became::Changed => (
                "~",
                Style::Changed,
                format!("{} -> {}", number(self.line_before), number(self.line_after)),
                format!("{} -> {}", figure(self.tokens_before), size(self.tokens_after)),
            ),
        };
        let time = self.time.as_deref().unwrap_or("-");
        let heading = format!("{mark} line {line}  {time}  {}  {size}", self.what);
        let heading = if self.diff.is_some() { heading } else { format!("{heading}  {}", self.beginning) };
        *text += &look.style(style, &look.line(&heading));
        text.push('\n');
        for line in self.diff.as_deref().map(printable).unwrap_or_default().lines() {
            let style = match line.as_bytes().first() {
                Some(b'+') => Some(Style::Added),
                Some(b'-') => Some(Style::Removed),
                Some(b'@') => Some(Style::Dim),
                _ => None,
            };
            let line = format!("    {line}");
            let line = look.line(&line);
            *text += &style.map_or_else(|| line.clone().into_owned(), |style| look.style(style, &line));
            text.push('\n');
        }
    }
}
