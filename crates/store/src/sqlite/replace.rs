//! Lines that get other bytes, and a database in which nothing stays of what they were.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension, params};

use super::lines::Lines;
use super::packs;
use super::row::{to_signed, unstorable};
use crate::LineId;
use crate::body::{PACKED, Packer};
use crate::pack::{OpenPack, pack_at};
use ctxc_transcript::text::Digest;

/// Puts `line` in the place of the one of this number, but for the pack it may lie in, and drops what was indexed of it.
/// Whether there is one.
pub(super) fn line(connection: &Connection, packer: &mut Packer, id: i64, line: &[u8]) -> rusqlite::Result<bool> {
    // Space that becomes free is overwritten, also that of rows which are deleted here.
    connection.pragma_update(None, "secure_delete", true)?;
    let find = "SELECT codec FROM body WHERE id = ?";
    let Some(codec) = connection.prepare_cached(find)?.query_row([id], |row| row.get::<_, i64>(0)).optional()? else {
        return Ok(false);
    };
    let digest = Digest::of(line);
    let bytes = to_signed(line.len() as u64);
    if codec == PACKED {
        let update = "UPDATE body SET digest = ?2, bytes = ?3 WHERE id = ?1";
        connection.prepare_cached(update)?.execute(params![id, digest.as_bytes(), bytes])?;
    } else {
        let (codec, content) = packer.pack(line).map_err(unstorable)?;
        let update = "UPDATE body SET digest = ?2, bytes = ?3, codec = ?4, content = ?5 WHERE id = ?1";
        connection.prepare_cached(update)?.execute(params![id, digest.as_bytes(), bytes, codec, content])?;
    }
    connection.prepare_cached("DELETE FROM document WHERE body = ?")?.execute([id])?;
    // From there on what has no document is read again.
    connection.prepare_cached("UPDATE indexed SET body = min(body, ? - 1)")?.execute([id])?;
    Ok(true)
}

/// Writes the packs again in which some of `lines` lie, under their numbers, so that no line moves.
pub(super) fn packs(connection: &Connection, lines: &[(LineId, Vec<u8>)]) -> rusqlite::Result<()> {
    let mut in_packs: BTreeMap<u64, HashMap<LineId, &[u8]>> = BTreeMap::new();
    for (id, line) in lines {
        let find = "SELECT iif(codec = 2, content, x'') FROM body WHERE id = ?";
        let place: Vec<u8> = connection.prepare_cached(find)?.query_row([to_signed(id.0)], |row| row.get(0))?;
        if let Some(pack) = pack_at(&place) {
            in_packs.entry(pack).or_default().insert(*id, line);
        }
    }
    let mut packer = Packer::for_merged_packs().map_err(unstorable)?;
    let mut read = Lines::default();
    for (id, new) in in_packs {
        let pack = read.pack(connection, id)?.ok_or_else(|| packs::damaged_pack(id))?;
        let mut open = OpenPack::default();
        for (line, bytes) in pack.lines() {
            open.add(line, new.get(&line).copied().unwrap_or(bytes));
        }
        packs::insert(connection, &mut packer, id, open)?;
    }
    Ok(())
}

/// Writes the database anew; whether its log could be emptied, which it cannot while somebody reads.
///
/// The segments of a full-text index keep the words of rows that were deleted until they are merged, and the list of words
/// is never shortened otherwise.
pub(super) fn erase(connection: &Connection) -> rusqlite::Result<bool> {
    connection.execute_batch(
        "PRAGMA secure_delete = ON;
        INSERT INTO words (words) VALUES ('optimize');
        CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab ('main', 'words', 'row');
        DELETE FROM word WHERE word NOT IN (SELECT term FROM temp.vocabulary);
        DROP TABLE temp.vocabulary;
        VACUUM;",
    )?;
    let is_busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(is_busy == 0)
}
