-- Originals and operations.
--
-- Lines are appended by number. Digests and uuids are random, and a random index larger than the page
-- cache is slow to fill; so only their first 8 bytes are indexed, which tells them apart.
-- AUTOINCREMENT: a number is never given twice, so that the larger one is the newer, whatever was deleted.

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
