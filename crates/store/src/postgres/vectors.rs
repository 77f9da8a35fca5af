//! Vectors on the server: as a type of pgvector where it is there, which has an index, else as bytes.

use std::fmt::Write;

use super::batch::damaged;
use super::fault::Fault;
use super::migrate::Lock;
use super::row::{text_value, value};
use super::session::{Server, Session, Values};
use super::writer::Writer;
use crate::{ArchiveError, DocumentId, Vector, other_dimension};

/// How many numbers a vector may have that an index of pgvector takes, as `vector` and as `halfvec`, of half the precision.
pub(super) const MOST_INDEXED: usize = 2000;
pub(super) const MOST_HALVED: usize = 4000;

/// How many numbers a `vector` may have.
const MOST_NUMBERS: usize = 16_000;

/// How the vectors of a model are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As `vector`.
    Vector,
    /// As bytes.
    Bytes,
}

impl Form {
    const fn name(self) -> &'static str {
        match self {
            Self::Vector => "vector",
            Self::Bytes => "bytes",
        }
    }

    /// The table that holds them.
    pub(super) const fn table(self) -> &'static str {
        match self {
            Self::Vector => "vector_typed",
            Self::Bytes => "vector_bytes",
        }
    }
}

/// What is known of the vectors of a model.
#[derive(Clone, Copy)]
pub(super) struct Space {
    pub(super) id: i32,
    pub(super) dimension: usize,
    pub(super) form: Form,
}

pub(super) const SPACE: &str = "SELECT id, dimension, form FROM space WHERE model = $1";

pub(super) fn space(row: &tokio_postgres::Row) -> Result<Space, super::row::Damage> {
    let dimension: i32 = value(row, "dimension")?;
    let form = match value::<&str>(row, "form")? {
        "vector" => Form::Vector,
        "bytes" => Form::Bytes,
        other => return Err(format!("vectors of the form {other:?}")),
    };
    Ok(Space { id: value(row, "id")?, dimension: usize::try_from(dimension).unwrap_or(0), form })
}

/// Keeps vectors of `model`, in one transaction.
pub(super) fn put(
    server: &Server,
    writer: &mut Writer,
    model: &str,
    vectors: &[(DocumentId, Option<Vector>)],
) -> Result<(), ArchiveError> {
    let Some(dimension) = vectors.iter().find_map(|(_, vector)| Some(vector.as_ref()?.dimension())) else {
        return Ok(());
    };
    let known = find(server, writer.free(server)?, model)?;
    let space = match known {
        Some(space) => space,
        None => make(server, writer, model, dimension)?,
    };
    if vectors.iter().flat_map(|(_, vector)| vector).any(|vector| vector.dimension() != space.dimension) {
        return Err(other_dimension(model, vectors, space.dimension));
    }
    let lock = format!("pg_advisory_xact_lock_shared({})", Lock::Content.key(&server.url.schema));
    writer.alone(server, &lock, "COMMIT", |session| {
        let names = vectors.iter().map(|(id, _)| *id);
        let (kinds, keys): (Vec<Option<&str>>, Vec<Vec<u8>>) = names
            .map(|id| match id {
                DocumentId::Line(digest) => (None, digest.as_bytes().to_vec()),
                DocumentId::Record(kind, key) => (Some(kind.name()), key.as_bytes().to_vec()),
            })
            .unzip();
        let (column, cast) = match space.form {
            Form::Vector => ("text", "::vector"),
            Form::Bytes => ("bytea", ""),
        };
        let sql = format!(
            "INSERT INTO {} (space, document, value)
            SELECT $1, document.id, put.value{cast} FROM unnest($2::text[], $3::bytea[], $4::{column}[]) AS put (kind, key, value)
                LEFT JOIN body ON put.kind IS NULL AND body.digest = put.key
                LEFT JOIN record ON record.key = put.key AND record.kind = put.kind
                JOIN document ON document.body = body.id OR document.record = record.id
            ON CONFLICT (space, document) DO UPDATE SET value = EXCLUDED.value",
            space.form.table()
        );
        let texts: Vec<Option<String>>;
        let bytes: Vec<Option<Vec<u8>>>;
        let values: Values<'_> = match space.form {
            Form::Vector => {
                texts = vectors.iter().map(|(_, vector)| vector.as_ref().map(literal)).collect();
                &[&space.id, &kinds, &keys, &texts]
            }
            Form::Bytes => {
                bytes = vectors.iter().map(|(_, vector)| vector.as_ref().map(Vector::to_bytes)).collect();
                &[&space.id, &kinds, &keys, &bytes]
            }
        };
        server.execute(session, &sql, values).fault(&server.place).map(drop)
    })
}

