//! The result of `ctxc prune`, as data and as text.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::look::Look;
use super::outcome::{BeforeAfter, Outcome};
use super::size::{bytes, count, counted};
use super::table::{Cell, Table};
use ctxc_core::apply::{Pruned, PrunedCall, PrunedRow, shortened};
use ctxc_transcript::text::Tokens;

/// Result of `ctxc prune`, or of its dry run.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct PruneReport {
    /// The part common to all rewrites.
    #[serde(skip)]
    pub(crate) outcome: Outcome,
    /// A row for each rule that was applied, also where it matched nothing.
    pub(crate) rules: Vec<RuleRow>,
    /// The total of all rows.
    pub(crate) total: RuleRow,
    /// Whether inactive entries were to be removed and were kept, because the newest message is one of them.
    pub(crate) dead_kept: bool,
    /// The tool results that were removed, in file order.
    pub(crate) calls: Vec<PrunedCallRow>,
}

/// The items that one rule removed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct RuleRow {
    rule: &'static str,
    /// The number of results, images, parameters or entries that were removed or shortened.
    count: u64,
    /// `chars4` tokens saved.
    tokens_saved: i64,
    /// Bytes saved, for content that is never sent to the model.
    bytes_saved: u64,
    /// The number of items kept because removing them would save too little.
    too_small: u64,
}

/// A tool result that was removed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "PrunedCall")]
pub(crate) struct PrunedCallRow {
    handle: Box<str>,
    tool: Box<str>,
    argument: Box<str>,
    /// The line of the result.
    line: u32,
    rule: &'static str,
    /// `chars4` tokens of the result.
    tokens_before: Tokens,
    /// `chars4` tokens of its placeholder.
    tokens_after: Tokens,
    superseded_by: Option<SupersededBy>,
}

/// The call that supersedes another.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct SupersededBy {
    handle: Box<str>,
    /// The line of the call.
    line: u32,
}

impl PrunedCallRow {
    /// The handle of the call.
    pub(crate) fn handle(&self) -> &str {
        &self.handle
    }

    /// Whether a later call superseded it.
    pub(crate) const fn is_superseded(&self) -> bool {
        self.superseded_by.is_some()
    }

    /// The saving by removing its result, in `chars4` tokens.
    pub(crate) fn saved(&self) -> Tokens {
        self.tokens_before.saturating_sub(self.tokens_after)
    }
}

impl PruneReport {
    /// The report of what was pruned.
    pub(crate) fn new(outcome: Outcome, pruned: Pruned) -> Self {
        let mut total = RuleRow { rule: "total", count: 0, tokens_saved: 0, bytes_saved: 0, too_small: 0 };
        let rules: Vec<RuleRow> = pruned.rows.into_iter().map(RuleRow::from).collect();
        for row in &rules {
            total.count += row.count;
            total.tokens_saved += row.tokens_saved;
            total.bytes_saved += row.bytes_saved;
            total.too_small += row.too_small;
        }
        let calls = pruned.calls.into_iter().map(PrunedCallRow::from).collect();
        Self { outcome, rules, total, dead_kept: pruned.keeps_dead, calls }
    }
}

/// The reason if nothing changes by the rules of `rows`.
pub(crate) fn why_unchanged(rows: &[PrunedRow]) -> &'static str {
    if rows.is_empty() {
        "no rules were given"
    } else if rows.iter().any(|row| row.n_too_small > 0) {
        "every candidate would save too little"
    } else {
        "nothing to prune"
    }
}

impl RuleRow {
    /// The number of items that the rule removed.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }
}

impl PrunedCallRow {
    /// The result as an item of a plan.
    pub(super) fn as_item(&self) -> String {
        format!("{{ item = \"{}\" }}", self.handle)
    }

    /// The comment after the item in a plan.
    pub(super) fn as_comment(&self, outcome: &Outcome) -> String {
        let change = outcome.shown_change(BeforeAfter { before: self.tokens_before, after: self.tokens_after });
        let named = format!("{} {}", self.tool, shortened(&self.argument, ARGUMENT_LEN));
        format!("{change}, {}: {}, line {}", self.rule, named.trim_end(), count(self.line.into()))
    }
}

