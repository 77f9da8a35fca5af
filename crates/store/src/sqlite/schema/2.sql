-- What was cut, and which operation took an original out.
--
-- The originals of an operation were put one after the other, so their first and last number say which they are;
-- those of schema 1 are nobody's. A recipe may be long and is seldom read, so it lies apart.

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
