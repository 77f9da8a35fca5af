//! What may go from the database, and the space it took.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use rusqlite::types::Type;
use rusqlite::{Connection, params};

use super::lines::LAST_LINE;
use super::row::{damaged, length, to_nanoseconds};
use super::{objects, operations, packs};
use crate::body::{PACKED, Unpacker};
use crate::pack::pack_at;
use crate::{Cleanup, Dropped, Kind, Sweep};

/// The length that the records to which a condition applies take up.
const RECORD_BYTES: &str = "SELECT coalesce(sum(length(content)), 0) AS n FROM record";

/// The bodies that no original refers to, with the length they take up alone.
const WITHOUT_ORIGINAL: &str = "SELECT id, codec, iif(codec = 2, content, x'') AS place, length(content) AS n FROM body
    WHERE NOT EXISTS (SELECT 1 FROM original WHERE original.body = body.id)";

/// Drops what `cleanup` names, in one transaction, or finds out what that would be.
pub(super) fn sweep(connection: &Connection, cleanup: &Cleanup, sweep: Sweep) -> rusqlite::Result<Dropped> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let dropped = drop_all(connection, cleanup);
    let end = if dropped.is_ok() && sweep == Sweep::Drop { "COMMIT" } else { "ROLLBACK" };
    connection.execute_batch(end)?;
    if dropped.is_ok() && sweep == Sweep::Drop {
        packs::merge(connection, &mut || ControlFlow::Continue(()))?;
    }
    // Also what an earlier sweep could not give back.
    let n_free: i64 = connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
    if sweep == Sweep::Drop && n_free > 0 {
        // Both give space back: the one that of the file, the other that of its log.
        connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")?;
    }
    dropped
}

fn drop_all(connection: &Connection, cleanup: &Cleanup) -> rusqlite::Result<Dropped> {
    let mut dropped = Dropped::default();
    let results = (Kind::Result.name(), to_nanoseconds(cleanup.results_before));
    let is_old = "kind = ?1 AND time < ?2";
    dropped.bytes +=
        connection.query_row(&format!("{RECORD_BYTES} WHERE {is_old}"), results, |row| length(row, "n"))?;
    dropped.results = connection.execute(&format!("DELETE FROM record WHERE {is_old}"), results)? as u64;
    let now = [to_nanoseconds(cleanup.now)];
    dropped.bytes +=
        connection.query_row(&format!("{RECORD_BYTES} WHERE expires < ?1"), now, |row| length(row, "n"))?;
    dropped.expired = connection.execute("DELETE FROM record WHERE expires < ?1", now)? as u64;
    if let Some(before) = cleanup.originals_before {
        let mut find = connection.prepare("SELECT * FROM operation WHERE first_original IS NOT NULL")?;
        let rows = find.query_map([], |row| {
            Ok((operations::time(row)?, row.get::<_, i64>("first_original")?, row.get::<_, i64>("last_original")?))
        })?;
        for row in rows {
            let (time, first, last) = row?;
            if time < before {
                let n_originals =
                    connection.execute("DELETE FROM original WHERE seq BETWEEN ? AND ?", params![first, last])? as u64;
                dropped.originals += n_originals;
                dropped.operations += u64::from(n_originals > 0);
            }
        }
    }
    drop_lines(connection, &mut dropped)?;
    Ok(dropped)
}

/// Drops the lines that neither an original nor an object refers to.
fn drop_lines(connection: &Connection, dropped: &mut Dropped) -> rusqlite::Result<()> {
    let used = used_by_objects(connection)?;
    let mut unused: Vec<u64> = Vec::new();
    let mut in_packs: BTreeMap<u64, HashSet<u64>> = BTreeMap::new();
    let mut find = connection.prepare(WITHOUT_ORIGINAL)?;
    let mut rows = find.query([])?;
    while let Some(row) = rows.next()? {
        let id = length(row, "id")?;
        if used.contains(&id) {
            continue;
        }
        unused.push(id);
        if row.get::<_, i64>("codec")? == PACKED {
            let place = row.get_ref("place")?.as_blob()?;
            let pack = pack_at(place).ok_or_else(|| not_stored(&format!("the place of line {id}")))?;
            in_packs.entry(pack).or_default().insert(id);
        } else {
            dropped.bytes += length(row, "n")?;
        }
    }
    // A number that was given is never given again.
    connection.execute(&format!("UPDATE line_counter SET last = ({LAST_LINE})"), [])?;
    let mut delete = connection.prepare("DELETE FROM body WHERE id = ?")?;
    for id in &unused {
        delete.execute([id.cast_signed()])?;
    }
    dropped.lines = unused.len() as u64;
    dropped.bytes += packs::drop_lines(connection, &in_packs)?;
    Ok(())
}

/// The lines that objects refer to. While one of them cannot be read, nothing may go.
fn used_by_objects(connection: &Connection) -> rusqlite::Result<HashSet<u64>> {
    let mut used = HashSet::new();
    let mut unpacker = Unpacker::default();
    let mut find = connection.prepare(objects::ALL)?;
    let mut rows = find.query([])?;
    while let Some(row) = rows.next()? {
        let packed = objects::packed(row)?;
        let key = packed.label.key;
        let object = packed.unpack(&mut unpacker).ok_or_else(|| not_stored(&format!("the object {key}")))?;
        used.extend(object.lines.iter().map(|line| line.0));
    }
    Ok(used)
}

fn not_stored(what: &str) -> rusqlite::Error {
    damaged(Type::Blob, std::io::Error::other(format!("{what} is not what was stored")))
}
