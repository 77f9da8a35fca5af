//! `ctxc refs`: list tool calls and messages that can be named.

use crate::cli::args::{ArchiveIfAny, SessionArg};
use crate::cli::context::Context;
use crate::report::envelope::About;
use crate::report::refs::RefState;
use crate::session::error::CommandError;
use crate::session::reading::Reading;
use crate::session::refs::{RefsRequest, Sort, list};

pub(crate) const EXAMPLES: &str = "\
Handles and patterns name items for `ctxc discard`, `ctxc distill` and `ctxc restore`.

Examples:
  ctxc refs latest
  ctxc refs latest --tool Read --state active --sort tokens
  ctxc refs session.jsonl --messages --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Only items in this state
    #[arg(long, value_enum, value_name = "STATE")]
    state: Option<RefState>,
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Sort order
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = Sort::Age)]
    sort: Sort,
    /// Also list messages, with a pattern for each
    #[arg(long)]
    messages: bool,
    #[command(flatten)]
    archive: ArchiveIfAny,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<(), CommandError> {
    let source = args.session.find(context)?;
    let request = RefsRequest {
        state: args.state,
        tool: args.tool,
        sort: args.sort,
        lists_messages: args.messages,
        // The list works without an archive too.
        archive: args.archive.url(context.environment).ok(),
    };
    let refs = list(&request, Reading::of(&source, context.ui)?)?;
    context.print_about(About::Session(&refs.read), &refs, refs.text(context.ui.look()))
}
