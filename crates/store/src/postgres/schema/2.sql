-- As the fifth schema of a SQLite archive.

CREATE SEQUENCE pack_id;
CREATE TABLE pack (
    id BIGINT PRIMARY KEY,
    bytes BIGINT NOT NULL,
    codec SMALLINT NOT NULL,
    checksum BYTEA NOT NULL,
    content BYTEA NOT NULL
);
ALTER TABLE pack ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX pack_by_bytes ON pack (bytes);
CREATE TABLE object (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind TEXT NOT NULL,
    key BYTEA NOT NULL,
    "group" BYTEA,
    head BYTEA NOT NULL,
    checksum BYTEA NOT NULL,
    codec SMALLINT NOT NULL,
    bytes BIGINT NOT NULL,
    content BYTEA NOT NULL,
    UNIQUE (key, kind)
);
ALTER TABLE object ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX object_by_group ON object ("group", kind) WHERE "group" IS NOT NULL;
CREATE INDEX object_by_kind ON object (kind);
