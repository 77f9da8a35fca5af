-- Whole sessions: lines in packs, and objects that refer to lines.
--
-- The number of a line is that of its body, so it must never be given again: `line_counter` remembers the largest one
-- that was dropped. A body in a pack (codec 2) holds the number of the pack.

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
    "group" BLOB,                  -- a digest
    head BLOB NOT NULL,
    checksum BLOB NOT NULL,        -- 8 bytes of what stands before, 8 bytes of the content
    codec INTEGER NOT NULL,        -- as of a pack
    bytes INTEGER NOT NULL,
    content BLOB NOT NULL          -- ids of lines, then all else
) STRICT;
CREATE UNIQUE INDEX object_by_key ON object (key, kind);
CREATE INDEX object_by_group ON object ("group", kind) WHERE "group" IS NOT NULL;
CREATE INDEX object_by_kind ON object (kind);
