-- The tables of the index of `ctxc find`.

CREATE TABLE source (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    title TEXT NOT NULL,
    stamp TEXT NOT NULL,
    n_lines INTEGER NOT NULL,
    n_bytes INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    active BLOB NOT NULL
) STRICT;
CREATE TABLE document (
    id INTEGER PRIMARY KEY,
    key INTEGER NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    speaker TEXT NOT NULL,
    tool TEXT,
    time INTEGER                   -- nanoseconds since 1970
) STRICT;
CREATE TABLE place (
    source INTEGER NOT NULL REFERENCES source (id),
    line INTEGER NOT NULL,
    at INTEGER NOT NULL,
    document INTEGER NOT NULL REFERENCES document (id),
    start INTEGER NOT NULL,
    PRIMARY KEY (source, line, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX place_by_document ON place (document);
CREATE TABLE kept (
    project TEXT PRIMARY KEY,      -- empty for all of them
    mark TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE vocabulary (
    id INTEGER PRIMARY KEY,
    n_bytes INTEGER NOT NULL,
    words TEXT NOT NULL
) STRICT;
-- `about` has what searches are narrowed by, so that no row is read of what they leave out.
CREATE VIRTUAL TABLE words
    USING fts5 (text, about, content = '', contentless_delete = 1, tokenize = 'porter ascii');
INSERT INTO words (words, rank) VALUES ('rank', 'bm25(1.0, 0.0)');
CREATE TRIGGER document_is_gone AFTER DELETE ON document BEGIN
    DELETE FROM words WHERE rowid = old.id;
END;
