//! Operations: the queries and what their rows hold.

use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, Row, named_params, params};

use super::row::{damaged, length, path_from, path_value, to_signed, unstorable};
use crate::{Cut, FileRef, Operation, RecipeStep, cuts, recipe};
use ctxc_transcript::text::{Digest, Tokens};

/// The newest operation with an output, as a row for [`operation`].
pub(super) const BY_OUTPUT: &str = "SELECT * FROM operation WHERE output_digest = ?
    ORDER BY (source_digest <> output_digest) DESC, seq DESC LIMIT 1";

/// The newest operation before another that has an output, as a row for [`operation`].
pub(super) const BEFORE_BY_OUTPUT: &str = "SELECT * FROM operation
    WHERE output_digest = ?1 AND seq < (SELECT seq FROM operation WHERE id = ?2)
    ORDER BY (source_digest <> output_digest) DESC, seq DESC LIMIT 1";

/// The newest operation before another that wrote to a path, and no more than so many bytes, as a row for
/// [`operation`].
pub(super) const BEFORE_BY_PATH: &str = "SELECT * FROM operation
    WHERE output_path = ?1 AND output_bytes <= ?3 AND seq < (SELECT seq FROM operation WHERE id = ?2)
    ORDER BY (source_digest <> output_digest) DESC, seq DESC LIMIT 1";

/// The operations of a session, oldest first; rows for [`operation`].
pub(super) const BY_SESSION: &str = "SELECT * FROM operation WHERE session = ? ORDER BY seq";

/// The operations that wrote to a path, oldest first; rows for [`operation`].
pub(super) const BY_PATH: &str = "SELECT * FROM operation WHERE output_path = ? ORDER BY seq";

/// The operation with an id, as a row for [`operation`].
pub(super) const BY_ID: &str = "SELECT * FROM operation WHERE id = ?";

/// The first operations whose id begins so, in the order of their ids; rows for [`operation`]. Ids are of ASCII.
pub(super) const BY_PREFIX: &str = "SELECT * FROM operation WHERE id >= ?1 AND id < ?1 || x'7f' ORDER BY id LIMIT ?2";

/// The ids of all operations, oldest first.
pub(super) const IDS: &str = "SELECT id FROM operation ORDER BY seq";

/// The recipe of the operation with an id, as a row for [`recipe()`].
pub(super) const RECIPE: &str = "SELECT content FROM recipe WHERE operation = (SELECT seq FROM operation WHERE id = ?)";

const INSERT: &str = "INSERT INTO operation (id, verb, command, session, time,
        source_path, source_digest, source_bytes, output_path, output_digest, output_bytes,
        session_ids, report, cuts, tokens_before, tokens_after, first_original, last_original)
    VALUES (:id, :verb, :command, :session, :time,
        :source_path, :source_digest, :source_bytes, :output_path, :output_digest, :output_bytes,
        :session_ids, :report, :cuts, :tokens_before, :tokens_after, :first_original, :last_original)";

pub(super) fn operation(row: &Row<'_>) -> rusqlite::Result<Operation> {
    let file = |path: &str, digest: &str, bytes: &str| {
        Ok::<_, rusqlite::Error>(FileRef {
            path: path_from(row.get_ref(path)?),
            digest: Digest::from_bytes(row.get(digest)?),
            bytes: length(row, bytes)?,
        })
    };
    let tokens = |column| row.get::<_, Option<i64>>(column).map(|it| Some(Tokens(u64::try_from(it?).unwrap_or(0))));
    Ok(Operation {
        id: row.get("id")?,
        verb: row.get("verb")?,
        command: row.get("command")?,
        session: row.get("session")?,
        time: time(row)?,
        source: file("source_path", "source_digest", "source_bytes")?,
        output: file("output_path", "output_digest", "output_bytes")?,
        session_ids: serde_json::from_str(row.get_ref("session_ids")?.as_str()?)
            .map_err(|error| damaged(Type::Text, error))?,
        cuts: cuts(row)?,
        tokens: tokens("tokens_before")?.zip(tokens("tokens_after")?),
        report: row.get("report")?,
    })
}

/// Stores other texts of an operation.
pub(super) fn replace(connection: &Connection, operation: &Operation) -> rusqlite::Result<()> {
    let Operation { id, command, report, .. } = operation;
    let cuts = cuts::pack(&operation.cuts).map_err(unstorable)?;
    let update = "UPDATE operation SET command = ?2, report = ?3, cuts = ?4, source_digest = ?5, output_digest = ?6
        WHERE id = ?1";
    let (source, output) = (operation.source.digest, operation.output.digest);
    connection.execute(update, params![id, command, report, cuts, source.as_bytes(), output.as_bytes()]).map(drop)
}

pub(super) fn time(row: &Row<'_>) -> rusqlite::Result<Timestamp> {
    row.get_ref("time")?.as_str()?.parse().map_err(|error| damaged(Type::Text, error))
}

fn cuts(row: &Row<'_>) -> rusqlite::Result<Vec<Cut>> {
    cuts::unpack(row.get_ref("cuts")?.as_blob_or_null()?).map_err(|error| damaged(Type::Blob, error))
}

pub(super) fn recipe(row: &Row<'_>) -> rusqlite::Result<Vec<RecipeStep>> {
    recipe::decode(row.get_ref("content")?.as_blob()?).map_err(|error| damaged(Type::Blob, error))
}

/// Stores an operation whose originals have the numbers `originals`, from the first to the last.
pub(super) fn insert(
    connection: &Connection,
    operation: &Operation,
    recipe: &[RecipeStep],
    originals: Option<(i64, i64)>,
) -> rusqlite::Result<()> {
    let seq = connection.prepare(INSERT)?.insert(named_params! {
        ":id": operation.id,
        ":verb": operation.verb,
        ":command": operation.command,
        ":session": operation.session,
        ":time": operation.time.to_string(),
        ":source_path": operation.source.path.as_deref().map(path_value),
        ":source_digest": operation.source.digest.as_bytes(),
        ":source_bytes": to_signed(operation.source.bytes),
        ":output_path": operation.output.path.as_deref().map(path_value),
        ":output_digest": operation.output.digest.as_bytes(),
        ":output_bytes": to_signed(operation.output.bytes),
        ":session_ids": serde_json::to_string(&operation.session_ids).map_err(unstorable)?,
        ":report": operation.report,
        ":cuts": cuts::pack(&operation.cuts).map_err(unstorable)?,
        ":tokens_before": operation.tokens.map(|(before, _)| to_signed(before.0)),
        ":tokens_after": operation.tokens.map(|(_, after)| to_signed(after.0)),
        ":first_original": originals.map(|(first, _)| first),
        ":last_original": originals.map(|(_, last)| last),
    })?;
    let recipe = recipe::encode(recipe).map_err(unstorable)?;
    connection.execute("INSERT INTO recipe (operation, content) VALUES (?, ?)", params![seq, recipe])?;
    Ok(())
}
