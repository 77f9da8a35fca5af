//! What may go from the database, and the space it took.

use rusqlite::{Connection, params};

use super::operations;
use super::row::{length, to_nanoseconds};
use crate::archive::{Cleanup, Dropped, Kind, Sweep};

/// The length that the records to which a condition applies take up.
const RECORD_BYTES: &str = "SELECT coalesce(sum(length(content)), 0) AS n FROM record";

const UNUSED: &str = "NOT EXISTS (SELECT 1 FROM original WHERE original.body = body.id)";

/// Drops what `cleanup` names, in one transaction, or finds out what that would be.
pub(super) fn sweep(connection: &Connection, cleanup: &Cleanup, sweep: Sweep) -> rusqlite::Result<Dropped> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let dropped = drop_all(connection, cleanup);
    let end = if dropped.is_ok() && sweep == Sweep::Drop { "COMMIT" } else { "ROLLBACK" };
    connection.execute_batch(end)?;
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
    let bytes = format!("SELECT coalesce(sum(length(content)), 0) AS n FROM body WHERE {UNUSED}");
    dropped.bytes += connection.query_row(&bytes, [], |row| length(row, "n"))?;
    dropped.lines = connection.execute(&format!("DELETE FROM body WHERE {UNUSED}"), [])? as u64;
    // The number of a body that was the last may be given again.
    connection.execute("UPDATE indexed SET body = min(body, (SELECT coalesce(max(id), 0) FROM body))", [])?;
    Ok(dropped)
}
