//! Packs that are written again: small ones merged, and those of which lines go.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, params};

use super::lines::{LAST_PACK, Lines, MOVE_BODY};
use super::row::{damaged, length, to_signed, unstorable};
use crate::LineId;
use crate::body::{PACKED, Packer};
use crate::pack::{FULL, OpenPack, place, to_merge};

/// The packs that are less than half full, oldest first.
const SMALL: &str = "SELECT id, bytes FROM pack WHERE bytes < ? ORDER BY id";

/// Stores a pack, in the place of an older one of its number; the length that it takes up.
pub(super) fn insert(connection: &Connection, packer: &mut Packer, id: u64, pack: OpenPack) -> rusqlite::Result<u64> {
    let (pack, checksum) = pack.close();
    let (codec, content) = packer.pack(&pack).map_err(unstorable)?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO pack (id, bytes, codec, checksum, content) VALUES (?, ?, ?, ?, ?)")?
        .execute(params![to_signed(id), to_signed(pack.len() as u64), codec, checksum, content])?;
    Ok(content.len() as u64)
}

/// A number for a pack that no other has or had. It counts as taken when the pack is stored.
pub(super) fn next(connection: &Connection) -> rusqlite::Result<u64> {
    Ok(1 + connection.prepare_cached(LAST_PACK)?.query_row([], |row| length(row, "last"))?)
}

/// The newest pack and its number, where it is so small that it costs little to write it again; none where it cannot be read.
pub(super) fn newest_small(connection: &Connection) -> rusqlite::Result<Option<(u64, OpenPack)>> {
    let newest = connection
        .prepare_cached("SELECT id, bytes FROM pack ORDER BY id DESC LIMIT 1")?
        .query_row([], |row| Ok((length(row, "id")?, length(row, "bytes")?)));
    let Some((id, _)) = newest.optional()?.filter(|(_, bytes)| *bytes < FULL as u64 / 8) else { return Ok(None) };
    let mut open = OpenPack::default();
    let Some(pack) = Lines::default().pack(connection, id)? else { return Ok(None) };
    pack.lines().for_each(|(line, bytes)| open.add(line, bytes));
    Ok(Some((id, open)))
}

/// Merges small packs, each merged one in a transaction of its own, until `go_on` ends it; how many packs there are fewer.
pub(super) fn merge(connection: &Connection, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> rusqlite::Result<u64> {
    let mut packer = Packer::for_merged_packs().map_err(unstorable)?;
    let mut n_fewer = 0;
    loop {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let merged = merge_once(connection, &mut packer);
        let end = if matches!(merged, Ok(1..)) { "COMMIT" } else { "ROLLBACK" };
        connection.execute_batch(end)?;
        match merged? {
            0 => return Ok(n_fewer),
            n_merged => n_fewer += n_merged - 1,
        }
        if go_on().is_break() {
            return Ok(n_fewer);
        }
    }
}

/// Merges the packs that are to be merged first; how many they were.
fn merge_once(connection: &Connection, packer: &mut Packer) -> rusqlite::Result<u64> {
    let small: Vec<(u64, usize)> = connection
        .prepare_cached(SMALL)?
        .query_map([to_signed(FULL as u64 / 2)], |row| {
            Ok((length(row, "id")?, usize::try_from(length(row, "bytes")?).unwrap_or(usize::MAX)))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let Some(group) = to_merge(&small) else { return Ok(0) };
    let mut lines = Lines::default();
    let mut merged = OpenPack::default();
    let new = next(connection)?;
    let mut move_body = connection.prepare_cached(MOVE_BODY)?;
    for (id, _) in group {
        let pack = lines.pack(connection, *id)?.ok_or_else(|| damaged_pack(*id))?;
        for (line, bytes) in pack.lines() {
            merged.add(line, bytes);
            move_body.execute(params![to_signed(line.0), PACKED, place(new)])?;
        }
        delete(connection, *id)?;
    }
    insert(connection, packer, new, merged)?;
    Ok(group.len() as u64)
}

/// Writes the packs again of which lines go, without them; by how much they are smaller.
pub(super) fn drop_lines(connection: &Connection, gone: &BTreeMap<u64, HashSet<u64>>) -> rusqlite::Result<u64> {
    let mut packer = Packer::for_merged_packs().map_err(unstorable)?;
    let mut lines = Lines::default();
    let (mut before, mut after) = (0, 0);
    for (id, gone) in gone {
        before += connection
            .prepare_cached("SELECT length(content) AS n FROM pack WHERE id = ?")?
            .query_row([to_signed(*id)], |row| length(row, "n"))?;
        let pack = lines.pack(connection, *id)?.ok_or_else(|| damaged_pack(*id))?;
        let mut left = OpenPack::default();
        for (LineId(line), bytes) in pack.lines().filter(|(line, _)| !gone.contains(&line.0)) {
            left.add(LineId(line), bytes);
        }
        if left.is_empty() {
            delete(connection, *id)?;
        } else {
            // Under its number, so that the lines which stay need not move.
            after += insert(connection, &mut packer, *id, left)?;
        }
    }
    Ok(before.saturating_sub(after))
}

fn delete(connection: &Connection, id: u64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM pack WHERE id = ?")?.execute([to_signed(id)])?;
    Ok(())
}

pub(super) fn damaged_pack(id: u64) -> rusqlite::Error {
    damaged(Type::Blob, std::io::Error::other(format!("pack {id} is not what was stored")))
}
