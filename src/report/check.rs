//! What `ctxc check` found, as data and as lines of text.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::session::SessionRef;
use super::size::counted;
use ctxc_core::apply::{Detail, Problem, ProblemKind, Severity};

/// The problems of one transcript.
#[derive(Clone, Debug)]
pub(crate) struct CheckReport {
    /// The session that was read.
    pub(crate) session: SessionRef,
    /// The path of the file as messages print it.
    pub(crate) file: String,
    /// What it was compared with.
    pub(crate) against: Option<String>,
    /// Every problem, in the order of its line, with whether the original has it too.
    pub(crate) problems: Vec<(Problem, Origin)>,
}

/// Where a problem comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// From the file that was checked.
    Own,
    /// From the original: it is there too.
    Original,
}

impl CheckReport {
    /// How many problems of `severity` and `origin` there are.
    pub(crate) fn count(&self, severity: Severity, origin: Origin) -> u64 {
        let same = self.problems.iter().filter(|(problem, from)| problem.severity == severity && *from == origin);
        same.count() as u64
    }

    /// One sentence on all of it.
    pub(crate) fn summary(&self) -> String {
        let found = |origin| {
            let errors = self.count(Severity::Error, origin);
            let warnings = self.count(Severity::Warning, origin);
            match (errors, warnings) {
                (0, 0) => None,
                (0, _) => Some(counted(warnings, "warning")),
                (_, 0) => Some(counted(errors, "error")),
                _ => Some(format!("{} and {}", counted(errors, "error"), counted(warnings, "warning"))),
            }
        };
        let file = &self.file;
        match (found(Origin::Own), found(Origin::Original), &self.against) {
            (None, None, _) => format!("no problems in {file}"),
            (Some(own), None, None) => format!("{own} in {file}"),
            (Some(own), None, Some(original)) => format!("{own} in {file}, none in {original}"),
            (None, Some(old), original) => {
                format!("{old} in {file}, all also in {}", original.as_deref().unwrap_or("the original"))
            }
            (Some(own), Some(old), original) => {
                let original = original.as_deref().unwrap_or("the original");
                format!("{own} in {file}, and {old} also in {original}")
            }
        }
    }
}

/// A line for each problem: `FILE:LINE: error: ...`.
impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (problem, origin) in &self.problems {
            let old = match origin {
                Origin::Own => "",
                Origin::Original => " (also in the original)",
            };
            let place = problem.line.number();
            writeln!(f, "{}:{place}: {}{old}: {problem}", self.file, problem.severity.name())?;
        }
        Ok(())
    }
}

/// Problems that affect a resume.
#[derive(JsonSchema, Serialize)]
struct Object<'a> {
    /// The path of the file as messages print it.
    file: &'a str,
    /// The original; null without `--against`.
    against: Option<&'a str>,
    /// Problems that prevent a resume or lose part of the conversation.
    errors: u64,
    /// Problems that may change what a resume sends.
    warnings: u64,
    /// The number of problems that the original has too; null without `--against`.
    original: Option<Counts>,
    /// The problems, in the order of their lines.
    #[schemars(with = "Vec<Row>")]
    problems: Rows<'a>,
}

/// How many problems there are.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ProblemCounts")]
struct Counts {
    errors: u64,
    warnings: u64,
}

/// One problem.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ProblemRow")]
struct Row {
    /// Its line, from 1.
    line: u32,
    severity: Severity,
    kind: ProblemKind,
    /// The problem and its consequence.
    message: &'static str,
    /// Whether the original has it too.
    in_original: bool,
    /// A related line; null for most kinds.
    other_line: Option<u32>,
    /// The number of entries concerned; null for most kinds.
    entries: Option<u32>,
}

/// One object, written problem by problem: a large file may have very many.
impl Serialize for CheckReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Object {
            file: &self.file,
            against: self.against.as_deref(),
            errors: self.count(Severity::Error, Origin::Own),
            warnings: self.count(Severity::Warning, Origin::Own),
            original: self.against.as_ref().map(|_| Counts {
                errors: self.count(Severity::Error, Origin::Original),
                warnings: self.count(Severity::Warning, Origin::Original),
            }),
            problems: Rows(&self.problems),
        }
        .serialize(serializer)
    }
}

impl JsonSchema for CheckReport {
    fn schema_name() -> Cow<'static, str> {
        "CheckReport".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Object::json_schema(generator)
    }
}

struct Rows<'a>(&'a [(Problem, Origin)]);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(problem, origin)| Row {
            line: problem.line.number(),
            severity: problem.severity,
            kind: problem.kind,
            message: problem.kind.text(),
            in_original: *origin == Origin::Original,
            other_line: match problem.detail {
                Detail::Line(line) => Some(line.number()),
                Detail::None | Detail::Entries(_) => None,
            },
            entries: match problem.detail {
                Detail::Entries(n_entries) => Some(n_entries),
                Detail::None | Detail::Line(_) => None,
            },
        }))
    }
}
