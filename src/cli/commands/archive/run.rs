//! Which verb of `ctxc archive` is meant.

use super::args::{Args, Verb};
use super::opened::OpenArchive;
use super::{copy, gc, list, search, show, upgrade};
use crate::cli::context::Context;
use crate::session::error::{CommandError, Completion};

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Completion, CommandError> {
    match args.verb {
        Verb::List(args) => list::run(&args, OpenArchive::open(&args.archive, context)?),
        Verb::Show(args) => show::run(&args, &OpenArchive::open(&args.archive, context)?),
        Verb::Search(args) => search::run(args, context),
        Verb::Copy(args) => copy::run(&args, context),
        Verb::Gc(args) => gc::run(&args, OpenArchive::open(&args.archive, context)?),
        // An older archive on a server is not opened otherwise.
        Verb::Upgrade(args) => upgrade::run(&args, context),
    }
}
