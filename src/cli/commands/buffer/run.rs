//! Which verb of `ctxc buffer` is meant.

use super::args::{Args, Verb, WhereArgs};
use super::opened::OpenBuffer;
use super::read::{LastArgs, ReadArgs, SearchArgs, Which};
use super::{delete, list, load, push, read, state};
use crate::cli::context::Context;
use crate::session::error::{CommandError, Completion};

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Completion, CommandError> {
    let to_read = |place| OpenBuffer::to_read(place, context);
    match args.verb {
        Verb::Push(args) => push::run(*args, context),
        Verb::Load(args) => load::run(*args, context),
        Verb::Last(LastArgs { n, read: ReadArgs { speaker, place } }) => {
            read::run(&Which::Last(n), speaker, &to_read(place)?)
        }
        Verb::Read(ReadArgs { speaker, place }) => read::run(&Which::All, speaker, &to_read(place)?),
        Verb::Search(SearchArgs { query, limit, read: ReadArgs { speaker, place } }) => {
            read::run(&Which::Found { query, limit }, speaker, &to_read(place)?)
        }
        Verb::Summary(place) => state::summary(&to_read(place)?),
        Verb::Tokens(place) => state::tokens(&to_read(place)?),
        Verb::Delete(args) => delete::run(args, context),
        // The name of a buffer does not matter to a list of all.
        Verb::List(archive) => list::run(&to_read(WhereArgs { buffer: "default".parse()?, archive })?),
    }
}
