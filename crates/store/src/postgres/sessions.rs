//! Lines of whole sessions, the packs they lie in, and objects: what stores and reads them.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use tokio_postgres::Row;

use super::batch::damaged;
use super::fault::Fault;
use super::migrate::Lock;
use super::row::{Damage, digest, digest_from, length, to_signed, value};
use super::session::{Server, Session, Values};
use super::writer::Writer;
use crate::body::{PACKED, Packer, Unpacker};
use crate::object::{Label, PackedObject};
use crate::pack::{FULL, OpenPack, Pack, place, to_merge};
use crate::{ArchiveError, LineId, NotAnObjectKind, Object};
use ctxc_transcript::text::Digest;

/// Packs by their numbers; rows for [`pack`].
pub(super) const PACKS: &str = "SELECT id, codec, content, bytes, checksum FROM pack WHERE id = ANY($1)";

/// The object with a kind and a key, as a row for [`packed`].
pub(super) const BY_KEY: &str = "SELECT * FROM object WHERE kind = $1 AND key = $2";

/// The objects of a kind and a group, oldest first; rows for [`label`].
pub(super) const BY_GROUP: &str = "SELECT kind, key, \"group\", head, checksum FROM object
    WHERE kind = $1 AND \"group\" = $2 ORDER BY seq";

/// The objects of a kind, oldest first; rows for [`label`].
pub(super) const BY_KIND: &str = "SELECT kind, key, \"group\", head, checksum FROM object WHERE kind = $1 ORDER BY seq";

/// Drops an object.
pub(super) const DROP: &str = "DELETE FROM object WHERE kind = $1 AND key = $2";

const ALL: &str = "SELECT * FROM object";

const INSERT: &str = "INSERT INTO object (kind, key, \"group\", head, checksum, codec, bytes, content)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

const INSERT_PACK: &str = "INSERT INTO pack (id, bytes, codec, checksum, content) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (id) DO UPDATE SET bytes = EXCLUDED.bytes, codec = EXCLUDED.codec, checksum = EXCLUDED.checksum,
        content = EXCLUDED.content";

const KNOWN: &str = "SELECT digest, id, codec FROM body WHERE digest = ANY($1)";

const NEW_IDS: &str = "SELECT nextval(pg_get_serial_sequence('body', 'id')) AS id FROM generate_series(1, $1::bigint)";

/// Stores lines in a pack that are not there, and puts them on the list of what is to be indexed. They go in by their
/// digests, as those of originals do.
const INSERT_LINES: &str = "WITH
    new AS (INSERT INTO body (id, digest, bytes, codec, content) OVERRIDING SYSTEM VALUE
        SELECT id, digest, bytes, 2, $4 FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) AS put (id, digest, bytes)
        ORDER BY digest ON CONFLICT (digest) DO NOTHING RETURNING id, bytes),
    listed AS (INSERT INTO unindexed (body, bytes) SELECT id, bytes FROM new ORDER BY id)
    SELECT id FROM new";

const MOVE_LINES: &str = "UPDATE body SET codec = 2, content = $2 WHERE id = ANY($1)";

const MISSING: &str = "SELECT wanted.id FROM unnest($1::bigint[]) AS wanted (id)
    WHERE NOT EXISTS (SELECT 1 FROM body WHERE body.id = wanted.id) LIMIT 1";

/// The packs that are less than half full, oldest first.
const SMALL: &str = "SELECT id, bytes FROM pack WHERE bytes < $1 ORDER BY id";

/// The pack of a row; `None` where it is not what was stored.
pub(super) fn pack(row: &Row, unpacker: &mut Unpacker) -> Result<Option<Pack>, Damage> {
    let codec: i16 = value(row, "codec")?;
    let plain =
        unpacker.unpack_checked(codec.into(), value(row, "content")?, length(row, "bytes")?, value(row, "checksum")?);
    Ok(plain.and_then(Pack::read))
}

pub(super) fn label(row: &Row) -> Result<Label, Damage> {
    Ok(Label {
        kind: value::<&str>(row, "kind")?.parse().map_err(|error: NotAnObjectKind| error.to_string())?,
        key: digest(row, "key")?,
        group: value::<Option<&[u8]>>(row, "group")?.map(digest_from).transpose()?,
        head: value(row, "head")?,
        checksum: value(row, "checksum")?,
    })
}

