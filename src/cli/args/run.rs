//! What `ctxc run` is told.

use std::num::NonZeroU64;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::ValueEnum;

use super::engine::EngineArgs;
use super::prune::{ExtraArgs, ProtectArgs, SelectArgs};
use super::share::Share;
use super::shared::{RewriteArgs, SessionArg};
use super::summarizing::SummarizingArgs;
use super::{Include, Only};
use crate::cli::commands::run::{Asked, Settings};
use crate::cli::error::CommandError;
use crate::cli::plan_file;
use crate::cli::quantity::{some_tokens, tokens};
use crate::cli::settings::{Context, EngineChoice, Target};
use ctxc_core::plan::{CompressStage, Preset, PruneStage, Stage, Step};
use ctxc_transcript::text::Tokens;

pub(super) const EXAMPLES: &str = "\
To reach a target without choosing steps, use `ctxc fit`.

Presets:
  gentle      superseded tool results, and data that is never sent
  standard    also mask results older than fifteen steps, and images
  aggressive  mask all but the newest results; images, thinking, long call parameters
Presets keep prompts and answers. [default: standard]

With --target-tokens the gentlest step comes first, and the run stops as soon as the context is \
below N: gentle, standard, aggressive, compress answers, truncate.

Examples:
  ctxc run latest
  ctxc run latest --target-tokens 60000
  ctxc run latest --preset aggressive --dry-run > plan.toml
  ctxc run --plan plan.toml
  ctxc run session.jsonl --steps prune,compress,truncate --bands 0-50:compress --target-tokens 90000";

/// The bands that are compressed where none are named.
const BANDS: &str = "0-80:compress";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    what: WhatArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    protect: ProtectArgs,
    #[command(flatten)]
    extras: ExtraArgs,
    #[command(flatten)]
    summarizing: SummarizingArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Pipeline")]
