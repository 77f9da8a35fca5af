//! The sessions of a project, or of all, as data and as text (U-06).

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::Report;
use super::table::{Cell, Look, Table};
use super::when::to_second;
use ctxc_transcript::text::Tokens;

/// Sessions.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct List {
    /// The sessions, newest first.
    pub sessions: Vec<SessionRow>,
    /// How many older ones there are beside them.
    pub n_more: u64,
    /// Now, by which ages are told.
    #[serde(skip)]
    now: Timestamp,
    /// Whether sessions of several projects are listed.
    #[serde(skip)]
    projects: Projects,
}

impl Report for List {}

/// Whose sessions are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projects {
    /// Those of the current project.
    Current,
    /// Those of all.
    All,
}

/// One session.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SessionRow {
    /// Its id.
    pub id: String,
    /// Its file.
    pub path: String,
    /// The folder that was worked in, where the session tells.
    pub folder: Option<String>,
    /// What the client's picker calls it; `None` where it cannot be read.
    pub title: Option<String>,
    /// Why it cannot be read.
    pub problem: Option<String>,
    /// Its turns.
    pub turns: u64,
    /// The size of its context, as it is held against a context window (calibrated).
    pub tokens: Tokens,
    /// The `chars4` tokens of its live chain.
    pub tokens_chars4: Tokens,
    /// The size of its file.
    pub bytes: u64,
    /// When it was last written.
    #[serde(serialize_with = "second")]
    #[schemars(with = "String")]
    pub modified: Timestamp,
    /// What made it out of another one.
    pub origin: Option<Origin>,
}

/// How a session came to be.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Origin {
    /// The verb.
    pub verb: String,
    /// The id of the operation.
    pub operation: String,
    /// The id of the session that it was made out of, or the name of its file.
    pub source: Option<String>,
}

fn second<S: serde::Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&to_second(*time))
}

impl List {
    /// These sessions, with `n_more` beside them.
    #[must_use]
    pub const fn new(sessions: Vec<SessionRow>, n_more: u64, now: Timestamp, projects: Projects) -> Self {
        Self { sessions, n_more, now, projects }
    }

    /// The table as text.
    #[must_use]
    pub fn text(&self, look: Look) -> String {
        /// How many digits of an id are shown, as many as tell sessions apart.
        const DIGITS: usize = 8;
        if self.sessions.is_empty() {
            return String::new();
        }
        let heads = ["session", "age", "turns", "tokens", "size", "title", "made by", "folder"];
        let n_columns = match self.projects {
            Projects::Current => heads.len() - 1,
            Projects::All => heads.len(),
        };
        let mut table = Table::new(heads.get(..n_columns).unwrap_or_default());
        for row in &self.sessions {
            let short = |id: &str| id.chars().take(DIGITS).collect::<String>();
            let made_by = row.origin.as_ref().map_or_else(String::new, |origin| {
                let source =
                    origin.source.as_deref().map(|source| format!(" of {}", short(source))).unwrap_or_default();
                format!("{}{source}", origin.verb)
            });
            let mut cells: Vec<Cell> = vec![short(&row.id).into(), age(self.now, row.modified).into()];
            cells.extend(match &row.problem {
                None => [Cell::Count(row.turns), Cell::Count(row.tokens.0)],
                Some(_) => [Cell::Empty, Cell::Empty],
            });
            let title = row.title.clone().or_else(|| row.problem.as_ref().map(|problem| format!("({problem})")));
            cells.extend([Cell::Bytes(row.bytes), title.unwrap_or_default().into(), made_by.into()]);
            cells.push(row.folder.clone().unwrap_or_default().into());
            cells.truncate(n_columns);
            table.push(cells);
        }
        table.render(look)
    }
}

/// How long ago `then` was, in the largest unit of which there is one.
pub(super) fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second()).max(0);
    let (n, unit) = match seconds {
        0..60 => return "now".to_owned(),
        60..3_600 => (seconds / 60, "min"),
        3_600..86_400 => (seconds / 3_600, "h"),
        _ => (seconds / 86_400, "d"),
    };
    format!("{n} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    // U-06
    #[test]
    fn u_06_ages_are_told_in_the_largest_unit() {
        let then = Timestamp::UNIX_EPOCH;
        let cases = [(-5, "now"), (59, "now"), (60, "1 min"), (7_199, "1 h"), (86_400, "1 d"), (40 * 86_400, "40 d")];
        for (seconds, told) in cases {
            assert_eq!(age(Timestamp::from_second(seconds).unwrap(), then), told);
        }
    }
}