pub(super) fn packed(row: &Row) -> Result<PackedObject, Damage> {
    let codec: i16 = value(row, "codec")?;
    Ok(PackedObject {
        label: label(row)?,
        codec: codec.into(),
        bytes: length(row, "bytes")?,
        content: value(row, "content")?,
    })
}

/// What the rows hold that a statement gives.
pub(super) fn all<T>(
    server: &Server,
    session: &mut Session,
    sql: &str,
    values: Values<'_>,
    row_value: impl FnMut(&Row) -> Result<T, Damage>,
) -> Result<Vec<T>, ArchiveError> {
    let rows = server.rows(session, sql, values).fault(&server.place)?;
    rows.iter().map(row_value).collect::<Result<_, _>>().map_err(|detail| damaged(server, detail))
}

/// The pack that lines go into, which nobody else sees, and its number.
pub(super) struct Packing {
    id: u64,
    open: OpenPack,
    packer: Packer,
}

impl Packing {
    pub(super) fn begin(server: &Server, session: &mut Session) -> Result<Self, ArchiveError> {
        Self::with(Packer::for_packs(), server, session)
    }

    fn with(packer: std::io::Result<Packer>, server: &Server, session: &mut Session) -> Result<Self, ArchiveError> {
        let packer = packer.map_err(|source| ArchiveError::Compress { bytes: 0, source })?;
        Ok(Self { id: next_pack(server, session)?, open: OpenPack::default(), packer })
    }

    /// Stores lines, which together are no longer than half a pack unless there is but one; their numbers.
    pub(super) fn put(
        &mut self,
        server: &Server,
        session: &mut Session,
        lines: &[(Digest, &[u8])],
    ) -> Result<Vec<LineId>, ArchiveError> {
        let n_bytes = lines.iter().map(|(_, line)| line.len()).sum();
        if !self.open.has_room_for(n_bytes) {
            self.close(server, session)?;
            self.id = next_pack(server, session)?;
        }
        let digests: Vec<&[u8]> = lines.iter().map(|(digest, _)| digest.as_bytes().as_slice()).collect();
        let mut ids: HashMap<Digest, LineId> = HashMap::new();
        // Another deposit may store some of them between the question and the answer; then they are asked for again.
        while lines.iter().any(|(digest, _)| !ids.contains_key(digest)) {
            let known = all(server, session, KNOWN, &[&digests], |row| {
                let codec: i16 = value(row, "codec")?;
                Ok((digest(row, "digest")?, length(row, "id")?, i64::from(codec)))
            })?;
            let alone: HashMap<Digest, u64> =
                known.iter().filter(|(_, _, codec)| *codec != PACKED).map(|(digest, id, _)| (*digest, *id)).collect();
            ids.extend(known.into_iter().map(|(digest, id, _)| (digest, LineId(id))));
            let moved = self.move_lines(server, session, lines, &alone)?;
            let new = self.insert(server, session, lines, &ids)?;
            // In their order, for lines that lie together are read together.
            let mut seen = HashSet::new();
            for (digest, line) in lines {
                if let Some(id) = new.get(digest).or_else(|| moved.get(digest)).filter(|_| seen.insert(*digest)) {
                    self.open.add(LineId(*id), line);
                }
            }
            ids.extend(new.into_iter().map(|(digest, id)| (digest, LineId(id))));
        }
        Ok(lines.iter().filter_map(|(digest, _)| ids.get(digest).copied()).collect())
    }

    /// Moves lines here that lie alone.
    fn move_lines(
        &self,
        server: &Server,
        session: &mut Session,
        lines: &[(Digest, &[u8])],
        alone: &HashMap<Digest, u64>,
    ) -> Result<HashMap<Digest, u64>, ArchiveError> {
        let moved: HashMap<Digest, u64> =
            lines.iter().filter_map(|(digest, _)| Some((*digest, *alone.get(digest)?))).collect();
        if !moved.is_empty() {
            let ids: Vec<i64> = moved.values().map(|id| to_signed(*id)).collect();
            server.execute(session, MOVE_LINES, &[&ids, &place(self.id)]).fault(&server.place)?;
        }
        Ok(moved)
    }

