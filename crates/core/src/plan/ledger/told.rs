//! Rendering of a ledger as text for people and models, within a limit of tokens.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::{CommandOutcome, CommandRuns, FileActions, Ledger, TaskProgress};
use crate::plan::effects::{FileAction, git_subcommands};
use crate::plan::shell::ShellScript;
use ctxc_transcript::text::{Tokens, chars4_tokens, is_rooted};

/// The maximum number of characters of a command that are shown.
const COMMAND: usize = 100;

/// The tokens of the whole text for each commit, and for each task that is done, that is shown.
const COMMIT: u64 = 80;
const TASK: u64 = 40;

/// A section of the text: items under a title, the most important first.
struct LedgerSection {
    title: &'static str,
    items: Vec<String>,
    /// The number of items that are shown.
    n_told: usize,
    /// Whether its next item has no room.
    is_full: bool,
    layout: SectionLayout,
    /// Whether work cannot continue without it.
    matters: bool,
}

/// Adds items until `limit`, each to the section that has the least, so that none takes all of the room.
fn fill_sections(sections: &mut [LedgerSection], n_tokens: &mut u64, limit: Tokens) {
    let mut used = vec![0; sections.len()];
    loop {
        let open = sections.iter().zip(&used).enumerate().filter(|(_, (section, _))| section.next_item().is_some());
        let Some((at, _)) = open.min_by_key(|(_, (_, used))| **used) else { return };
        let (Some(section), Some(used)) = (sections.get_mut(at), used.get_mut(at)) else { return };
        let size = section.next_item().map_or(0, |item| chars4_tokens(item).0 + 2);
        if *n_tokens + size <= limit.0 {
            *n_tokens += size;
            *used += size;
            section.n_told += 1;
        } else {
            section.is_full = true;
        }
    }
}

/// The layout of the items.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SectionLayout {
    /// One item per line, up to this number.
    Lines(usize),
    /// All items on the line of the title.
    Inline,
}

impl Ledger {
    /// Renders the ledger in about `limit` tokens: the most important rows, and the number of the others. Successful commands
    /// and files that were only read get the room that the rest leaves.
    #[must_use]
    pub fn render_text(&self, limit: Tokens) -> String {
        let mut sections = self.build_sections(limit);
        sections.retain(|section| !section.items.is_empty());
        let n_mattering = sections.iter().take_while(|section| section.matters).count();
        let (mattering, rest) = sections.split_at_mut(n_mattering);
        let mut n_tokens = 0;
        // Half of the limit suffices for successful commands and files read, which other lines mention too.
        for (sections, limit) in [(mattering, limit), (rest, Tokens(limit.0 / 2))] {
            n_tokens += sections.iter().map(|section| chars4_tokens(section.title).0 + 5).sum::<u64>();
            fill_sections(sections, &mut n_tokens, limit);
        }
        sections.iter().map(LedgerSection::render_text).collect::<Vec<_>>().join("\n")
    }

    fn build_sections(&self, limit: Tokens) -> Vec<LedgerSection> {
        // In little room, failures come before what is done.
        let most = |each: u64, n: usize| usize::try_from(limit.0 / each).unwrap_or(n).min(n);
        let section =
            |title, layout, items| LedgerSection { title, items, n_told: 0, is_full: false, layout, matters: true };
        let beside = |section| LedgerSection { matters: false, ..section };
        let lines = |n_most, title, items: Vec<String>| {
            // A title alone takes room too.
            let items = if n_most == 0 { Vec::new() } else { items };
            section(title, SectionLayout::Lines(n_most), items)
        };
        let files = |action| section(action_title(action), SectionLayout::Inline, self.files_with_action(action));
        vec![
            section(
                "Last test or build",
                SectionLayout::Inline,
                self.verdict.iter().map(|verdict| format_verdict(verdict, self.changes_since)).collect(),
            ),
            lines(
                most(COMMIT, 5),
                "Commits, pushes and pull requests",
                self.published.iter().rev().map(|(id, what)| what.describe_with_id(id)).collect(),
            ),
            lines(20, "Open tasks", self.todos.open_tasks().into_iter().map(format_todo).collect()),
            lines(most(TASK, 8), "Tasks done", self.todos.done_tasks()),
            lines(
                8,
                "Subagents, with what each was asked and said last (SendMessage goes on with one)",
                self.agents.iter().rev().map(|(id, work)| work.describe_with_id(id)).collect(),
            ),
            lines(20, "Tests that failed when last seen", self.failing_tests()),
            lines(8, "Commands that failed when last run", self.failing_commands()),
            files(FileAction::Created),
            files(FileAction::Edited),
            files(FileAction::Deleted),
            beside(lines(
                8,
                "Commands that succeeded when last run",
                self.commands_with_outcome(|ending| ending == CommandOutcome::Succeeded),
            )),
            beside(lines(
                4,
                "Commands whose status is not known",
                self.commands_with_outcome(|ending| ending == CommandOutcome::Untold),
            )),
            beside(files(FileAction::Read)),
        ]
    }

