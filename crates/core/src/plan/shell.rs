//! Shell commands as they were typed, as far as they can be told without running them: the simple commands in them, how
//! they are joined, and where words stand for themselves.

/// A script in simple commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The simple commands, in order; those inside `$(...)` are not among them.
    pub commands: Vec<Command>,
    /// Whether all of it was understood: quotes and brackets end, and nothing decides or repeats (`if`, `for`).
    pub is_plain: bool,
}

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Its words, assignments before it and prefixes such as `sudo` left off.
    pub words: Vec<Word>,
    /// The files that its output goes to.
    pub outputs: Vec<Word>,
    /// The operator after it.
    pub join: Join,
}

/// A word with its quotes taken off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Its text.
    pub text: String,
    /// Whether the shell takes it as it stands: no pattern, no variable, nothing that is run.
    pub is_literal: bool,
}

/// The operator between a command and the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// No operator.
    #[default]
    End,
    /// `&&`: the next runs where this one succeeds.
    And,
    /// `||`: the next runs where this one fails.
    Or,
    /// `|`: the next reads the output of this one, and the status of both is that of the next.
    Pipe,
    /// `;` or a new line: the next runs whatever this one's status is.
    Then,
    /// `&`: it goes on while the next runs.
    Background,
}

impl Command {
    /// The name of the program, without the folder that it stands in; empty where there is none.
    #[must_use]
    pub fn program(&self) -> &str {
        self.words.first().map_or("", |word| word.text.rsplit('/').next().unwrap_or_default())
    }

    /// The word at `at`, from 0 for the program; empty where there is none.
    #[must_use]
    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| &word.text)
    }

    /// The words behind the program that are no options.
    pub fn operands(&self) -> impl Iterator<Item = &Word> {
        self.words.iter().skip(1).filter(|word| !word.text.starts_with('-'))
    }

    pub(super) fn is_any(&self, names: &[&str]) -> bool {
        names.contains(&self.word(0))
    }
}

/// `text`, a shell command, without the `cd FOLDER &&` at its start, and that folder, as it is typed; where there is
/// none, all of it.
#[must_use]
pub fn without_cd(text: &str) -> (Option<String>, &str) {
    let whole = (None, text.trim());
    let Some((head, rest)) = text.split_once("&&") else { return whole };
    let script = Script::read(head);
    match script.commands.as_slice() {
        [cd] if script.is_plain && cd.program() == "cd" && cd.outputs.is_empty() => match cd.words.as_slice() {
            [_, folder] if folder.is_literal => (Some(folder.text.clone()), rest.trim()),
            _ => whole,
        },
        _ => whole,
    }
}

/// `text`, a shell command, without what only says how much of its output is shown: `2>&1 | tail -20`.
#[must_use]
pub fn without_tail(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let shorter = text.strip_suffix("2>&1").or_else(|| {
            let (head, filter) = text.rsplit_once('|')?;
            let mut words = filter.split_whitespace();
            let is_tail = ["tail", "head", "cat"].contains(&words.next()?);
            let is_option = |word: &str| word.trim_start_matches('-').chars().all(|c| c.is_ascii_alphanumeric());
            (is_tail && !head.ends_with('|') && words.all(is_option)).then_some(head)
        });
        match shorter.map(str::trim_end) {
            Some(shorter) if !shorter.is_empty() => text = shorter,
            _ => return text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_a_command_goes_to_first_is_told_apart() {
        let cases = [
            ("cd /a/b && make", Some("/a/b"), "make"),
            ("cd 'a b' && make && cd c", Some("a b"), "make && cd c"),
            ("cd $A && make", None, "cd $A && make"),
            ("make && cd a", None, "make && cd a"),
            ("echo '&&'", None, "echo '&&'"),
        ];
        for (text, folder, rest) in cases {
            assert_eq!(without_cd(text), (folder.map(str::to_owned), rest));
        }
    }

    #[test]
    fn how_much_is_shown_is_no_part_of_a_command() {
        let cases = [
            ("cargo test 2>&1 | tail -20", "cargo test"),
            ("cargo test 2>&1|head -n 5 | cat", "cargo test"),
            ("make test 2>&1", "make test"),
            ("grep 'a|tail' b", "grep 'a|tail' b"),
            ("make | tee log", "make | tee log"),
            ("make || cat", "make || cat"),
            ("cat a | tail x.txt", "cat a | tail x.txt"),
            ("2>&1", "2>&1"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_tail(text), expected);
        }
    }
}
