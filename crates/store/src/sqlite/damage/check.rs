//! Everything in an archive is read once and compared with its checksums.

use std::collections::HashSet;
use std::path::Path;

use crate::body::Unpacker;
use crate::sqlite::connect;
use crate::sqlite::link::SqliteLink;
use crate::store::lines::{Body, Lines, body};
use crate::store::link::Link;
use crate::store::value::{Row, values};
use crate::store::{objects, operations, records};
use crate::{ArchiveError, LineId, ObjectKind};
use ctxc_transcript::text::Digest;

/// How many lines are read at a time.
const AT_A_TIME: u32 = 500;

/// What of an archive is not what was stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// The problems that the database has with its file, in its words.
    pub structure: Vec<String>,
    /// The lines that cannot be read, with the digests that they had.
    pub lines: Vec<(LineId, Digest)>,
    /// The rows that cannot be read.
    pub rows: Vec<DamagedRow>,
    /// The objects that can be read, with how many of their lines cannot.
    pub incomplete: Vec<(ObjectKind, Digest, u64)>,
}

/// A row that is not what was stored, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamagedRow {
    /// Of an object.
    Object(i64),
    /// Of a record.
    Record(i64),
    /// Of an operation.
    Operation(i64),
}

impl Damage {
    /// Whether there is none.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.structure.is_empty() && self.lines.is_empty() && self.rows.is_empty() && self.incomplete.is_empty()
    }
}

/// Reads all of the archive in the file at `path`.
///
/// # Errors
/// When it cannot be opened, or is no archive of this version.
pub fn check(path: &Path) -> Result<Damage, ArchiveError> {
    let link = SqliteLink::new(path, Some(connect::open(path)?));
    let mut damage = Damage::default();
    // What the database cannot read at all is told by the error.
    if let Err(error) = each_part(&link, &mut damage) {
        damage.structure.push(with_source(&error));
    }
    Ok(damage)
}

fn each_part(link: &SqliteLink, damage: &mut Damage) -> Result<(), ArchiveError> {
    let db: &dyn Link = link;
    let problems = db.all("PRAGMA integrity_check(20)", &[], Row::get::<String>);
    match problems {
        Ok(problems) => damage.structure.extend(problems.into_iter().filter(|problem| problem != "ok")),
        Err(error) => damage.structure.push(with_source(&error)),
    }
    let mut known = HashSet::new();
    check_lines(db, damage, &mut known)?;
    let lost: HashSet<LineId> = damage.lines.iter().map(|(line, _)| *line).collect();
    let mut unpacker = Unpacker::default();
    for seq in numbers(db, "object")? {
        let sql = format!("{} WHERE seq = $1", objects::WHOLE);
        match db.one(&sql, &values![seq], |row| objects::object(row, &mut unpacker)) {
            Ok(Some(object)) => {
                let is_lost = |line: &&LineId| lost.contains(line) || !known.contains(line);
                let n_lost = object.lines.iter().filter(is_lost).count() as u64;
                damage.incomplete.extend((n_lost > 0).then_some((object.kind, object.key, n_lost)));
            }
            Ok(None) | Err(_) => damage.rows.push(DamagedRow::Object(seq)),
        }
    }
    for seq in numbers(db, "record")? {
        let sql = format!("SELECT {} FROM record WHERE seq = $1", records::COLUMNS);
        if db.one(&sql, &values![seq], |row| records::record(row, &mut unpacker)).is_err() {
            damage.rows.push(DamagedRow::Record(seq));
        }
    }
    for seq in numbers(db, "operation")? {
        let sql = format!("SELECT {} FROM operation WHERE seq = $1", operations::COLUMNS);
        if db.one(&sql, &values![seq], operations::operation).is_err() {
            damage.rows.push(DamagedRow::Operation(seq));
        }
    }
    Ok(())
}

/// Reads all lines; `known` gets those that have a row.
fn check_lines(db: &dyn Link, damage: &mut Damage, known: &mut HashSet<LineId>) -> Result<(), ArchiveError> {
    let sql = "SELECT id, digest, codec, content, bytes FROM body WHERE id > $1 ORDER BY id LIMIT $2";
    let mut lines = Lines::default();
    let mut last = LineId(0);
    loop {
        let portion: Vec<Body> = db.all(sql, &values![last, AT_A_TIME], body)?;
        let Some(end) = portion.last() else { return Ok(()) };
        last = end.id;
        for body in portion {
            let (id, digest) = (body.id, body.digest);
            known.insert(id);
            if !matches!(lines.read(db, body), Ok(Some(_))) {
                damage.lines.push((id, digest));
            }
        }
    }
}

/// The numbers of the rows of a table.
fn numbers(db: &dyn Link, table: &str) -> Result<Vec<i64>, ArchiveError> {
    db.all(&format!("SELECT seq FROM {table} ORDER BY seq"), &[], Row::get)
}

/// The detail of an error of the database, without the name of the archive and the advice.
fn with_source(error: &ArchiveError) -> String {
    match (error, std::error::Error::source(error)) {
        (ArchiveError::Damaged { detail, .. }, _) => detail.clone(),
        (_, Some(source)) => source.to_string(),
        (error, None) => error.to_string(),
    }
}
