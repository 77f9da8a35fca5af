//! `context_stats`: the size of the context and its largest parts, briefly.

use std::fmt::Write;

use super::answer::ToolAnswer;
use super::settings::ServerSettings;
use super::subject::Subject;
use crate::report::size::{counted, percent, tokens};
use crate::report::stats::Stats;
use crate::session::error::CommandError;
use crate::session::stats::measure;
use crate::terminal::ui::Ui;
use ctxc_core::plan::Bands;
use ctxc_transcript::text::Tokens;

/// The maximum number of tools in the answer.
const N_TOOLS: usize = 10;

pub(super) fn answer(mut subject: Subject, settings: &ServerSettings, ui: &Ui) -> Result<ToolAnswer, CommandError> {
    let (archive, window) = (Some(settings.archive.as_str()), settings.window);
    let stats = measure(&mut subject.reading, &Bands::default(), archive, window, ui)?;
    Ok(ToolAnswer::text(told(&stats)))
}

fn told(stats: &Stats) -> String {
    let Stats { counts, tokens: context, window, .. } = stats;
    let mut text = format!(
        "context: about {} ({} of a window of {})",
        tokens(context.calibrated),
        percent(context.calibrated.0, window.0),
        tokens(*window)
    );
    if let Some(measured) = stats.measured {
        let now = tokens(measured.tokens);
        let _ = match measured.lowered_from {
            None => write!(
                text,
                "
as last recorded by the client: {now}"
            ),
            Some(before) => write!(
                text,
                "
as last recorded: {now}, lowered by ctxc from {}",
                tokens(before)
            ),
        };
    }
    let _ = write!(
        text,
        "\n{} in {} and {}, with {}",
        counted(counts.messages, "message"),
        counted(counts.turns, "turn"),
        counted(counts.steps, "step"),
        counted(counts.tool_calls, "tool call")
    );
    text += "\nby content:";
    if context.overhead > Tokens::ZERO {
        let share = percent(context.overhead.0, context.calibrated.0);
        let _ = write!(text, "\n  before the first message: {} ({share})", tokens(context.overhead));
    }
    for part in stats.parts.iter().filter(|part| part.tokens.calibrated > Tokens::ZERO) {
        let share = percent(part.tokens.calibrated.0, context.calibrated.0);
        let _ = write!(text, "\n  {}: {}, {} ({share})", part.part.name(), part.n, tokens(part.tokens.calibrated));
    }
    if !stats.tools.is_empty() {
        text += "\nby tool, calls and results:";
    }
    for tool in stats.tools.iter().take(N_TOOLS) {
        let name = if tool.tool.is_empty() { "(unknown)" } else { tool.tool.as_str() };
        let both = tool.inputs.calibrated + tool.results.calibrated;
        let _ = write!(text, "\n  {name}: {}, {}", counted(tool.calls, "call"), tokens(both));
    }
    text
}