    /// The failing tests, each once, even if it fails in several folders.
    fn failing_tests(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.tests.iter().rev().filter_map(|name| name.split_once(' ')).map(|(_, name)| name) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// The files whose last action is `action`; a read counts only without an earlier change. Files in the working folder are
    /// first.
    fn files_with_action(&self, action: FileAction) -> Vec<String> {
        let is_so = |touched: &FileActions| touched.last_change().unwrap_or(FileAction::Read) == action;
        let files = self.files.iter().rev().filter(|(_, touched)| is_so(touched));
        let (inside, outside): (Vec<_>, Vec<_>) =
            files.map(|(path, _)| self.relative_path(path)).partition(|path| !is_rooted(path));
        inside.into_iter().chain(outside).collect()
    }

    fn commands_with_outcome(&self, ended_so: impl Fn(CommandOutcome) -> bool) -> Vec<String> {
        let commands = self.commands.iter().rev().filter(|(_, runs)| ended_so(runs.last));
        commands.map(|(command, runs)| self.describe_command(command, *runs)).collect()
    }

    /// The commands that failed last, without steps of git that were taken later in another way, and commands that succeeded
    /// later in a folder above or below.
    fn failing_commands(&self) -> Vec<String> {
        let mut taken: HashSet<String> = HashSet::new();
        let mut succeeded: HashMap<&str, Vec<&str>> = HashMap::new();
        let is_within = |one: &str, other: &str| Path::new(one).starts_with(other) || Path::new(other).starts_with(one);
        let mut failing = Vec::new();
        for (key @ (folder, command), runs) in self.commands.iter().rev() {
            let script = ShellScript::parse(command);
            let steps = git_subcommands(&script);
            match runs.last {
                CommandOutcome::Succeeded => {
                    taken.extend(steps.into_iter().map(str::to_owned));
                    succeeded.entry(command).or_default().push(folder);
                }
                CommandOutcome::Failed(_) => {
                    let is_over = steps.last().is_some_and(|step| taken.contains(*step))
                        || succeeded
                            .get(command.as_str())
                            .is_some_and(|all| all.iter().any(|it| is_within(folder, it)));
                    failing.extend((!is_over).then(|| self.describe_command(key, *runs)));
                }
                CommandOutcome::Untold => {}
            }
        }
        failing
    }

    fn describe_command(&self, (folder, command): &(String, String), runs: CommandRuns) -> String {
        let is_elsewhere = !folder.is_empty() && Some(folder) != self.folder.as_ref();
        let place = if is_elsewhere { format!(" in {}", self.relative_path(folder)) } else { String::new() };
        format!("`{}`{place}{}", clip_command(command), run_notes(runs))
    }
}

const fn action_title(action: FileAction) -> &'static str {
    match action {
        FileAction::Created => "Files created",
        FileAction::Edited => "Files edited",
        FileAction::Deleted => "Files deleted",
        FileAction::Read => "Files read and not changed",
    }
}

fn format_todo((progress, text): (TaskProgress, String)) -> String {
    if progress == TaskProgress::InProgress { format!("{text} (in progress)") } else { text }
}

fn format_verdict((command, ending): &(String, CommandOutcome), changes_since: u32) -> String {
    let ended = match ending {
        CommandOutcome::Succeeded => "succeeded".to_owned(),
        CommandOutcome::Failed(Some(status)) => format!("failed (exit {status})"),
        CommandOutcome::Failed(None) => "failed".to_owned(),
        CommandOutcome::Untold => "status not known".to_owned(),
    };
    let since = match changes_since {
        0 => String::new(),
        1 => ", 1 file change since".to_owned(),
        n => format!(", {n} file changes since"),
    };
    format!("`{}` {ended}{since}", clip_command(command))
}

/// Status and number of runs in brackets, unless the section says it all.
fn run_notes(runs: CommandRuns) -> String {
    let CommandRuns { count, failed, last } = runs;
    let status = match last {
        CommandOutcome::Failed(Some(status)) => format!("exit {status}"),
        CommandOutcome::Failed(None) | CommandOutcome::Succeeded | CommandOutcome::Untold => String::new(),
    };
    let times = match (count, failed) {
        (1, _) => String::new(),
        (_, 0) => format!("{count} runs"),
        _ => format!("{failed} of {count} runs failed"),
    };
    let notes: Vec<String> = [status, times].into_iter().filter(|note| !note.is_empty()).collect();
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) }
}

/// `command`, cut to [`COMMAND`] characters.
fn clip_command(command: &str) -> String {
    match command.char_indices().nth(COMMAND) {
        None => command.to_owned(),
        Some((at, _)) => format!("{}…", command.get(..at).unwrap_or_default().trim_end()),
    }
}

impl LedgerSection {
    /// The next item to show, if the layout has room.
    fn next_item(&self) -> Option<&String> {
        let has_room = match self.layout {
            SectionLayout::Lines(n_most) => self.n_told < n_most,
            SectionLayout::Inline => true,
        };
        self.items.get(self.n_told).filter(|_| has_room && !self.is_full)
    }

    fn render_text(&self) -> String {
        let Self { title, items, n_told, layout, .. } = self;
        let told = items.get(..*n_told).unwrap_or_default();
        let n_more = items.len() - told.len();
        let more = match (n_more, told.len()) {
            (0, _) => None,
            (n_more, 0) => Some(n_more.to_string()),
            (n_more, _) => Some(format!("and {n_more} more")),
        };
        let all: Vec<&str> = told.iter().map(String::as_str).chain(more.as_deref()).collect();
        match layout {
            SectionLayout::Lines(_) if !told.is_empty() => format!("{title}:\n- {}", all.join("\n- ")),
            SectionLayout::Lines(_) | SectionLayout::Inline => format!("{title}: {}", all.join(", ")),
        }
    }
}
