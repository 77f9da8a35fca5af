//! The search by vectors: by the index of pgvector, or by looking at each.

use super::row::{text_value, value};
use super::search::{ADMITTED, Narrow};
use super::store::Postgres;
use super::vectors::{Form, MOST_HALVED, SPACE, Space, literal, space, typed};
use crate::{ArchiveError, EMBEDDED, Query, Vector};

/// How many vectors come at a time where each is looked at.
const PORTION: i64 = 2000;

/// The numbers of the documents that have no vector of `model`, newest first.
pub(super) fn without(archive: &Postgres, model: &str, limit: u32) -> Result<Vec<i64>, ArchiveError> {
    let kinds = EMBEDDED.map(|kind| kind.name().to_owned()).to_vec();
    let limit = i64::from(limit);
    let sql = |has: &str| {
        format!("SELECT document.id FROM document WHERE kind = ANY($1) {has} ORDER BY document.id DESC LIMIT $2")
    };
    match archive.all(SPACE, &[&text_value(model)], space)?.pop() {
        None => archive.all(&sql(""), &[&kinds, &limit], |row| value(row, "id")),
        Some(Space { id, form, .. }) => {
            let has = format!(
                "AND NOT EXISTS (SELECT 1 FROM {} AS kept WHERE kept.document = document.id AND kept.space = {id})",
                form.table()
            );
            archive.all(&sql(&has), &[&kinds, &limit], |row| value(row, "id"))
        }
    }
}

/// The numbers of the documents that `query` admits whose vectors are most like `vector`, the most alike first.
pub(super) fn nearest(
    archive: &Postgres,
    model: &str,
    vector: &Vector,
    query: &Query<'_>,
) -> Result<Vec<i64>, ArchiveError> {
    let Some(space) = archive.all(SPACE, &[&text_value(model)], space)?.pop() else { return Ok(Vec::new()) };
    if space.dimension != vector.dimension() {
        return Ok(Vec::new());
    }
    match space.form {
        Form::Vector => by_index(archive, space, vector, query),
        Form::Bytes => by_each(archive, space, vector, query),
    }
}

fn by_index(archive: &Postgres, space: Space, vector: &Vector, query: &Query<'_>) -> Result<Vec<i64>, ArchiveError> {
    let narrow = Narrow::of(query);
    let [kind, speaker, sessions] = narrow.values();
    let of_type = if space.dimension <= MOST_HALVED { typed(space.dimension).0 } else { "vector".to_owned() };
    let sql = format!(
        "SELECT document.id, -(kept.value::{of_type} <#> $4::text::{of_type}) AS likeness
        FROM vector_typed AS kept JOIN document ON document.id = kept.document
        WHERE kept.space = {} AND kept.value IS NOT NULL AND {ADMITTED}
        ORDER BY kept.value::{of_type} <#> $4::text::{of_type} LIMIT $5",
        space.id
    );
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [kind, speaker, sessions, &literal(vector), &i64::from(query.limit)];
    let found = archive.all(&sql, &values, |row| Ok((value::<i64>(row, "id")?, value::<f64>(row, "likeness")?)))?;
    Ok(found.into_iter().filter(|(_, likeness)| *likeness > 0.0).map(|(id, _)| id).collect())
}

fn by_each(archive: &Postgres, space: Space, vector: &Vector, query: &Query<'_>) -> Result<Vec<i64>, ArchiveError> {
    let narrow = Narrow::of(query);
    let [kind, speaker, sessions] = narrow.values();
    let sql = format!(
        "SELECT document.id, kept.value FROM vector_bytes AS kept JOIN document ON document.id = kept.document
        WHERE kept.space = {} AND kept.value IS NOT NULL AND kept.document > $4 AND {ADMITTED}
        ORDER BY kept.document LIMIT $5",
        space.id
    );
    let mut found: Vec<(f32, i64)> = Vec::new();
    let mut last = 0_i64;
    loop {
        let portion = archive.all(&sql, &[kind, speaker, sessions, &last, &PORTION], |row| {
            Ok((vector.likeness_of_bytes(value(row, "value")?).unwrap_or_default(), value::<i64>(row, "id")?))
        })?;
        let Some((_, end)) = portion.last() else { break };
        last = *end;
        found.extend(portion.into_iter().filter(|(likeness, _)| *likeness > 0.0));
        found.sort_by(|left, right| right.0.total_cmp(&left.0).then(right.1.cmp(&left.1)));
        found.truncate(query.limit as usize);
    }
    Ok(found.into_iter().map(|(_, id)| id).collect())
}
