-- Records, and the index that a search goes by.
--
-- A deposit leaves the index alone; a search brings it up to date first. What was indexed is known by the number
-- of the last body and record. The index holds words and no text, for lines and records are kept already.

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