fn find(server: &Server, session: &mut Session, model: &str) -> Result<Option<Space>, ArchiveError> {
    let rows = server.rows(session, SPACE, &[&text_value(model)]).fault(&server.place)?;
    rows.first().map(space).transpose().map_err(|detail| damaged(server, detail))
}

/// Notes a model that there are no vectors of yet, and makes an index for them where that can be.
fn make(server: &Server, writer: &mut Writer, model: &str, dimension: usize) -> Result<Space, ArchiveError> {
    let has_type = dimension <= MOST_NUMBERS && has_vectors(server, writer.free(server)?)?;
    let form = if has_type { Form::Vector } else { Form::Bytes };
    let insert = "INSERT INTO space (model, dimension, form) VALUES ($1, $2, $3) ON CONFLICT (model) DO NOTHING";
    let signed = i32::try_from(dimension).unwrap_or(i32::MAX);
    let session = writer.free(server)?;
    server.execute(session, insert, &[&text_value(model), &signed, &form.name()]).fault(&server.place)?;
    let space = find(server, session, model)?.ok_or_else(|| damaged(server, format!("the model {model} is gone")))?;
    if space.form == Form::Vector && dimension <= MOST_HALVED {
        // Another process may make it just now, and who may not make one searches without.
        let (of_type, operators) = typed(dimension);
        let index = format!(
            "CREATE INDEX IF NOT EXISTS vector_typed_near_{0} ON vector_typed
            USING hnsw ((value::{of_type}) {operators}) WHERE space = {0} AND value IS NOT NULL",
            space.id
        );
        drop(server.batch(session, &index));
    }
    Ok(space)
}

/// The type of pgvector that its index takes for so many numbers, and how the index compares them.
pub(super) fn typed(dimension: usize) -> (String, &'static str) {
    if dimension <= MOST_INDEXED {
        (format!("vector({dimension})"), "vector_ip_ops")
    } else {
        (format!("halfvec({dimension})"), "halfvec_ip_ops")
    }
}

/// Whether there is a table for vectors of pgvector, which is made where it can be.
fn has_vectors(server: &Server, session: &mut Session) -> Result<bool, ArchiveError> {
    // Not into our own schema, with which it would go.
    let make = "CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
        CREATE TABLE IF NOT EXISTS vector_typed (
            space INTEGER NOT NULL REFERENCES space (id),
            document BIGINT NOT NULL REFERENCES document (id) ON DELETE CASCADE,
            value VECTOR,
            PRIMARY KEY (space, document)
        );
        CREATE INDEX IF NOT EXISTS vector_typed_by_document ON vector_typed (document)";
    let has_table = "SELECT to_regclass('vector_typed') IS NOT NULL AS is_there";
    let is_there = |session: &mut Session| {
        let rows = server.rows(session, has_table, &[]).fault(&server.place)?;
        let is_there = rows.first().map(|row| value::<bool>(row, "is_there")).transpose();
        Ok(is_there.map_err(|detail| damaged(server, detail))?.unwrap_or(false))
    };
    if is_there(session)? {
        return Ok(true);
    }
    // Without the extension, or without the rights to make it, bytes will do. Of two that make it at once, one fails.
    if server.batch(session, make).is_err() {
        drop(server.batch(session, make));
    }
    is_there(session)
}

/// A vector as pgvector reads it.
pub(super) fn literal(vector: &Vector) -> String {
    let mut text = String::from("[");
    for number in vector.numbers() {
        let comma = if text.len() > 1 { "," } else { "" };
        let _ = write!(text, "{comma}{number}"); // Writing to a string never fails.
    }
    text.push(']');
    text
}