    /// Stores the rows of those of `lines` that are not `known`; which of them they were.
    fn insert(
        &self,
        server: &Server,
        session: &mut Session,
        lines: &[(Digest, &[u8])],
        known: &HashMap<Digest, LineId>,
    ) -> Result<HashMap<Digest, u64>, ArchiveError> {
        let mut seen = HashSet::new();
        let new: Vec<_> =
            lines.iter().filter(|(digest, _)| !known.contains_key(digest) && seen.insert(*digest)).collect();
        if new.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: Vec<i64> = all(server, session, NEW_IDS, &[&to_signed(new.len() as u64)], |row| value(row, "id"))?;
        let digests: Vec<&[u8]> = new.iter().map(|(digest, _)| digest.as_bytes().as_slice()).collect();
        let lengths: Vec<i64> = new.iter().map(|(_, line)| to_signed(line.len() as u64)).collect();
        let values: Values<'_> = &[&ids, &digests, &lengths, &place(self.id)];
        let stored: HashSet<i64> =
            all(server, session, INSERT_LINES, values, |row| value(row, "id"))?.into_iter().collect();
        let numbered = new.iter().zip(ids).filter(|(_, id)| stored.contains(id));
        Ok(numbered.map(|((digest, _), id)| (*digest, id.cast_unsigned())).collect())
    }

    /// Stores the pack.
    pub(super) fn close(&mut self, server: &Server, session: &mut Session) -> Result<(), ArchiveError> {
        let open = std::mem::take(&mut self.open);
        if open.is_empty() { Ok(()) } else { insert_pack(server, session, &mut self.packer, self.id, open).map(drop) }
    }
}

fn next_pack(server: &Server, session: &mut Session) -> Result<u64, ArchiveError> {
    let next = all(server, session, "SELECT nextval('pack_id') AS id", &[], |row| length(row, "id"))?.pop();
    next.ok_or_else(|| damaged(server, "no number for a pack".to_owned()))
}

/// Stores a pack, in the place of an older one of its number; the length that it takes up.
pub(super) fn insert_pack(
    server: &Server,
    session: &mut Session,
    packer: &mut Packer,
    id: u64,
    pack: OpenPack,
) -> Result<u64, ArchiveError> {
    let (pack, checksum) = pack.close();
    let bytes = pack.len();
    let (codec, content) = packer.pack(&pack).map_err(|source| ArchiveError::Compress { bytes, source })?;
    let codec = i16::try_from(codec).unwrap_or_default();
    let values: Values<'_> = &[&to_signed(id), &to_signed(bytes as u64), &codec, &checksum, &content];
    server.execute(session, INSERT_PACK, values).fault(&server.place)?;
    Ok(content.len() as u64)
}

/// Stores an object in the place of an older one.
pub(super) fn put_object(
    server: &Server,
    session: &mut Session,
    packer: &mut Packer,
    object: &Object,
) -> Result<(), ArchiveError> {
    let lines: Vec<i64> = object.lines.iter().map(|line| to_signed(line.0)).collect();
    if let Some(id) = all(server, session, MISSING, &[&lines], |row| length(row, "id"))?.pop() {
        return Err(ArchiveError::NoSuchLine { id });
    }
    let bytes = object.content.len();
    let row = PackedObject::pack(object, packer).map_err(|source| ArchiveError::Compress { bytes, source })?;
    let PackedObject { label, codec, bytes, content } = row;
    let (kind, key) = (label.kind.name(), label.key.as_bytes().as_slice());
    server.execute(session, DROP, &[&kind, &key]).fault(&server.place)?;
    let group = label.group.as_ref().map(|group| group.as_bytes().as_slice());
    let codec = i16::try_from(codec).unwrap_or_default();
    let values: Values<'_> = &[&kind, &key, &group, &label.head, &label.checksum, &codec, &to_signed(bytes), &content];
    server.execute(session, INSERT, values).fault(&server.place)?;
    Ok(())
}

