-- Vectors of what entries mean, of each model its own.

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