impl From<PrunedRow> for RuleRow {
    fn from(row: PrunedRow) -> Self {
        let PrunedRow { rule, n_items, saved, bytes, n_too_small } = row;
        Self { rule, count: n_items, tokens_saved: saved, bytes_saved: bytes, too_small: n_too_small }
    }
}

impl From<PrunedCall> for PrunedCallRow {
    fn from(call: PrunedCall) -> Self {
        let PrunedCall { handle, rule, before, after, kept: _, line, described, by } = call;
        Self {
            handle,
            tool: described.tool,
            argument: described.argument,
            line: line.number(),
            rule,
            tokens_before: before,
            tokens_after: after,
            superseded_by: by.map(|(handle, line)| SupersededBy { handle, line: line.number() }),
        }
    }
}

/// The maximum number of results in the text of a run; a plan lists all.
const N_NAMED: usize = 20;
/// The maximum length of an argument, in characters.
const ARGUMENT_LEN: usize = 50;

/// The text of a run or of a dry run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PruneText<'a> {
    report: &'a PruneReport,
    look: Look,
    n_named: usize,
}

impl<'a> PruneText<'a> {
    /// The text of a run.
    pub(crate) const fn run(report: &'a PruneReport, look: Look) -> Self {
        Self { report, look, n_named: N_NAMED }
    }

    /// The text of a dry run, which lists all calls.
    pub(crate) const fn plan(report: &'a PruneReport, look: Look) -> Self {
        Self { report, look, n_named: usize::MAX }
    }

    fn rules(&self) -> String {
        let PruneReport { outcome, rules, total, .. } = self.report;
        let heads = ["rule", "removed", "tokens saved", "too small", "bytes saved"];
        let n_heads = if total.bytes_saved > 0 { heads.len() } else { heads.len() - 1 };
        let mut table = Table::new(heads.get(..n_heads).unwrap_or_default());
        for row in rules.iter().chain((rules.len() > 1).then_some(total)) {
            let mut cells = vec![
                row.rule.into(),
                Cell::Count(row.count),
                // Whatever is cut is shorter than it was.
                Cell::Count(outcome.shown(Tokens(row.tokens_saved.unsigned_abs())).0),
                Cell::Count(row.too_small),
            ];
            if row.bytes_saved > 0 {
                cells.push(Cell::Bytes(row.bytes_saved));
            }
            table.push(cells);
        }
        table.render(self.look)
    }

    fn calls(&self) -> String {
        let mut table = Table::new(&["handle", "call", "line", "rule", "tokens", "now", "superseded by"]);
        for call in self.report.calls.iter().take(self.n_named) {
            let by = call.superseded_by.as_ref();
            let named = format!("{} {}", call.tool, shortened(&call.argument, ARGUMENT_LEN));
            table.push(vec![
                (&*call.handle).into(),
                named.trim_end().into(),
                Cell::Count(call.line.into()),
                call.rule.into(),
                Cell::Count(self.report.outcome.shown(call.tokens_before).0),
                Cell::Count(self.report.outcome.shown(call.tokens_after).0),
                by.map_or(Cell::Empty, |by| format!("{}, line {}", by.handle, count(by.line.into())).into()),
            ]);
        }
        table.render(self.look)
    }
}

impl fmt::Display for PruneText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.report;
        if !report.rules.is_empty() {
            writeln!(f, "{}", self.rules())?;
        }
        if report.total.bytes_saved > 0 {
            writeln!(
                f,
                "{} of these are never sent to the model: removing them saves bytes, not tokens\n",
                bytes(report.total.bytes_saved)
            )?;
        }
        if !report.calls.is_empty() {
            writeln!(f, "{}", self.calls())?;
        }
        let n_more = report.calls.len().saturating_sub(self.n_named);
        if n_more > 0 {
            writeln!(f, "and {}; use --dry-run or --json to list all\n", counted(n_more as u64, "more result"))?;
        }
        report.outcome.fmt(f)
    }
}
