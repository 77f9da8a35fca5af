//! The parameters of a tool call: what the call is about, and what people know it by.

use super::entry_fields::{decoded, field_at};
use crate::plan::{LineRange, Repeat, Subject, TodoKind};
use ctxc_transcript::IdHash;
use ctxc_transcript::text::{is_rooted, on_one_line, resolve, within};

/// The number of lines that a client reads of a file by default.
const DEFAULT_LINES: u32 = 2000;

/// The tools whose results are not told again by an equal call: what was run, handed out once, reported or said.
const ANOTHER: [&str; 14] = [
    "Bash", "BashOutput", "KillBash", "KillShell", "PowerShell", "Task", "Agent", "TaskOutput", "AgentOutputTool",
    "AskUserQuestion", "ExitPlanMode", // Those of Codex.
    "write_stdin", "exec", "wait",
];

/// Whether a call of `tool` gives the same when it is made again.
#[must_use]
pub(in crate::apply) fn repeat_of(tool: &str) -> Repeat {
    if ANOTHER.contains(&tool) { Repeat::Another } else { Repeat::Same }
}

/// The parameters of one call: a JSON object.
#[derive(Clone, Copy, Debug)]
pub(in crate::apply) struct Input<'a>(pub(in crate::apply) &'a [u8]);

