//! From the arguments to an exit code.

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use super::args::{Args, Verb};
#[cfg(feature = "mcp")]
use super::commands::mcp;
use super::commands::{
    archive, buffer, check, compact, completions, compress, config, cutting, diff, keep, list, log, man, prune, refs,
    restore, run, show, stats, truncate, undo,
};
use super::error::{CommandError, Completion};
use super::interrupt;
use super::places::Environment;
use super::settings::Context;
use super::ui::{Ui, print_usage};

/// Runs `ctxc` on the arguments and the environment of this process.
#[must_use]
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage_shown(&error),
    };
    let ui = Ui::new(args.global.verbosity(), args.global.color.into(), interrupt::watch());
    match dispatch(args, &ui) {
        Ok(completion) => completion.exit_code(),
        Err(error) => {
            error.print(&ui);
            error.exit_code()
        }
    }
}

fn dispatch(args: Args, ui: &Ui) -> Result<Completion, CommandError> {
    // What is made of the help texts alone is there whatever the configuration says.
    let needs_nothing = matches!(args.verb, Verb::Completions(_) | Verb::Man(_));
    let environment = if needs_nothing { Environment::default() } else { Environment::read()? };
    let context = Context { environment: &environment, ui, reporting: args.global.reporting() };
    match args.verb {
        Verb::Compress(typed) => compress::run(&typed.resolve(context)?, ui),
        Verb::Prune(typed) => prune::run(&typed.resolve(context)?, ui),
        Verb::Compact(typed) => compact::run(&typed.resolve(context)?, ui),
        Verb::Truncate(typed) => truncate::run(&typed.resolve(context)?, ui),
        Verb::Check(typed) => check::run(&typed.resolve(context)?, ui),
        Verb::List(typed) => list::run(&typed.resolve(context)?, ui),
        Verb::Show(typed) => show::run(&typed.resolve(context)?, ui),
        Verb::Diff(typed) => diff::run(&typed.resolve(context)?, ui),
        Verb::Stats(typed) => stats::run(&typed.resolve(context)?, ui),
        Verb::Run(typed) => run::run(&typed.resolve(context)?, ui),
        Verb::Discard(typed) => cutting::run(&typed.resolve(context)?, ui),
        Verb::Distill(typed) => cutting::run(&typed.resolve(context)?, ui),
        Verb::Refs(typed) => refs::run(&typed.resolve(context)?, ui),
        #[cfg(feature = "mcp")]
        Verb::Mcp(typed) => mcp::run(typed.resolve(&context)?, ui),
        Verb::Config => config::run(&context, ui),
        Verb::Restore(typed) => restore::run(&typed.resolve(context)?, ui),
        Verb::Undo(typed) => undo::run(&typed.resolve(context)?, ui),
        Verb::Keep(typed) => keep::run(&typed.resolve(context)?, ui),
        Verb::Log(typed) => log::run(&typed.resolve(context)?, ui),
        Verb::Completions(typed) => completions::run(&typed.resolve(), ui),
        Verb::Man(typed) => man::run(&typed.resolve(), ui),
        Verb::Archive(typed) => archive::run(&typed.resolve(context)?, ui),
        Verb::Buffer(typed) => buffer::run(typed.resolve(context)?, ui),
    }
}

/// Prints what clap has to say, and the exit code of it.
fn usage_shown(error: &clap::Error) -> ExitCode {
    let is_printed = print_usage(error).is_ok();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion if is_printed => ExitCode::SUCCESS,
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::FAILURE,
        _ => ExitCode::from(2),
    }
}