struct WhatArgs {
    /// Steps to run, in their fixed order [default: prune; all with --target-tokens]
    #[arg(long, value_enum, value_name = "STEP,...", value_delimiter = ',')]
    steps: Vec<StepName>,
    /// Preset for pruning
    #[arg(long, value_enum, value_name = "NAME")]
    preset: Option<PresetName>,
    /// Stop when the context is below N tokens
    #[arg(long, value_name = "N", value_parser = some_tokens)]
    target_tokens: Option<NonZeroU64>,
    /// Bands of turns to compress [default with --target-tokens: 0-80:compress, answers only]
    #[arg(long)]
    bands: Option<String>,
    /// Only compress messages of this role
    #[arg(long, value_enum, value_name = "ROLE")]
    only: Option<Only>,
    /// Also compress these texts
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',')]
    include: Vec<Include>,
    /// Skip texts of fewer tokens when compressing [default: 20]
    #[arg(long, value_name = "N", value_parser = tokens)]
    min_tokens: Option<u64>,
    /// Run the plan in FILE, as printed by --dry-run
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "steps", "preset", "target_tokens", "bands", "only", "include", "min_tokens",
        "rules", "mask", "images", "thinking", "inputs", "ui_copies", "progress", "dead", "dry_run",
    ])]
    plan: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StepName {
    Prune,
    Compress,
    Compact,
    Truncate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PresetName {
    Gentle,
    Standard,
    Aggressive,
}

/// The engine; where no stage shortens a text, nothing has to be configured for one.
fn engine_of(shortens: bool, typed: EngineArgs, context: &Context<'_>) -> Result<EngineChoice, CommandError> {
    if shortens { typed.resolve(context.environment) } else { Ok(EngineChoice::Extract) }
}

impl Args {
    pub(crate) fn resolve(mut self, context: Context<'_>) -> Result<Settings, CommandError> {
        let engine = std::mem::take(&mut self.engine);
        if let Some(path) = &self.what.plan {
            let plan = plan_file::read(path)?;
            let session = self.session.session.clone().or_else(|| plan.session.clone().map(PathBuf::from));
            let session = session.ok_or_else(|| {
                CommandError::usage(anyhow!("the plan {} names no session", path.display()))
                    .hint("put the session before --plan")
            })?;
            let fingerprint = Some(plan.fingerprint);
            let window = self.summarizing.window();
            let is_compact = |stage: &Stage| matches!(stage, Stage::Compact(_));
            let compacting = if plan.stages.iter().any(is_compact) {
                Some(self.summarizing.resolve(engine.clone(), context.environment)?)
            } else {
                None
            };
            let engine =
                engine_of(plan.stages.iter().any(|stage| matches!(stage, Stage::Compress(_))), engine, &context)?;
            let rewriting = self.rewrite.resolve(&SessionArg { session: Some(session) }, context)?.in_window(window);
            let stages = plan.stages.into_iter().map(Asked::Stage).collect();
            return Ok(Settings { rewriting, stages, engine, compacting, target: None, fingerprint });
        }
        let steps = self.steps();
        let summarizing = std::mem::take(&mut self.summarizing);
        let window = summarizing.window();
        let compacting = if steps.contains(&Step::Compact) {
            let mut compacting = summarizing.resolve(engine.clone(), context.environment)?;
            // Towards a target, and with `--force`, the size of the context does not matter.
            if self.what.target_tokens.is_some() || self.rewrite.is_forced() {
                compacting.budget = None;
            }
            Some(compacting)
        } else {
            None
        };
        let mut stages = Vec::new();
        for step in Step::in_order(&steps) {
            match step {
                Step::Prune => {
                    stages.extend(self.prunings(&context)?.into_iter().map(|it| Asked::Stage(Stage::Prune(it))));
                }
                Step::Compress => stages.push(Asked::Stage(Stage::Compress(self.compression(&context)?))),
                Step::Compact => stages.push(Asked::Compact),
                Step::Truncate => stages.push(Asked::Truncate(self.truncation(&context))),
            }
        }
        let target = self.what.target_tokens.map(|target| Tokens(target.get()));
        let engine = engine_of(steps.contains(&Step::Compress), engine, &context)?;
        let rewriting = self.rewrite.resolve(&self.session, context)?.in_window(window);
        Ok(Settings { rewriting, stages, engine, compacting, target, fingerprint: None })
    }

    fn steps(&self) -> Vec<Step> {
        let typed = self.what.steps.iter().map(|step| match step {
            StepName::Prune => Step::Prune,
            StepName::Compress => Step::Compress,
            StepName::Compact => Step::Compact,
            StepName::Truncate => Step::Truncate,
        });
        let typed: Vec<Step> = typed.collect();
        match (typed.is_empty(), self.what.target_tokens) {
            (false, _) => typed,
            (true, Some(_)) => vec![Step::Prune, Step::Compress, Step::Truncate],
            (true, None) => vec![Step::Prune],
        }
    }

    /// The stages that prune: as was said, or as presets do it, one after the other towards a target.
    fn prunings(&self, context: &Context<'_>) -> Result<Vec<PruneStage>, CommandError> {
        let protections = self.protect.stage(&context.environment.config);
        let preset = self.what.preset.map(|preset| match preset {
            PresetName::Gentle => Preset::Gentle,
            PresetName::Standard => Preset::Standard,
            PresetName::Aggressive => Preset::Aggressive,
        });
        let is_custom = self.select.is_typed() || self.extras.is_typed();
        if preset.is_none() && (is_custom || (!self.what.steps.is_empty() && self.what.target_tokens.is_none())) {
            let stage = PruneStage { name: "prune".to_owned(), ..protections };
            return Ok(vec![self.extras.added_to(self.select.put_in(stage)?)]);
        }
        let last =
            preset.unwrap_or(if self.what.target_tokens.is_some() { Preset::Aggressive } else { Preset::Standard });
        let presets = Preset::ALL
            .into_iter()
            .filter(|&preset| if self.what.target_tokens.is_some() { preset <= last } else { preset == last });
        // What is said beside a preset goes before what it says.
        let stage = |preset: Preset| {
            let stage = preset.stage(protections.clone());
            let stage = if self.select.is_typed() { self.select.put_in(stage)? } else { stage };
            Ok(self.extras.added_to(stage))
        };
        presets.map(stage).collect()
    }

    fn compression(&self, context: &Context<'_>) -> Result<CompressStage, CommandError> {
        let config = &context.environment.config;
        let (bands, only) = match (&self.what.bands, self.what.target_tokens) {
            (Some(bands), _) => (bands.clone(), self.what.only),
            (None, Some(_)) => (BANDS.to_owned(), self.what.only.or(Some(Only::Assistant))),
            (None, None) => {
                return Err(CommandError::usage(anyhow!("no bands to compress"))
                    .hint("use --bands 0-50:compress, or --target-tokens"));
            }
        };
        let protect_turns = self.protect.turns.unwrap_or(config.protect_turns);
        Ok(CompressStage {
            name: "compress".to_owned(),
            bands,
            only: only.map(|only| only.name().to_owned()),
            tool_results: self.what.include.contains(&Include::ToolResults),
            min_tokens: self.what.min_tokens.unwrap_or(config.min_tokens),
            protect_turns: u32::try_from(protect_turns).unwrap_or(u32::MAX),
            texts: None,
        })
    }

    fn truncation(&self, context: &Context<'_>) -> Target {
        let config = &context.environment.config;
        self.what.target_tokens.map_or(Target::Share(Share(config.threshold).times(Share(config.headroom))), |target| {
            Target::Tokens(Tokens(target.get()))
        })
    }
}
