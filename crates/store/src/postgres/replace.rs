//! Lines and operations that get other bytes, and tables in which nothing stays of what they were.

use std::collections::{BTreeMap, HashMap};

use super::fault::Fault;
use super::row::{text_value, to_signed, value};
use super::session::{Server, Session, Values};
use super::sessions::{all, insert_pack, read_pack};
use crate::body::{PACKED, Packer, Unpacker};
use crate::pack::{OpenPack, pack_at};
use crate::{ArchiveError, LineId, Operation, cuts};
use ctxc_transcript::text::Digest;

const PLACE: &str = "SELECT codec, CASE codec WHEN 2 THEN content ELSE '' END AS place FROM body WHERE id = $1";

const PACKED_LINE: &str = "UPDATE body SET digest = $2, bytes = $3 WHERE id = $1";

const LINE_ALONE: &str = "UPDATE body SET digest = $2, bytes = $3, codec = $4, content = $5 WHERE id = $1";

const INDEX_AGAIN: &str =
    "INSERT INTO unindexed (body, bytes) SELECT id, bytes FROM body WHERE id = ANY($1) ORDER BY id";

/// Puts `lines` in the place of those of their numbers; they are indexed again.
pub(super) fn lines(server: &Server, session: &mut Session, lines: &[(LineId, Vec<u8>)]) -> Result<(), ArchiveError> {
    let compress = |bytes| move |source| ArchiveError::Compress { bytes, source };
    let mut packer = Packer::new().map_err(compress(0))?;
    let mut in_packs: BTreeMap<u64, HashMap<LineId, &[u8]>> = BTreeMap::new();
    for (id, line) in lines {
        let found = all(server, session, PLACE, &[&to_signed(id.0)], |row| {
            Ok((value::<i16>(row, "codec")?, pack_at(value(row, "place")?)))
        })?;
        let Some((codec, place)) = found.into_iter().next() else {
            return Err(ArchiveError::NoSuchLine { id: id.0 });
        };
        let (digest, bytes) = (Digest::of(line), to_signed(line.len() as u64));
        let digest = digest.as_bytes().as_slice();
        if i64::from(codec) == PACKED {
            if let Some(pack) = place {
                in_packs.entry(pack).or_default().insert(*id, line);
            }
            server.execute(session, PACKED_LINE, &[&to_signed(id.0), &digest, &bytes]).fault(&server.place)?;
        } else {
            let (codec, content) = packer.pack(line).map_err(compress(line.len()))?;
            let codec = i16::try_from(codec).unwrap_or_default();
            let values: Values<'_> = &[&to_signed(id.0), &digest, &bytes, &codec, &content];
            server.execute(session, LINE_ALONE, values).fault(&server.place)?;
        }
    }
    let mut packer = Packer::for_merged_packs().map_err(compress(0))?;
    let mut unpacker = Unpacker::default();
    for (id, new) in in_packs {
        let pack = read_pack(server, session, &mut unpacker, id)?;
        let mut open = OpenPack::default();
        for (line, bytes) in pack.lines() {
            open.add(line, new.get(&line).copied().unwrap_or(bytes));
        }
        insert_pack(server, session, &mut packer, id, open)?;
    }
    let ids: Vec<i64> = lines.iter().map(|(id, _)| to_signed(id.0)).collect();
    server.execute(session, "DELETE FROM document WHERE body = ANY($1)", &[&ids]).fault(&server.place)?;
    server.execute(session, INDEX_AGAIN, &[&ids]).fault(&server.place)?;
    Ok(())
}

/// Stores other texts of an operation.
pub(super) fn operation(server: &Server, session: &mut Session, operation: &Operation) -> Result<(), ArchiveError> {
    let cuts = cuts::pack(&operation.cuts).map_err(|source| ArchiveError::Compress { bytes: 0, source })?;
    let report = operation.report.as_deref().map(text_value);
    let digests = [operation.source.digest, operation.output.digest];
    let [source, output] = digests.each_ref().map(|digest| digest.as_bytes().as_slice());
    let (id, command) = (text_value(&operation.id), text_value(&operation.command));
    let values: Values<'_> = &[&id, &command, &report, &cuts, &source, &output];
    let update = "UPDATE operation SET command = $2, report = $3, cuts = $4, source_digest = $5, output_digest = $6
        WHERE id = $1";
    server.execute(session, update, values).fault(&server.place)?;
    Ok(())
}

/// Writes the tables anew. Who may not is not stopped by that: the server does so by itself in time.
pub(super) fn erase(server: &Server, session: &mut Session) -> Result<(), ArchiveError> {
    let words = "DELETE FROM word WHERE word NOT IN (SELECT word FROM ts_stat('SELECT terms FROM words'))";
    server.batch(session, words).fault(&server.place)?;
    drop(server.batch(session, "VACUUM FULL body, pack, object, original, operation, record, document, words, word"));
    Ok(())
}
