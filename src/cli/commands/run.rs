//! `ctxc run`: several verbs on one session, in one reading, one writing and one operation.

use anyhow::anyhow;

use crate::cli::error::{CommandError, Completion};
use crate::cli::pipeline::{Pipeline, Sizes};
use crate::cli::plan_file;
use crate::cli::rewriting::Work;
use crate::cli::settings::{Compacting, EngineChoice, Form, Mode, Rewriting, Summaries, Target};
use crate::cli::tell::{report_file, tell_only};
use crate::cli::ui::{Paths, Ui};
use crate::report::look::Look;
use crate::report::run::RunReport;
use ctxc_core::plan::{CompactStage, Stage, TruncateStage};
use ctxc_transcript::text::Tokens;

/// The stages of a run.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) rewriting: Rewriting,
    pub(crate) stages: Vec<Asked>,
    pub(crate) engine: EngineChoice,
    /// How the conversation is compacted; nothing where no stage compacts.
    pub(crate) compacting: Option<Compacting>,
    /// What the context shall come below; stages that are not needed for it are left out.
    pub(crate) target: Option<Tokens>,
    /// The session that a plan was made for.
    pub(crate) fingerprint: Option<String>,
}

/// A stage that was asked for.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// As a plan file or the options say.
    Stage(Stage),
    /// Compact the conversation, as is configured for its context window.
    Compact,
    /// Truncate it to a size.
    Truncate(Target),
}

impl Asked {
    /// The stage in a context window of `window`, in which the conversation is compacted as `summaries` say.
    fn stage(&self, window: Tokens, summaries: Option<&Summaries>) -> Option<Stage> {
        match self {
            Self::Stage(stage) => Some(stage.clone()),
            Self::Compact => summaries.map(|summaries| Stage::Compact(compact_stage(summaries))),
            Self::Truncate(target) => {
                Some(Stage::Truncate(TruncateStage { name: "truncate".to_owned(), target_tokens: target.of(window).0 }))
            }
        }
    }
}

fn compact_stage(summaries: &Summaries) -> CompactStage {
    CompactStage {
        name: "compact".to_owned(),
        budget_tokens: (summaries.budget > Tokens::ZERO).then_some(summaries.budget.0),
        keep_recent: summaries.keep_recent,
        chunk_size: summaries.chunk_size.get(),
        max_summary_tokens: summaries.summarizing.limit.0,
        clip_first: summaries.clip_first,
        clip_last: summaries.clip_last,
    }
}

/// A plan whose comments behind items fit a terminal; unchanged for a file.
fn with_short_comments(plan: &str, look: Look) -> String {
    let line = |line: &str| if line.contains("},  # ") { look.line(line).into_owned() } else { line.to_owned() };
    plan.lines().fold(String::new(), |plan, it| plan + &line(it) + "\n")
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
    let window = work.calibration.window;
    let summaries = settings.compacting.as_ref().map(|compacting| compacting.in_window(window));
    let mut pipeline = Pipeline::new(&mut work, &settings.engine, summaries.as_ref(), sizes)?;
    let mut rows = Vec::new();
    let mut spared = Vec::new();
    for stage in settings.stages.iter().filter_map(|asked| asked.stage(window, summaries.as_ref())) {
        if settings.target.is_some_and(|target| pipeline.size < target) {
            spared.push(stage.name().to_owned());
        } else {
            rows.push(pipeline.take(&stage)?);
        }
    }
    let Pipeline { rewrite, reach, size, .. } = pipeline;
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
            let plan = report.plan(session.as_deref(), &fingerprint)?;
            ui.text(with_short_comments(&plan, ui.look()), Paths::Whole)?;
        }
    }
    ui.status(report.to_string().trim_end());
    Ok(Completion::Full)
}