impl Input<'_> {
    /// The file that a call of `tool` reads or writes, from the root; one that does not start there is taken from
    /// `folder`.
    pub(in crate::apply) fn file(self, tool: &str, folder: impl FnOnce() -> Option<String>) -> Option<String> {
        let key: &[u8] = match tool {
            "Read" | "Write" | "Edit" | "MultiEdit" => b"file_path",
            "NotebookRead" | "NotebookEdit" => b"notebook_path",
            _ => return None,
        };
        // pi names it shortly.
        let path = self.string(key).or_else(|| self.string(b"path")).filter(|path| !path.is_empty())?;
        let folder = if is_rooted(&path) { None } else { folder() };
        Some(resolve(&path, folder.as_deref()))
    }

    /// The subject of a call of `tool` whose file is `file`.
    pub(in crate::apply) fn subject(self, tool: &str, file: Option<&str>) -> Subject {
        let path = file.map(|path| IdHash::of(path.as_bytes()));
        match (tool, path) {
            ("Read", Some(path)) => Subject::Read(path, self.lines()),
            ("NotebookRead", Some(path)) => Subject::Read(path, None),
            ("Write" | "Edit" | "MultiEdit" | "NotebookEdit", Some(path)) => Subject::Write(path),
            ("TodoWrite", _) => Subject::TodoWrite(TodoKind::Todo),
            ("TodoRead", _) => Subject::TodoRead(TodoKind::Todo),
            ("TaskCreate" | "TaskUpdate", _) => Subject::TodoWrite(TodoKind::Task),
            ("TaskList", _) => Subject::TodoRead(TodoKind::Task),
            (tool, _) if tool.to_ascii_lowercase().ends_with("fetch") => self.fetched(),
            _ => Subject::Other,
        }
    }

    /// The argument that identifies the call to people, in one line: the file, the command, the pattern. Empty if there is
    /// none.
    pub(in crate::apply) fn key_argument(self, folder: Option<&str>) -> String {
        const PATHS: [&[u8]; 3] = [b"file_path", b"notebook_path", b"path"];
        const TEXTS: [&[u8]; 14] = [
            b"command", b"pattern", b"url", b"query", b"description", b"subject", b"skill", b"taskId", b"task_id",
            b"bash_id", b"shell_id", b"name", b"prompt", b"question",
        ];
        let text = TEXTS.iter().find_map(|key| self.string(key));
        let path = || PATHS.iter().find_map(|key| self.string(key));
        let argument = match text {
            // The pattern says more than the folder.
            Some(text) => text,
            None => match path() {
                Some(path) => folder.map_or(path.as_str(), |folder| within(&path, folder)).to_owned(),
                None => String::new(),
            },
        };
        on_one_line(&argument)
    }

    fn lines(self) -> Option<LineRange> {
        if self.value(b"pages").is_some_and(|pages| pages != b"null") {
            return None;
        }
        let start = self.number(b"offset").unwrap_or(1).max(1);
        Some(LineRange { start, end: start.saturating_add(self.number(b"limit").unwrap_or(DEFAULT_LINES)) })
    }

    fn fetched(self) -> Subject {
        // A fragment names a place in what is fetched.
        let url = self.string(b"url");
        let whole = url.as_deref().and_then(|url| url.split('#').next()).filter(|url| !url.is_empty());
        whole.map_or(Subject::Other, |url| Subject::Fetch(IdHash::of(url.as_bytes())))
    }

    /// The string of `key`, decoded.
    pub(in crate::apply) fn string(self, key: &[u8]) -> Option<String> {
        decoded(field_at(self.0, key), self.0)
    }

    fn number(self, key: &[u8]) -> Option<u32> {
        std::str::from_utf8(self.value(key)?).ok()?.trim_matches('"').parse().ok()
    }

    /// The value of `key`, as it is written.
    pub(in crate::apply) fn value(&self, key: &[u8]) -> Option<&[u8]> {
        field_at(self.0, key).map(|value| value.of(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-07
    #[test]
    fn p_07_calls_are_about_files_tasks_and_addresses() {
        let file = |path: &str| IdHash::of(path.as_bytes());
        let lines = |start, end| Some(LineRange { start, end });
        let cases = [
            ("Read", r#"{"file_path":"/p/a"}"#, Subject::Read(file("/p/a"), lines(1, 2001))),
            ("Read", r#"{"file_path":"./a","offset":5,"limit":10}"#, Subject::Read(file("/p/a"), lines(5, 15))),
            ("Read", r#"{"file_path":"/p/../p/a","offset":"0"}"#, Subject::Read(file("/p/a"), lines(1, 2001))),
            ("Read", r#"{"file_path":"/p/a","pages":"1-2"}"#, Subject::Read(file("/p/a"), None)),
            ("Write", r#"{"file_path":"/p/a","content":""}"#, Subject::Write(file("/p/a"))),
            ("MultiEdit", r#"{"file_path":"/p/a","edits":[]}"#, Subject::Write(file("/p/a"))),
            ("NotebookEdit", r#"{"notebook_path":"/p/a"}"#, Subject::Write(file("/p/a"))),
            ("Edit", r#"{"file_path":7}"#, Subject::Other),
            ("TodoWrite", r#"{"todos":[]}"#, Subject::TodoWrite(TodoKind::Todo)),
            ("TaskUpdate", r#"{"taskId":"1"}"#, Subject::TodoWrite(TodoKind::Task)),
            ("TaskList", "{}", Subject::TodoRead(TodoKind::Task)),
            ("WebFetch", r#"{"url":"https://a/b#c","prompt":"x"}"#, Subject::Fetch(file("https://a/b"))),
            ("mcp__web__fetch", r#"{"url":"https://a"}"#, Subject::Fetch(file("https://a"))),
            ("mcp__fs__write", r#"{"file_path":"/p/a"}"#, Subject::Other),
        ];
        for (tool, input, expected) in cases {
            let input = Input(input.as_bytes());
            let file = input.file(tool, || Some("/p".to_owned()));
            assert_eq!(input.subject(tool, file.as_deref()), expected, "{tool}");
        }
    }

    // P-01
    #[test]
    fn p_01_people_know_calls_by_one_argument() {
        let cases = [
            (r#"{"file_path":"/p/src/a.rs","offset":3}"#, "src/a.rs"),
            (r#"{"command":"cargo  test\n --all","description":"Run tests"}"#, "cargo test --all"),
            (r#"{"pattern":"fn main","path":"/p"}"#, "fn main"),
            (r#"{"todos":[]}"#, ""),
            ("{}", ""),
            ("[1]", ""),
        ];
        for (input, expected) in cases {
            assert_eq!(Input(input.as_bytes()).key_argument(Some("/p")), expected);
        }
    }
}
