//! The tables, and how an older archive comes up to date.

use rusqlite::Connection;

/// What turns schema N into N + 1, from the empty database on. Only ever add to the end.
pub(super) const MIGRATIONS: &[&str] = &[
    // 1: originals and operations.
    //
    // Lines are appended by number. Digests and uuids are random, and a random index larger than the page
    // cache is slow to fill; so only their first 8 bytes are indexed, which tells them apart.
    // AUTOINCREMENT: a number is never given twice, so that the larger one is the newer, whatever was deleted.
    "
    CREATE TABLE body (
        id INTEGER PRIMARY KEY,
        digest BLOB NOT NULL,          -- BLAKE3 of the whole line
        bytes INTEGER NOT NULL,        -- length of the whole line
        codec INTEGER NOT NULL,        -- 0: as it is, 1: zstd
        content BLOB NOT NULL
    ) STRICT;
    CREATE INDEX body_by_digest ON body (substr(digest, 1, 8));
    CREATE TABLE original (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        body INTEGER NOT NULL REFERENCES body (id),
        uuid TEXT,                     -- of the entry
        replaced_by BLOB               -- digest of the line in its place
    ) STRICT;
    CREATE INDEX original_by_body ON original (body);
    CREATE INDEX original_by_uuid ON original (substr(uuid, 1, 8)) WHERE uuid IS NOT NULL;
    CREATE INDEX original_by_line ON original (substr(replaced_by, 1, 8)) WHERE replaced_by IS NOT NULL;
    CREATE TABLE operation (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        verb TEXT NOT NULL,
        command TEXT NOT NULL,
        session TEXT NOT NULL,
        time TEXT NOT NULL,            -- RFC 3339
        source_path ANY,               -- text, or a blob where it is no UTF-8
        source_digest BLOB NOT NULL,
        source_bytes INTEGER NOT NULL,
        output_path ANY,
        output_digest BLOB NOT NULL,
        output_bytes INTEGER NOT NULL,
        session_ids TEXT NOT NULL,     -- a JSON array of strings
        recipe BLOB NOT NULL,
        report TEXT                    -- JSON
    ) STRICT;
    CREATE INDEX operation_by_output ON operation (output_digest);
    CREATE INDEX operation_by_session ON operation (session);
    ",
    // 2: what was cut, and which operation took an original out.
    //
    // The originals of an operation were put one after the other, so their first and last number say which they are;
    // those of schema 1 are nobody's. A recipe may be long and is seldom read, so it lies apart.
    "
    CREATE TABLE recipe (
        operation INTEGER PRIMARY KEY REFERENCES operation (seq),
        content BLOB NOT NULL
    ) STRICT;
    INSERT INTO recipe SELECT seq, recipe FROM operation;
    ALTER TABLE operation DROP COLUMN recipe;
    ALTER TABLE operation ADD COLUMN cuts BLOB;              -- zstd of a JSON array; NULL for none
    ALTER TABLE operation ADD COLUMN tokens_before INTEGER;  -- chars4, of the live chain
    ALTER TABLE operation ADD COLUMN tokens_after INTEGER;
    ALTER TABLE operation ADD COLUMN first_original INTEGER; -- NULL where it took none out
    ALTER TABLE operation ADD COLUMN last_original INTEGER;
    CREATE INDEX operation_by_original ON operation (first_original) WHERE first_original IS NOT NULL;
    CREATE INDEX operation_by_path ON operation (output_path) WHERE output_path IS NOT NULL;
    CREATE VIEW stored_original AS
        SELECT original.seq, body.digest, body.bytes, original.uuid, original.replaced_by,
            (SELECT iif(original.seq <= operation.last_original, operation.id, NULL) FROM operation
                WHERE operation.first_original <= original.seq
                ORDER BY operation.first_original DESC LIMIT 1) AS operation
        FROM original JOIN body ON body.id = original.body;
    ",
    // 3: records, and the index that a search goes by.
    //
    // A deposit leaves the index alone; a search brings it up to date first. What was indexed is known by the number
    // of the last body and record. The index holds words and no text, for lines and records are kept already.
    "
    CREATE TABLE record (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        key BLOB NOT NULL,             -- a digest
        session TEXT,
        speaker TEXT,
        time INTEGER,                  -- nanoseconds since 1970
        codec INTEGER NOT NULL,        -- as of a body
        bytes INTEGER NOT NULL,
        content BLOB NOT NULL,         -- the text
        checksum BLOB NOT NULL,        -- the first 8 bytes of its digest
        meta TEXT,                     -- JSON
        expires INTEGER                -- nanoseconds since 1970
    ) STRICT;
    CREATE UNIQUE INDEX record_by_key ON record (key, kind);
    CREATE INDEX record_by_kind ON record (kind);
    CREATE INDEX record_by_session ON record (session) WHERE session IS NOT NULL;
    CREATE TABLE document (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        body INTEGER REFERENCES body (id) ON DELETE CASCADE,
        record INTEGER REFERENCES record (seq) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        session TEXT,
        speaker TEXT,
        time INTEGER                   -- nanoseconds since 1970
    ) STRICT;
    CREATE UNIQUE INDEX document_by_body ON document (body) WHERE body IS NOT NULL;
    CREATE UNIQUE INDEX document_by_record ON document (record) WHERE record IS NOT NULL;
    CREATE INDEX document_by_kind ON document (kind);
    CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1, tokenize = 'ascii');
    CREATE TRIGGER document_is_gone AFTER DELETE ON document BEGIN
        DELETE FROM words WHERE rowid = old.id;
    END;
    CREATE TABLE word (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE indexed (body INTEGER NOT NULL, record INTEGER NOT NULL) STRICT;
    INSERT INTO indexed VALUES (0, 0);
    ",
    // 4: vectors of what entries mean, of each model its own.
    "
    CREATE TABLE space (
        id INTEGER PRIMARY KEY,
        model TEXT NOT NULL UNIQUE,
        dimension INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE vector (
        space INTEGER NOT NULL REFERENCES space (id),
        document INTEGER NOT NULL REFERENCES document (id) ON DELETE CASCADE,
        value BLOB,                    -- NULL where the text has no direction
        UNIQUE (space, document)
    ) STRICT;
    CREATE INDEX vector_by_document ON vector (document);
    ",
    // 5: whole sessions: lines in packs, and objects that refer to lines.
    //
    // The number of a line is that of its body, so it must never be given again: `line_counter` remembers the largest one
    // that was dropped. A body in a pack (codec 2) holds the number of the pack.
    "
    CREATE TABLE line_counter (last INTEGER NOT NULL) STRICT;
    INSERT INTO line_counter SELECT coalesce(max(id), 0) FROM body;
    CREATE TABLE pack (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        bytes INTEGER NOT NULL,        -- length of the whole pack
        codec INTEGER NOT NULL,        -- 0: as it is, 1: zstd
        checksum BLOB NOT NULL,        -- the first 8 bytes of its digest
        content BLOB NOT NULL          -- ids and lengths of lines, then the lines
    ) STRICT;
    CREATE INDEX pack_by_bytes ON pack (bytes);
    CREATE TABLE object (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        key BLOB NOT NULL,             -- a digest
        \"group\" BLOB,                -- a digest
        head BLOB NOT NULL,
        checksum BLOB NOT NULL,        -- 8 bytes of what stands before, 8 bytes of the content
        codec INTEGER NOT NULL,        -- as of a pack
        bytes INTEGER NOT NULL,
        content BLOB NOT NULL          -- ids of lines, then all else
    ) STRICT;
    CREATE UNIQUE INDEX object_by_key ON object (key, kind);
    CREATE INDEX object_by_group ON object (\"group\", kind) WHERE \"group\" IS NOT NULL;
    CREATE INDEX object_by_kind ON object (kind);
    ",
];

/// The mark of an archive in the header of its file: `ctxc` in ASCII.
pub(super) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"ctxc");

/// The newest schema that this version knows of an archive in a file.
#[expect(clippy::cast_possible_wrap, reason = "there are a handful")]
pub const NEWEST: i64 = MIGRATIONS.len() as i64;

/// Whose database it is and how old.
pub(super) enum Age {
    /// Another program's.
    Foreign,
    /// An archive of this schema; 0 for an empty database.
    Schema(i64),
}

/// Reads the marks of the database.
pub(super) fn age(connection: &Connection) -> rusqlite::Result<Age> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    if application == i64::from(APPLICATION_ID) {
        return Ok(Age::Schema(version));
    }
    let n_tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(if (application, version, n_tables) == (0, 0, 0) { Age::Schema(0) } else { Age::Foreign })
}

/// Brings the database to the newest schema, in one transaction. When another process does so at the same
/// time, this waits and then finds nothing left to do.
pub(super) fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let migrated = age(connection).and_then(|age| {
        let Age::Schema(from) = age else { return Ok(()) };
        for migration in MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or(0)) {
            connection.execute_batch(migration)?;
        }
        if from < NEWEST {
            connection.pragma_update(None, "application_id", APPLICATION_ID)?;
            connection.pragma_update(None, "user_version", NEWEST)?;
        }
        connection.execute_batch("COMMIT")
    });
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    migrated
}
