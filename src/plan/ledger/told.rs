//! A ledger as people and models read it, in a limited number of tokens.

use super::{Action, Ending, Ledger, Progress, Runs};
use crate::text::{Tokens, chars4, within};

/// A part of what is told: items under a title, the one that matters most first.
struct Section {
    title: &'static str,
    items: Vec<String>,
    /// How many of them are told.
    n_told: usize,
    layout: Layout,
}

/// How items stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Each on a line of its own.
    Lines,
    /// All in the line of the title.
    Inline,
}

impl Ledger {
    /// What the ledger knows, in at most `limit` tokens or little more: what matters most, and how much there is beside it.
    #[must_use]
    pub fn told(&self, limit: Tokens) -> String {
        let mut sections = self.sections();
        sections.retain(|section| !section.items.is_empty());
        let mut n_tokens: u64 = sections.iter().map(|section| chars4(section.title).0 + 5).sum();
        // In turn, so that no section takes the room of all others.
        let mut has_grown = true;
        while std::mem::take(&mut has_grown) {
            for section in &mut sections {
                let Some(item) = section.items.get(section.n_told) else { continue };
                let size = chars4(item).0 + 2;
                if n_tokens + size <= limit.0 {
                    n_tokens += size;
                    section.n_told += 1;
                    has_grown = true;
                }
            }
        }
        sections.iter().map(Section::told).collect::<Vec<_>>().join("\n")
    }

    fn sections(&self) -> Vec<Section> {
        let section = |title, layout, items| Section { title, items, n_told: 0, layout };
        let files = |action| section(title_of(action), Layout::Inline, self.files_of(action));
        vec![
            section("Open tasks", Layout::Lines, self.todos.open().into_iter().map(told_todo).collect()),
            section("Failing tests", Layout::Lines, self.tests.iter().rev().map(str::to_owned).collect()),
            section("Commands that failed when last run", Layout::Lines, self.commands_that(Ends::Badly)),
            files(Action::Created),
            files(Action::Edited),
            files(Action::Deleted),
            section("Commands that succeeded when last run", Layout::Lines, self.commands_that(Ends::Well)),
            section("Commands whose end is not known", Layout::Lines, self.commands_that(Ends::Untold)),
            files(Action::Read),
        ]
    }

    /// The files with which `action` is what was last done, reading aside where something was done to them.
    fn files_of(&self, action: Action) -> Vec<String> {
        let folder = self.folder.as_deref().unwrap_or_default();
        let is_so = self.files.iter().rev().filter(|(_, touched)| touched.change().unwrap_or(Action::Read) == action);
        is_so.map(|(path, _)| if folder.is_empty() { path.clone() } else { within(path, folder).to_owned() }).collect()
    }

    fn commands_that(&self, ends: Ends) -> Vec<String> {
        let commands = self.commands.iter().rev().filter(|(_, runs)| Ends::of(runs.last) == ends);
        commands.map(|(command, runs)| told_command(command, *runs)).collect()
    }
}

/// How a command ended, as far as the sections tell them apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Well,
    Badly,
    Untold,
}

impl Ends {
    const fn of(ending: Ending) -> Self {
        match ending {
            Ending::Succeeded => Self::Well,
            Ending::Failed(_) => Self::Badly,
            Ending::Untold => Self::Untold,
        }
    }
}

const fn title_of(action: Action) -> &'static str {
    match action {
        Action::Created => "Files created",
        Action::Edited => "Files edited",
        Action::Deleted => "Files deleted",
        Action::Read => "Files read and not changed",
    }
}

fn told_todo((progress, text): (Progress, String)) -> String {
    if progress == Progress::InProgress { format!("{text} (in progress)") } else { text }
}

fn told_command(command: &str, runs: Runs) -> String {
    let Runs { count, failed, last } = runs;
    let status = match last {
        Ending::Failed(Some(status)) => format!("exit {status}"),
        Ending::Failed(None) | Ending::Succeeded | Ending::Untold => String::new(),
    };
    let times = match (count, failed) {
        (1, _) => String::new(),
        (_, 0) => format!("{count} runs"),
        _ => format!("{failed} of {count} runs failed"),
    };
    let notes: Vec<String> = [status, times].into_iter().filter(|note| !note.is_empty()).collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
    format!("`{command}`{notes}")
}

impl Section {
    fn told(&self) -> String {
        let Self { title, items, n_told, layout } = self;
        let told = items.get(..*n_told).unwrap_or_default();
        let n_more = items.len() - told.len();
        let more = match (n_more, told.len()) {
            (0, _) => None,
            (n_more, 0) => Some(n_more.to_string()),
            (n_more, _) => Some(format!("and {n_more} more")),
        };
        let all: Vec<&str> = told.iter().map(String::as_str).chain(more.as_deref()).collect();
        match layout {
            Layout::Lines if !told.is_empty() => format!("{title}:\n- {}", all.join("\n- ")),
            Layout::Lines | Layout::Inline => format!("{title}: {}", all.join(", ")),
        }
    }
}
