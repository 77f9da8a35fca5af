//! `ctxc run`: several verbs on one session, in one reading, one writing and one operation.

use std::num::NonZeroUsize;

use anyhow::{Context, anyhow};

use crate::cli::compacting::compact_conversation;
use crate::cli::compressing::{Shortened, shorten, tasks};
use crate::cli::error::{CommandError, Completion};
use crate::cli::plan_file;
use crate::cli::rewriting::Work;
use crate::cli::settings::{EngineChoice, Form, Mode, Rewriting, Summaries, Trigger};
use crate::cli::shrinking::expect;
use crate::cli::tell::{report_file, tell_only};
use crate::cli::ui::Ui;
use crate::report::prune::{CallRow, RuleRow};
use crate::report::rewritten::BeforeAfter;
use crate::report::run::{Did, RunReport, StageRow, TextRow, with_calls};
use ctxc_core::apply::{Rewrite, Tasks, Thinking, ThinkingReach, beginning, prune, pruning, truncate};
use ctxc_core::plan::{
    CompactStage, CompressStage, Include, Kept, PlannedText, PruneStage, Roles, Selection, Stage, TopDownTruncation,
    TruncateStage,
};
use ctxc_engine::run::Outcome;
use ctxc_engine::run::{Task, TaskPart};
use ctxc_transcript::text::Tokens;
use ctxc_transcript::turns;

/// The stages of a run.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) rewriting: Rewriting,
    pub(crate) stages: Vec<Stage>,
    pub(crate) engine: EngineChoice,
    /// How what is compacted is summarised; nothing where no stage compacts.
    pub(crate) summaries: Option<Summaries>,
    /// What the context shall come below; stages that are not needed for it are left out.
    pub(crate) target: Option<Tokens>,
    /// The session that a plan was made for.
    pub(crate) fingerprint: Option<String>,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let mut work = Work::open(&settings.rewriting, ui)?;
    let fingerprint = plan_file::name_of(work.reading.index.fingerprint);
    if settings.fingerprint.as_ref().is_some_and(|planned| *planned != fingerprint) {
        return Err(CommandError::from(anyhow!("{} has changed since the plan was made", work.reading.name))
            .hint("make a new plan with --dry-run"));
    }
    if settings.rewriting.mode == Mode::Do {
        work.probe()?;
    }
    // What follows from the edits takes a reading of the file to find: it is looked for where a target asks for it.
    let sizes = if settings.target.is_some() { Sizes::WithWhatFollows } else { Sizes::OfStages };
    let (rewrite, reach) = (Rewrite::default(), ThinkingReach::BehindChange);
    let mut fold = Fold { work: &mut work, settings, sizes, rewrite, reach };
    let mut size = fold.size()?;
    let mut rows = Vec::new();
    let mut spared = Vec::new();
    for stage in &settings.stages {
        if settings.target.is_some_and(|target| size < target) {
            spared.push(stage.name().to_owned());
            continue;
        }
        let did = fold.take(stage, size)?;
        let before = std::mem::replace(&mut size, fold.size()?);
        let (name, step) = (stage.name().to_owned(), stage.step().name());
        rows.push(StageRow { name, step, size: BeforeAfter { before, after: size }, did, stage: stage.clone() });
    }
    let Fold { rewrite, reach, .. } = fold;
    let reached = settings.target.map(|target| size < target);
    let mut report =
        RunReport { rewritten: work.rewritten("run"), target: settings.target, size, reached, stages: rows, spared };
    let unchanged = match (reached, report.stages.is_empty()) {
        (Some(true), true) => "the context is below the target already",
        (Some(_) | None, _) => "no step found anything to do",
    };
    for row in &report.stages {
        report.rewritten.note_calls(row.did.calls());
    }
    work.finish(rewrite, reach, unchanged, &mut report.rewritten)?;
    if settings.target.is_none() {
        report.size = work.size_after(&report.rewritten);
    }
    if settings.rewriting.mode == Mode::Do {
        work.say(&report.rewritten, &report, &report)?;
        return Ok(Completion::Full);
    }
    let reporting = &settings.rewriting.reporting;
    report_file(reporting, &report)?;
    match reporting.form {
        Form::Json => tell_only(reporting, ui, &report, "")?,
        Form::Text => {
            let path = work.reading.path.as_deref().map(|path| std::path::absolute(path).unwrap_or(path.to_owned()));
            let session = path.and_then(|path| path.to_str().map(str::to_owned));
            ui.data(report.plan(session.as_deref(), &fingerprint)?)?;
        }
    }
    ui.status(report.to_string().trim_end());
    Ok(Completion::Full)
}

/// A run so far: each stage works on what the one before has left.
struct Fold<'a, 'w> {
    work: &'a mut Work<'w>,
    settings: &'a Settings,
    sizes: Sizes,
    rewrite: Rewrite,
    reach: ThinkingReach,
}

/// How the size of the context between two stages is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sizes {
    /// With all that would follow from the stages so far.
    WithWhatFollows,
    /// By what the stages themselves did.
    OfStages,
}

impl Fold<'_, '_> {
    fn size(&self) -> Result<Tokens, CommandError> {
        match self.sizes {
            Sizes::WithWhatFollows => self.work.size(&self.rewrite, self.reach),
            Sizes::OfStages => Ok(self.work.size_of_stages(&self.rewrite)),
        }
    }

    fn take(&mut self, stage: &Stage, size: Tokens) -> Result<Did, CommandError> {
        match stage {
            Stage::Prune(stage) => self.prune(stage),
            Stage::Compress(stage) => self.compress(stage),
            Stage::Compact(stage) => self.compact(stage, size),
            Stage::Truncate(stage) => self.truncate(stage),
        }
    }