/// Merges small packs, each merged one in a transaction of its own that no deposit overlaps; how many there are fewer.
pub(super) fn merge(
    server: &Server,
    writer: &mut Writer,
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<u64, ArchiveError> {
    let lock = format!("pg_advisory_xact_lock({})", Lock::Content.key(&server.url.schema));
    let mut n_fewer = 0;
    loop {
        match writer.alone(server, &lock, "COMMIT", |session| merge_once(server, session))? {
            0 => return Ok(n_fewer),
            n_merged => n_fewer += n_merged - 1,
        }
        if go_on().is_break() {
            return Ok(n_fewer);
        }
    }
}

fn merge_once(server: &Server, session: &mut Session) -> Result<u64, ArchiveError> {
    let small: Vec<(u64, usize)> = all(server, session, SMALL, &[&to_signed(FULL as u64 / 2)], |row| {
        Ok((length(row, "id")?, usize::try_from(length(row, "bytes")?).unwrap_or(usize::MAX)))
    })?;
    let Some(group) = to_merge(&small) else { return Ok(0) };
    let mut packing = Packing::with(Packer::for_merged_packs(), server, session)?;
    let mut unpacker = Unpacker::default();
    let mut lines: Vec<i64> = Vec::new();
    for (id, _) in group {
        let pack = read_pack(server, session, &mut unpacker, *id)?;
        for (line, bytes) in pack.lines() {
            packing.open.add(line, bytes);
            lines.push(to_signed(line.0));
        }
    }
    server.execute(session, MOVE_LINES, &[&lines, &place(packing.id)]).fault(&server.place)?;
    packing.close(server, session)?;
    let gone: Vec<i64> = group.iter().map(|(id, _)| to_signed(*id)).collect();
    server.execute(session, "DELETE FROM pack WHERE id = ANY($1)", &[&gone]).fault(&server.place)?;
    Ok(group.len() as u64)
}

/// The pack of a number.
pub(super) fn read_pack(
    server: &Server,
    session: &mut Session,
    unpacker: &mut Unpacker,
    id: u64,
) -> Result<Arc<Pack>, ArchiveError> {
    let found = all(server, session, PACKS, &[&[to_signed(id)].as_slice()], |row| pack(row, unpacker))?;
    let pack = found.into_iter().flatten().next();
    pack.map(Arc::new).ok_or_else(|| damaged(server, format!("pack {id} is not what was stored")))
}

/// Writes the packs again of which lines go, without them; by how much they are smaller.
pub(super) fn drop_lines(
    server: &Server,
    session: &mut Session,
    gone: &HashMap<u64, HashSet<u64>>,
) -> Result<u64, ArchiveError> {
    let mut packer = Packer::for_merged_packs().map_err(|source| ArchiveError::Compress { bytes: 0, source })?;
    let mut unpacker = Unpacker::default();
    let (mut before, mut after) = (0, 0);
    for (id, gone) in gone {
        let bytes = "SELECT length(content)::bigint AS n FROM pack WHERE id = $1";
        before += all(server, session, bytes, &[&to_signed(*id)], |row| length(row, "n"))?.pop().unwrap_or(0);
        let pack = read_pack(server, session, &mut unpacker, *id)?;
        let mut left = OpenPack::default();
        for (line, bytes) in pack.lines().filter(|(line, _)| !gone.contains(&line.0)) {
            left.add(line, bytes);
        }
        if left.is_empty() {
            server.execute(session, "DELETE FROM pack WHERE id = $1", &[&to_signed(*id)]).fault(&server.place)?;
        } else {
            after += insert_pack(server, session, &mut packer, *id, left)?;
        }
    }
    Ok(before.saturating_sub(after))
}

/// The lines that objects refer to. While one of them cannot be read, nothing may go.
pub(super) fn used(server: &Server, session: &mut Session) -> Result<HashSet<u64>, ArchiveError> {
    let mut unpacker = Unpacker::default();
    let objects = all(server, session, ALL, &[], |row| {
        let packed = packed(row)?;
        let key = packed.label.key;
        packed.unpack(&mut unpacker).ok_or_else(|| format!("the object {key} is not what was stored"))
    })?;
    Ok(objects.into_iter().flat_map(|object| object.lines).map(|line| line.0).collect())
}
