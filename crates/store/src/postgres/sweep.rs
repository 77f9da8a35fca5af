//! What may go from the database.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::batch::damaged;
use super::fault::Fault;
use super::migrate::Lock;
use super::row::{Damage, length, to_nanoseconds, value};
use super::session::{Server, Session, Values};
use super::sessions;
use super::writer::Writer;
use crate::body::PACKED;
use crate::pack::pack_at;
use crate::{ArchiveError, Cleanup, Dropped, Kind, Sweep};

/// Drops what `cleanup` names, in one transaction that no deposit overlaps, or finds out what that would be.
pub(super) fn sweep(
    server: &Server,
    writer: &mut Writer,
    cleanup: &Cleanup,
    sweep: Sweep,
) -> Result<Dropped, ArchiveError> {
    let lock = format!("pg_advisory_xact_lock({})", Lock::Content.key(&server.url.schema));
    let end = match sweep {
        Sweep::Drop => "COMMIT",
        Sweep::Count => "ROLLBACK",
    };
    let dropped = writer.alone(server, &lock, end, |session| drop_all(server, session, cleanup))?;
    if sweep == Sweep::Drop {
        sessions::merge(server, writer, &mut || ControlFlow::Continue(()))?;
        // The server uses the space again; it gives none back to the system by this. It does so by itself in time, and for
        // who may not tell it to.
        drop(
            server.batch(writer.free(server)?, "VACUUM ANALYZE body, pack, object, original, record, document, words"),
        );
    }
    Ok(dropped)
}

fn drop_all(server: &Server, session: &mut Session, cleanup: &Cleanup) -> Result<Dropped, ArchiveError> {
    const RECORDS: &str = "WITH gone AS (DELETE FROM record WHERE kind = $1 AND time < $2 RETURNING content)
        SELECT count(*) AS n, coalesce(sum(length(content)), 0)::bigint AS bytes FROM gone";
    const EXPIRED: &str = "WITH gone AS (DELETE FROM record WHERE expires < $1 RETURNING content)
        SELECT count(*) AS n, coalesce(sum(length(content)), 0)::bigint AS bytes FROM gone";
    const ORIGINALS: &str = "WITH gone AS (DELETE FROM original USING operation
            WHERE operation.part = original.part AND operation.id = ANY($1) RETURNING original.part)
        SELECT count(*) AS n, count(DISTINCT part) AS bytes FROM gone";
    let mut dropped = Dropped::default();
    let before = to_nanoseconds(cleanup.results_before);
    let (results, bytes) = counted(server, session, RECORDS, &[&Kind::Result.name(), &before])?;
    dropped.results = results;
    dropped.bytes += bytes;
    let (expired, bytes) = counted(server, session, EXPIRED, &[&to_nanoseconds(cleanup.now)])?;
    dropped.expired = expired;
    dropped.bytes += bytes;
    if let Some(before) = cleanup.originals_before {
        let rows = server.rows(session, "SELECT id, time FROM operation WHERE part IS NOT NULL", &[]);
        let mut old: Vec<String> = Vec::new();
        for row in rows.fault(&server.place)? {
            let id_and_time = (|| {
                let time: &str = value(&row, "time")?;
                let time: jiff::Timestamp = time.parse().map_err(|error: jiff::Error| error.to_string())?;
                Ok::<(String, jiff::Timestamp), Damage>((value(&row, "id")?, time))
            })();
            let (id, time) = id_and_time.map_err(|detail| damaged(server, detail))?;
            if time < before {
                old.push(id);
            }
        }
        (dropped.originals, dropped.operations) = counted(server, session, ORIGINALS, &[&old])?;
    }
    drop_lines(server, session, &mut dropped)?;
    Ok(dropped)
}

/// Drops the lines that neither an original nor an object refers to.
fn drop_lines(server: &Server, session: &mut Session, dropped: &mut Dropped) -> Result<(), ArchiveError> {
    const WITHOUT_ORIGINAL: &str = "SELECT id, codec, CASE codec WHEN 2 THEN content ELSE '' END AS place,
            length(content)::bigint AS n
        FROM body WHERE NOT EXISTS (SELECT 1 FROM original WHERE original.body = body.id)";
    let used = sessions::used(server, session)?;
    let rows = server.rows(session, WITHOUT_ORIGINAL, &[]).fault(&server.place)?;
    let mut unused: Vec<i64> = Vec::new();
    let mut in_packs: HashMap<u64, HashSet<u64>> = HashMap::new();
    for row in &rows {
        let line = (|| {
            let codec: i16 = value(row, "codec")?;
            Ok::<_, Damage>((value::<i64>(row, "id")?, codec, value::<&[u8]>(row, "place")?, length(row, "n")?))
        })();
        let (id, codec, place, bytes) = line.map_err(|detail| damaged(server, detail))?;
        if used.contains(&id.cast_unsigned()) {
            continue;
        }
        unused.push(id);
        if i64::from(codec) == PACKED {
            let pack = pack_at(place).ok_or_else(|| damaged(server, format!("the place of line {id}")))?;
            in_packs.entry(pack).or_default().insert(id.cast_unsigned());
        } else {
            dropped.bytes += bytes;
        }
    }
    server.execute(session, "DELETE FROM body WHERE id = ANY($1)", &[&unused]).fault(&server.place)?;
    dropped.lines = unused.len() as u64;
    dropped.bytes += sessions::drop_lines(server, session, &in_packs)?;
    Ok(())
}

/// The two numbers that a statement tells of what it dropped.
fn counted(server: &Server, session: &mut Session, sql: &str, values: Values<'_>) -> Result<(u64, u64), ArchiveError> {
    let rows = server.rows(session, sql, values).fault(&server.place)?;
    let counted = rows.first().map(|row| Ok((length(row, "n")?, length(row, "bytes")?)));
    Ok(counted.transpose().map_err(|detail| damaged(server, detail))?.unwrap_or_default())
}