    fn prune(&mut self, stage: &PruneStage) -> Result<Did, CommandError> {
        let (pruning, reach) = pruning(stage).map_err(CommandError::usage)?;
        let Work { reading, settings, ui, .. } = &*self.work;
        let pruned = prune(&reading.file, &reading.index, &reading.chain, &pruning, &settings.shelf, &mut self.rewrite)
            .with_context(|| format!("read {}", reading.name))?;
        if pruned.keeps_dead {
            ui.warning("inactive entries are kept: the newest message is one of them");
        }
        if reach == ThinkingReach::Everywhere {
            self.reach = reach;
        }
        let rules = pruned.rows.into_iter().map(RuleRow::from).collect();
        Ok(Did::Pruned { rules, calls: pruned.calls.into_iter().map(CallRow::from).collect() })
    }

    fn compress(&mut self, stage: &CompressStage) -> Result<Did, CommandError> {
        let reading = &self.work.reading;
        let turns = turns(&reading.index, &reading.chain);
        let selection = selection(stage)?;
        let Tasks { mut tasks, .. } = tasks(self.work, &turns, &selection, Tokens(stage.min_tokens), &self.rewrite)?;
        if let Some(texts) = &stage.texts {
            tasks = planned(tasks, texts);
        }
        let mut texts: Vec<TextRow> = tasks.iter().map(row).collect();
        if self.work.settings.mode == Mode::Show {
            for task in &tasks {
                let saved = task.tokens.0.cast_signed() - task.target.0.cast_signed();
                self.rewrite.save(task.line, saved.max(0));
            }
            let calls = with_calls(&mut texts, expect(&tasks, &self.settings.engine, &self.work.settings.keep)?);
            return Ok(Did::Compressed { compressed: tasks.len() as u64, left: 0, calls, texts });
        }
        let Shortened { outcomes, calls } = shorten(self.work, &tasks, &self.settings.engine, None, &mut self.rewrite)?;
        for (text, outcome) in texts.iter_mut().zip(&outcomes) {
            text.set_outcome(outcome);
        }
        let calls = with_calls(&mut texts, calls);
        let compressed = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Compressed { .. })).count();
        Ok(Did::Compressed { compressed: compressed as u64, left: (outcomes.len() - compressed) as u64, calls, texts })
    }

    fn compact(&mut self, stage: &CompactStage, size: Tokens) -> Result<Did, CommandError> {
        let configured = self.settings.summaries.as_ref();
        let configured = configured.ok_or_else(|| CommandError::config(anyhow!("no summarization settings")))?;
        let mut summaries = Summaries {
            summarizing: configured.summarizing.clone(),
            chunk_size: NonZeroUsize::new(stage.chunk_size).unwrap_or(NonZeroUsize::MIN),
            keep_recent: stage.keep_recent,
            clip_first: stage.clip_first,
            clip_last: stage.clip_last,
            budget: Tokens(stage.budget_tokens.unwrap_or_default()),
        };
        summaries.summarizing.limit = Tokens(stage.max_summary_tokens);
        let trigger = if stage.budget_tokens.is_some() { Trigger::OverBudget } else { Trigger::Always };
        let rewrite = std::mem::take(&mut self.rewrite);
        let (rewrite, compacted) = compact_conversation(self.work, &summaries, trigger, size, rewrite)?;
        self.rewrite = rewrite;
        Ok(Did::Compacted(Box::new(compacted)))
    }

    fn truncate(&mut self, stage: &TruncateStage) -> Result<Did, CommandError> {
        let Work { reading, settings, .. } = &*self.work;
        let strategy = TopDownTruncation::new(Tokens(stage.target_tokens), self.work.estimate());
        let thinking = Thinking { policy: settings.thinking, reach: self.reach };
        let truncated = truncate(&reading.file, &reading.index, &reading.chain, &strategy, thinking, &mut self.rewrite)
            .with_context(|| format!("read {}", reading.name))?;
        let reason = match truncated.truncation.kept {
            Kept::All(why) => Some(why.name()),
            Kept::Suffix { .. } => None,
        };
        Ok(Did::Truncated { messages: BeforeAfter { before: truncated.n_before, after: truncated.n_after }, reason })
    }
}

/// Which messages `stage` compresses.
fn selection(stage: &CompressStage) -> Result<Selection, CommandError> {
    let roles = match stage.only.as_deref() {
        None => Roles::Both,
        Some("user") => Roles::User,
        Some("assistant") => Roles::Assistant,
        Some(other) => return Err(CommandError::usage(anyhow!("unknown role {other:?}: use user or assistant"))),
    };
    Ok(Selection {
        bands: stage.bands.parse().map_err(CommandError::usage)?,
        roles,
        include: if stage.tool_results { Include::ToolResults } else { Include::Messages },
        n_protected_turns: stage.protect_turns as usize,
    })
}

/// Those of `tasks` that a plan has, with the targets that it gives them.
fn planned(tasks: Vec<Task>, texts: &[PlannedText]) -> Vec<Task> {
    let target = |task: &Task| {
        let is_it = |text: &&PlannedText| text.line == task.line.number() && text.result == result_of(task);
        texts.iter().find(is_it).map(|text| Tokens(text.target))
    };
    tasks.into_iter().filter_map(|task| Some(Task { target: target(&task)?, ..task })).collect()
}

fn result_of(task: &Task) -> Option<usize> {
    match task.part {
        TaskPart::Text => None,
        TaskPart::ToolResult(at) => Some(at),
    }
}

fn row(task: &Task) -> TextRow {
    TextRow {
        line: task.line.number(),
        result: result_of(task),
        begins: beginning(&task.text),
        tokens: task.tokens,
        target: task.target,
        tokens_after: None,
        outcome: None,
        reason: None,
        calls: None,
    }
}
