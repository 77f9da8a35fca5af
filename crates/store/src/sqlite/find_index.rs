//! The index of `ctxc find`: what is said in every session of this machine, in a `SQLite` file of its own (W-06).
//!
//! A source is a session: a file, or what the archive keeps of one. A text that stands in several sources of a project, as
//! in copies, is indexed once and has a place in each. The index holds words and places, and no texts; it can be made again
//! at any time, so that one of another version is simply replaced.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::connect::connect;
use super::fault::Fault;
use super::find_text::{FindPlace, FindText, about};
use super::find_words::NewWords;
use super::link::SqliteLink;
use super::place;
use super::schema::{SchemaState, age};
use crate::store::link::{Hold, Link};
use crate::store::value::{Damage, Row, Value, values};
use crate::{ArchiveError, terms};

/// The mark of an index in the header of its file, and the version of its tables.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"ctxf");
const VERSION: i64 = 2;

/// What of a text is indexed, in bytes: a longer one is the output of a program.
const LONGEST: usize = 1 << 20;

const TABLES: &str = include_str!("find_index.sql");

/// The index.
#[derive(Debug)]
pub struct FindIndex {
    link: SqliteLink,
    new_words: NewWords,
}

/// A session that is indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindSource {
    /// What names it: where it is.
    pub key: String,
    /// The folder of its project.
    pub project: String,
    /// Its id.
    pub session: String,
    /// The name of the stage.
    pub title: String,
    /// By what one look tells that it is as it was when it was indexed; empty while that is under way.
    pub stamp: String,
    /// How many whole lines are indexed.
    pub n_lines: u64,
    /// How long they are in bytes.
    pub n_bytes: u64,
    /// Their checksum.
    pub checksum: u64,
    /// Which lines are active, as whoever indexes writes it down.
    pub active: Vec<u8>,
}

impl FindIndex {
    /// Deletes the index at `path`, which the next search makes again.
    ///
    /// # Errors
    /// When a file of it cannot be deleted.
    pub fn delete(path: &Path) -> std::io::Result<()> {
        for file in place::files(path) {
            match std::fs::remove_file(file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The index in the file at `path`, which is absolute; made where there is none, or one of another version.
    ///
    /// # Errors
    /// When it cannot be made or opened, or is a database of another program.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        if path.symlink_metadata().is_err() {
            place::create_folder(path)?;
            place::NewFile::create(path)?.settle(path)?;
        }
        let connection = connect(path)?;
        if !prepare(&connection).fault(path)? {
            return Err(ArchiveError::Foreign { path: path.to_owned() });
        }
        place::tighten(path);
        Ok(Self { link: SqliteLink::new(path, Some(connection)), new_words: NewWords::default() })
    }

    /// An index in memory, which is gone when it is dropped.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn in_memory() -> Result<Self, ArchiveError> {
        let path = PathBuf::from(":memory:");
        let connection = Connection::open_in_memory().fault(&path)?;
        prepare(&connection).fault(&path)?;
        Ok(Self { link: SqliteLink::new(&path, Some(connection)), new_words: NewWords::default() })
    }

    pub(super) fn db(&self) -> &dyn Link {
        &self.link
    }

