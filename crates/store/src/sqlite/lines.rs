//! Bodies, which are lines, and the packs that most of them lie in: the queries, what their rows hold, and how a line is
//! read.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row};

use super::row::{length, to_signed};
use crate::LineId;
use crate::body::{PACKED, Unpacker};
use crate::pack::{HeldPacks, Pack, PackSizes, pack_at};
use ctxc_transcript::text::Digest;

/// The number and the codec of the body with a digest.
pub(super) const BODY_ID: &str =
    "SELECT id, codec FROM body WHERE substr(digest, 1, 8) = substr(?1, 1, 8) AND digest = ?1";

/// The body with a digest, as a row for [`body`].
pub(super) const BODY: &str = "SELECT id, digest, codec, content, bytes FROM body
    WHERE substr(digest, 1, 8) = substr(?1, 1, 8) AND digest = ?1";

/// The body of a number, as a row for [`body`].
pub(super) const BODY_BY_ID: &str = "SELECT id, digest, codec, content, bytes FROM body WHERE id = ?1";

pub(super) const INSERT_BODY: &str = "INSERT INTO body (id, digest, bytes, codec, content) VALUES (?, ?, ?, ?, ?)";

/// Moves a body to another place.
pub(super) const MOVE_BODY: &str = "UPDATE body SET codec = ?2, content = ?3 WHERE id = ?1";

/// The largest number that a line has or had.
pub(super) const LAST_LINE: &str =
    "SELECT max((SELECT last FROM line_counter), (SELECT coalesce(max(id), 0) FROM body)) AS last";

/// The largest number that a pack has or had.
pub(super) const LAST_PACK: &str = "SELECT coalesce(max(seq), 0) AS last FROM sqlite_sequence WHERE name = 'pack'";

const PACK: &str = "SELECT codec, content, bytes, checksum FROM pack WHERE id = ?";

/// A line as its row holds it.
pub(super) struct Body {
    pub(super) id: i64,
    pub(super) digest: Digest,
    pub(super) bytes: u64,
    codec: i64,
    content: Vec<u8>,
}

pub(super) fn body(row: &Row<'_>) -> rusqlite::Result<Body> {
    Ok(Body {
        id: row.get("id")?,
        digest: Digest::from_bytes(row.get("digest")?),
        bytes: length(row, "bytes")?,
        codec: row.get("codec")?,
        content: row.get("content")?,
    })
}

/// Reads lines, one after the other.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) unpacker: Unpacker,
    packs: HeldPacks,
}

impl Lines {
    /// The line of `body`; `None` where it is not what was stored.
    pub(super) fn read(&mut self, connection: &Connection, body: Body) -> rusqlite::Result<Option<Line>> {
        let Body { id, digest, bytes, codec, content } = body;
        if codec != PACKED {
            return Ok(self.unpacker.unpack(codec, content, bytes, digest).map(Line::Alone));
        }
        let (Some(place), id) = (pack_at(&content), LineId(id.cast_unsigned())) else { return Ok(None) };
        let Some(mut pack) = self.pack(connection, place)? else { return Ok(None) };
        if pack.line(id).is_none() {
            // It may have been added after the pack was read.
            self.packs.forget(place);
            let Some(again) = self.pack(connection, place)? else { return Ok(None) };
            pack = again;
        }
        let line = Line::InPack(pack, id);
        let is_sound = line.bytes().is_some_and(|line| line.len() as u64 == bytes && Digest::of(line) == digest);
        Ok(is_sound.then_some(line))
    }

    /// The pack of a number; `None` where it is not what was stored.
    pub(super) fn pack(&mut self, connection: &Connection, id: u64) -> rusqlite::Result<Option<Arc<Pack>>> {
        if let Some(pack) = self.packs.get(id) {
            return Ok(Some(pack));
        }
        let row = connection.prepare_cached(PACK)?.query_row([to_signed(id)], |row| {
            let (codec, checksum): (i64, Vec<u8>) = (row.get("codec")?, row.get("checksum")?);
            Ok((codec, row.get("content")?, length(row, "bytes")?, checksum))
        });
        let Some((codec, content, bytes, checksum)) = row.optional()? else { return Ok(None) };
        let unpacked = self.unpacker.unpack_checked(codec, content, bytes, &checksum);
        let pack = unpacked.and_then(Pack::read).map(Arc::new);
        if let Some(pack) = &pack {
            self.packs.hold(id, pack);
        }
        Ok(pack)
    }
}

/// A line that was read.
pub(super) enum Line {
    Alone(Vec<u8>),
    InPack(Arc<Pack>, LineId),
}

impl Line {
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Alone(line) => Some(line),
            Self::InPack(pack, id) => pack.line(*id),
        }
    }

    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Alone(line) => Some(line),
            Self::InPack(pack, id) => pack.line(id).map(<[u8]>::to_vec),
        }
    }
}

/// Calls `each` with every line, its length, and what it takes up.
pub(super) fn each_size(connection: &Connection, each: &mut dyn FnMut(LineId, u64, u64)) -> rusqlite::Result<()> {
    let mut packs = PackSizes::default();
    let mut find = connection.prepare("SELECT id, bytes, length(content) AS n FROM pack")?;
    let mut rows = find.query([])?;
    while let Some(row) = rows.next()? {
        packs.add(length(row, "id")?, length(row, "bytes")?, length(row, "n")?);
    }
    let mut find = connection.prepare(
        "SELECT id, bytes, codec, length(content) AS n, iif(codec = 2, content, x'') AS place FROM body ORDER BY id",
    )?;
    let mut rows = find.query([])?;
    while let Some(row) = rows.next()? {
        let (id, bytes) = (length(row, "id")?, length(row, "bytes")?);
        let stored = if row.get::<_, i64>("codec")? == PACKED {
            // A pack that was merged meanwhile: about what it was.
            packs.share(row.get_ref("place")?.as_blob()?, bytes).unwrap_or(0)
        } else {
            length(row, "n")?
        };
        each(LineId(id), bytes, stored);
    }
    Ok(())
}
