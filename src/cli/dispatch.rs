//! From the arguments to an exit code.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use super::args::{Args, Verb};
#[cfg(feature = "mcp")]
use super::commands::mcp;
use super::commands::{
    archive, buffer, check, client, compact, completions, compress, config, cutting, diff, keep, list, log, man, map,
    prune, refs, restore, run, show, stats, truncate, undo,
};
use super::error::{CommandError, Completion};
use super::interrupt;
use super::places::Environment;
use super::settings::Context;
use super::ui::{Streams, Ui, print_usage};

/// Runs `ctxc` on the arguments and the environment of this process.
#[must_use]
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage_shown(&error),
    };
    let ui = Ui::new(args.global.verbosity(), args.global.color.into(), interrupt::watch());
    // What is made of the help texts alone is there whatever the configuration says.
    let needs_nothing = matches!(args.verb, Verb::Completions(_) | Verb::Man(_));
    let environment = if needs_nothing { Ok(Environment::default()) } else { Environment::read() };
    ended(environment.and_then(|environment| dispatch(args, &environment, &ui)), &ui).into()
}

/// What stands for the environment of a process where a command runs within another one.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The current folder, by which sessions and the configuration of a project are found. Paths in arguments are those of
    /// the process, so that they have to be absolute.
    pub cwd: PathBuf,
    /// The variables of the environment. Without `CTXC_ARCHIVE` the archive is that of the user of this process.
    pub variables: Vec<(String, OsString)>,
}

/// How a command ended that ran within another process.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The exit code.
    pub code: u8,
    /// What it said on standard output.
    pub stdout: Vec<u8>,
    /// What it said on standard error.
    pub stderr: Vec<u8>,
}

/// Runs a command within this process: `args` without the name of the program. Nothing of the environment of the process
/// but its current folder is seen, nothing is printed, and signals are left alone.
#[must_use]
pub fn run_within(args: impl IntoIterator<Item = impl Into<OsString>>, surroundings: &Surroundings) -> Ended {
    let args = std::iter::once("ctxc".into()).chain(args.into_iter().map(Into::into));
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            let text = error.render().to_string().into_bytes();
            let is_asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            let (stdout, stderr) = if is_asked { (text, Vec::new()) } else { (Vec::new(), text) };
            return Ended { code: if is_asked { 0 } else { 2 }, stdout, stderr };
        }
    };
    let streams = Streams::default();
    let ui = Ui::kept(args.global.verbosity(), streams.clone());
    let variable = |name: &str| {
        let found = surroundings.variables.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    };
    let environment = Environment::of(variable, surroundings.cwd.clone(), None);
    let code = ended(environment.and_then(|environment| dispatch(args, &environment, &ui)), &ui);
    drop(ui);
    let (stdout, stderr) = streams.into_parts();
    Ended { code, stdout, stderr }
}

/// Says why a command failed, if it did, and its exit code.
fn ended(done: Result<Completion, CommandError>, ui: &Ui) -> u8 {
    match done {
        Ok(completion) => completion.exit_code(),
        Err(error) => {
            error.print(ui);
            error.exit_code()
        }
    }
}

fn dispatch(args: Args, environment: &Environment, ui: &Ui) -> Result<Completion, CommandError> {
    let context = Context { environment, ui, reporting: args.global.reporting() };
    match args.verb {
        Verb::Compress(typed) => compress::run(&typed.resolve(context)?, ui),
        Verb::Prune(typed) => prune::run(&typed.resolve(context)?, ui),
        Verb::Compact(typed) => compact::run(&typed.resolve(context)?, ui),
        Verb::Truncate(typed) => truncate::run(&typed.resolve(context)?, ui),
        Verb::Check(typed) => check::run(&typed.resolve(context)?, ui),
        Verb::List(typed) => list::run(&typed.resolve(context)?, ui),
        Verb::Show(typed) => show::run(&typed.resolve(context)?, ui),
        Verb::Diff(typed) => diff::run(&typed.resolve(context)?, ui),
        Verb::Map(typed) => map::run(&typed, &context),
        Verb::Stats(typed) => stats::run(&typed.resolve(context)?, ui),
        Verb::Run(typed) => run::run(&typed.resolve(context)?, ui),
        Verb::Discard(typed) => cutting::run(&typed.resolve(context)?, ui),
        Verb::Distill(typed) => cutting::run(&typed.resolve(context)?, ui),
        Verb::Refs(typed) => refs::run(&typed.resolve(context)?, ui),
        #[cfg(feature = "mcp")]
        Verb::Mcp(typed) => mcp::run(typed.resolve(&context)?, ui),
        Verb::Client(typed) => client::run(&typed.resolve(&context)?, ui),
        Verb::Statusline(typed) => client::run(&typed.resolve(&context)?, ui),
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