    /// All sources by their keys, with their numbers.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn sources(&self) -> Result<HashMap<String, (i64, FindSource)>, ArchiveError> {
        let sources = self.db().all(&format!("SELECT {COLUMNS} FROM source"), &[], source)?;
        Ok(sources.into_iter().map(|(id, source)| (source.key.clone(), (id, source))).collect())
    }

    /// Starts to write, once no other process does: all until [`commit`](Self::commit) or nothing.
    ///
    /// # Errors
    /// When another process writes for too long.
    pub fn begin(&mut self) -> Result<(), ArchiveError> {
        self.link.begin(Hold::All)
    }

    /// Ends what was begun.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn commit(&mut self) -> Result<(), ArchiveError> {
        self.new_words.write(&self.link)?;
        self.link.commit()
    }

    /// Undoes what was begun, where something was.
    pub fn rollback(&mut self) {
        self.new_words.clear();
        // What fails here fails again at the next write, which says so.
        drop(self.link.rollback());
    }

    /// The source called `key`, with its number.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn source(&self, key: &str) -> Result<Option<(i64, FindSource)>, ArchiveError> {
        self.db().one(&format!("SELECT {COLUMNS} FROM source WHERE key = $1"), &values![key], source)
    }

    /// Notes `source` in the place of what was noted under its key; its number.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn put_source(&mut self, source: &FindSource) -> Result<i64, ArchiveError> {
        const PUT: &str = "INSERT INTO source
                (key, project, session, title, stamp, n_lines, n_bytes, checksum, active) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            ON CONFLICT (key) DO UPDATE SET project = excluded.project, session = excluded.session,
                title = excluded.title, stamp = excluded.stamp, n_lines = excluded.n_lines, n_bytes = excluded.n_bytes,
                checksum = excluded.checksum, active = excluded.active
            RETURNING id";
        let FindSource { key, project, session, title, stamp, n_lines, n_bytes, checksum, active } = source;
        let checksum = checksum.cast_signed();
        let active = active.as_slice();
        let values = values![key, project, session, title, stamp, *n_lines, *n_bytes, checksum, active];
        self.db().number(PUT, &values)
    }

    /// Whether what the archive keeps of `project`, or of all, was taken up when the archive had this mark.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn has_kept(&self, project: Option<&str>, mark: &str) -> Result<bool, ArchiveError> {
        const FIND: &str = "SELECT count(*) FROM kept WHERE project IN ('', $1) AND mark = $2";
        Ok(self.db().number(FIND, &values![project.unwrap_or_default(), mark])? > 0)
    }

    /// Notes that what the archive keeps of `project`, or of all, is taken up as of this mark.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn note_kept(&mut self, project: Option<&str>, mark: &str) -> Result<(), ArchiveError> {
        const PUT: &str = "INSERT OR REPLACE INTO kept (project, mark) VALUES ($1, $2)";
        self.link.execute(PUT, &values![project.unwrap_or_default(), mark]).map(|_| ())
    }

    /// Forgets the texts of the source with this number; those of no other source go.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn drop_texts(&mut self, source: i64) -> Result<(), ArchiveError> {
        const DROP: &str = "DELETE FROM document WHERE id = ANY($1) AND NOT EXISTS (SELECT 1 FROM place WHERE place.document = document.id)";
        let find = "SELECT DISTINCT document FROM place WHERE source = $1";
        let documents = self.db().all(find, &values![source], Row::get::<i64>)?;
        self.link.execute("DELETE FROM place WHERE source = $1", &values![source])?;
        self.link.execute(DROP, &[Value::list(documents)]).map(|_| ())
    }

    /// Forgets the source with this number, and its texts.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn drop_source(&mut self, source: i64) -> Result<(), ArchiveError> {
        self.drop_texts(source)?;
        self.link.execute("DELETE FROM source WHERE id = $1", &values![source]).map(|_| ())
    }

    /// Indexes `text`, which stands at `place` in `project`.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn put_text(&mut self, project: &str, place: FindPlace, text: &FindText<'_>) -> Result<(), ArchiveError> {
        const PUT: &str =
            "INSERT OR REPLACE INTO place (source, line, at, document, start) VALUES ($1, $2, $3, $4, $5)";
        let key = text.key.cast_signed();
        let known = self.db().one("SELECT id FROM document WHERE key = $1", &values![key], Row::get::<i64>)?;
        let document = match known {
            Some(document) => document,
            None => self.add(project, key, text)?,
        };
        let FindPlace { source, line, at, start } = place;
        self.link.execute(PUT, &values![source, line, at, document, start]).map(|_| ())
    }

    fn add(&mut self, project: &str, key: i64, text: &FindText<'_>) -> Result<i64, ArchiveError> {
        const PUT: &str =
            "INSERT INTO document (key, kind, speaker, tool, time) VALUES ($1, $2, $3, $4, $5) RETURNING id";
        let about = about(project, text);
        let FindText { kind, speaker, tool, time, text, .. } = text;
        let id = self.db().number(PUT, &values![key, *kind, *speaker, *tool, *time])?;
        let end = (0..=LONGEST.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let words = terms::indexed(text.get(..end).unwrap_or_default());
        self.new_words.add(&words);
        self.link.execute("INSERT INTO words (rowid, text, about) VALUES ($1, $2, $3)", &values![id, words, about])?;
        Ok(id)
    }
}

/// Makes the tables where they are not those of this version; false for a database of another program.
fn prepare(connection: &Connection) -> rusqlite::Result<bool> {
    // What is lost with the power is indexed again.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -65_536)?;
    match age(connection, APPLICATION_ID)? {
        SchemaState::Foreign => return Ok(false),
        SchemaState::Schema(VERSION) => return Ok(true),
        SchemaState::Schema(_) => {}
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    if !matches!(age(connection, APPLICATION_ID)?, SchemaState::Schema(VERSION)) {
        for table in tables(connection)? {
            connection.execute_batch(&format!("DROP TABLE \"{table}\""))?;
        }
        connection.execute_batch(TABLES)?;
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        connection.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    Ok(true)
}

/// The tables, without those that belong to others.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut tables = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'words_*' AND name NOT GLOB 'sqlite_*'",
    )?;
    tables.query_map([], |row| row.get(0))?.collect()
}

/// Rows for [`source`].
const COLUMNS: &str = "id, key, project, session, title, stamp, n_lines, n_bytes, checksum, active";

fn source(row: &mut Row) -> Result<(i64, FindSource), Damage> {
    let id = row.get()?;
    let (key, project, session, title, stamp) = (row.get()?, row.get()?, row.get()?, row.get()?, row.get()?);
    let (n_lines, n_bytes) = (row.get()?, row.get()?);
    let checksum = row.get::<i64>()?.cast_unsigned();
    Ok((id, FindSource { key, project, session, title, stamp, n_lines, n_bytes, checksum, active: row.get()? }))
}
