//! Operations: the queries and what their rows hold.

use tokio_postgres::Row;

use super::fault::Fault;
use super::row::{Damage, digest, length, optional_text, path, path_value, text, text_value, to_signed, value};
use super::session::{Server, Session};
use crate::{ArchiveError, FileRef, Operation, RecipeStep, cuts, recipe};
use ctxc_transcript::text::Tokens;

/// The newest operation with an output, as a row for [`operation`].
pub(super) const BY_OUTPUT: &str = "SELECT * FROM operation WHERE output_digest = $1
    ORDER BY (source_digest <> output_digest) DESC, seq DESC LIMIT 1";

/// The newest operation before another that has an output, as a row for [`operation`].
pub(super) const BEFORE_BY_OUTPUT: &str = "SELECT * FROM operation
    WHERE output_digest = $1 AND seq < (SELECT seq FROM operation WHERE id = $2)
    ORDER BY (source_digest <> output_digest) DESC, seq DESC LIMIT 1";

/// The newest operation before another that wrote to a path, and no more than so many bytes, as a row for
/// [`operation`].
pub(super) const BEFORE_BY_PATH: &str = "SELECT * FROM operation
    WHERE sha256(output_path) = sha256($1) AND output_bytes <= $3 AND seq < (SELECT seq FROM operation WHERE id = $2)
    ORDER BY (source_digest <> output_digest) DESC, seq DESC LIMIT 1";

/// The operations of a session, oldest first; rows for [`operation`].
pub(super) const BY_SESSION: &str =
    "SELECT * FROM operation WHERE left(session, 64) = left($1, 64) AND session = $1 ORDER BY seq";

/// The operations that wrote to a path, oldest first; rows for [`operation`].
pub(super) const BY_PATH: &str = "SELECT * FROM operation WHERE sha256(output_path) = sha256($1) ORDER BY seq";

/// The first operations whose id begins so, in the order of their ids; rows for [`operation`].
pub(super) const BY_PREFIX: &str = "SELECT * FROM operation WHERE starts_with(id, $1) ORDER BY id LIMIT $2";

/// The ids of all operations, oldest first.
pub(super) const IDS: &str = "SELECT id FROM operation ORDER BY seq";

/// The recipe of the operation with an id, as a row for [`recipe()`].
pub(super) const RECIPE: &str = "SELECT recipe FROM operation WHERE id = $1";

const BY_ID: &str = "SELECT * FROM operation WHERE id = $1";

const INSERT: &str = "INSERT INTO operation (id, verb, command, session, time,
        source_path, source_digest, source_bytes, output_path, output_digest, output_bytes,
        session_ids, report, cuts, tokens_before, tokens_after, part, recipe)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
    ON CONFLICT (id) DO NOTHING";

pub(super) fn operation(row: &Row) -> Result<Operation, Damage> {
    let file = |path_column, digest_column, bytes_column| {
        Ok::<_, Damage>(FileRef {
            path: path(row, path_column)?,
            digest: digest(row, digest_column)?,
            bytes: length(row, bytes_column)?,
        })
    };
    let tokens = |column| {
        let count: Option<i64> = value(row, column)?;
        Ok::<_, Damage>(count.map(|count| Tokens(u64::try_from(count).unwrap_or(0))))
    };
    let odd = |error: &dyn std::fmt::Display| error.to_string();
    Ok(Operation {
        id: text(row, "id")?,
        verb: text(row, "verb")?,
        command: text(row, "command")?,
        session: text(row, "session")?,
        time: value::<&str>(row, "time")?.parse().map_err(|error| odd(&error))?,
        source: file("source_path", "source_digest", "source_bytes")?,
        output: file("output_path", "output_digest", "output_bytes")?,
        session_ids: serde_json::from_str(value(row, "session_ids")?).map_err(|error| odd(&error))?,
        cuts: cuts::unpack(value(row, "cuts")?).map_err(|error| odd(&error))?,
        tokens: tokens("tokens_before")?.zip(tokens("tokens_after")?),
        report: optional_text(row, "report")?,
    })
}

pub(super) fn id(row: &Row) -> Result<String, Damage> {
    text(row, "id")
}

pub(super) fn recipe(row: &Row) -> Result<Vec<RecipeStep>, Damage> {
    recipe::decode(value(row, "recipe")?).map_err(|error| error.to_string())
}

/// Stores an operation whose originals are those of `part`, unless one of its id is there; whether it was stored.
///
/// # Errors
/// When another one of its id is there, or the server fails.
pub(super) fn insert(
    server: &Server,
    session: &mut Session,
    operation: &Operation,
    recipe: &[RecipeStep],
    part: Option<i64>,
) -> Result<Stored, ArchiveError> {
    let unpacked = |source| ArchiveError::Compress { bytes: 0, source };
    let Operation { id, verb, command, session: name, time, source, output, tokens, .. } = operation;
    let encoded = recipe::encode(recipe).map_err(unpacked)?;
    let session_ids = serde_json::to_string(&operation.session_ids).map_err(|error| unpacked(error.into()))?;
    let path_of = |file: &FileRef| file.path.as_deref().map(path_value);
    let n_stored = server
        .execute(
            session,
            INSERT,
            &[
                &text_value(id),
                &text_value(verb),
                &text_value(command),
                &text_value(name),
                &time.to_string(),
                &path_of(source),
                &source.digest.as_bytes().as_slice(),
                &to_signed(source.bytes),
                &path_of(output),
                &output.digest.as_bytes().as_slice(),
                &to_signed(output.bytes),
                // JSON has no NUL and no U+0001 that is not written as an escape.
                &session_ids,
                &operation.report.as_deref().map(text_value),
                &cuts::pack(&operation.cuts).map_err(unpacked)?,
                &tokens.map(|(before, _)| to_signed(before.0)),
                &tokens.map(|(_, after)| to_signed(after.0)),
                &part,
                &encoded,
            ],
        )
        .fault(&server.place)?;
    if n_stored == 1 {
        return Ok(Stored::Now);
    }
    let known = server.rows(session, BY_ID, &[&text_value(id)]).fault(&server.place)?;
    let is_equal = known.first().is_some_and(|row| {
        self::operation(row).is_ok_and(|known| known == *operation)
            && self::recipe(row).is_ok_and(|known| known == recipe)
    });
    if is_equal { Ok(Stored::Before) } else { Err(ArchiveError::DuplicateOperation { id: id.clone() }) }
}

/// When an operation was stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    /// Just now.
    Now,
    /// Before.
    Before,
}
