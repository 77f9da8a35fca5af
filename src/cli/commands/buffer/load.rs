//! `ctxc buffer load`: push the messages of a session into the buffer.

use super::fill::{LimitArgs, fill};
use super::opened::{OpenBuffer, WhereArgs};
use crate::buffer::{Speaker, Spoken};
use crate::cli::args::{EngineArgs, SessionArg};
use crate::cli::context::Context;
use crate::session::error::{CommandError, Completion};
use crate::session::reading::Reading;
use ctxc_core::apply;
use ctxc_core::apply::{SpokenMessage, read_spoken};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    place: WhereArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) fn run(args: Args, context: &Context<'_>) -> Result<Completion, CommandError> {
    let filling = args.limits.resolve(args.engine, context)?;
    let source = args.session.find(context)?;
    let url = args.place.url(context)?;
    context.probe_report(source.path())?;
    let reading = Reading::of(&source, context.ui)?;
    let messages = reading.named(read_spoken(reading.transcript()))?;
    if messages.is_empty() {
        context.ui.status(format_args!("no messages in {}", reading.name));
    }
    let spoken = messages.into_iter().map(utterance).collect();
    fill(spoken, filling, OpenBuffer::to_fill(url, args.place.buffer, context)?)
}

fn utterance(message: SpokenMessage) -> Spoken {
    let SpokenMessage { speaker, turn, time, text } = message;
    let speaker = match speaker {
        apply::Speaker::User => Speaker::User,
        apply::Speaker::Assistant => Speaker::Assistant,
        apply::Speaker::Tool | apply::Speaker::System => Speaker::System,
    };
    // Turn 0 has everything before the first prompt.
    let turn = turn.map_or(0, |turn| turn.0 as u64 + 1);
    Spoken { speaker, turn: Some(turn), time, text }
}
