//! What is put, gathered until it is worth a message to the server.

use std::collections::{HashMap, HashSet};

use super::fault::Fault;
use super::row::{Damage, digest, text_value, to_nanoseconds, to_signed};
use super::session::{Server, Session};
use super::{originals, records};
use crate::body::Packer;
use crate::packed::checksum;
use crate::{ArchiveError, Kind, Original, Record};
use ctxc_transcript::text::Digest;

/// How many rows and how many bytes make a message. A message of one line costs a way to the server and back.
const MOST_ROWS: usize = 1000;
const MOST_BYTES: usize = 4 << 20;

/// Rows that the server has not got yet, in the order in which they were put.
#[derive(Default)]
pub(super) struct Batch {
    lines: Vec<Vec<u8>>,
    digests: Vec<Digest>,
    uuids: Vec<Option<String>>,
    replaced_by: Vec<Option<Vec<u8>>>,
    records: Vec<Record>,
    n_bytes: usize,
}

impl Batch {
    pub(super) fn add_original(&mut self, original: &Original<'_>) -> Digest {
        let digest = Digest::of(original.line);
        self.lines.push(original.line.to_vec());
        self.digests.push(digest);
        self.uuids.push(original.uuid.map(text_value));
        self.replaced_by.push(original.replaced_by.map(|digest| digest.as_bytes().to_vec()));
        self.n_bytes += original.line.len();
        digest
    }

    pub(super) fn add_record(&mut self, record: &Record) {
        self.n_bytes += record.document.text.len();
        self.records.push(record.clone());
    }

    /// Whether it is large enough to be sent.
    pub(super) fn is_full(&self) -> bool {
        self.lines.len() + self.records.len() >= MOST_ROWS || self.n_bytes >= MOST_BYTES
    }

    pub(super) const fn has_originals(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Sends what was gathered; the originals as those of `part`.
    pub(super) fn send(
        self,
        server: &Server,
        session: &mut Session,
        packer: &mut Packer,
        part: Option<i64>,
    ) -> Result<(), ArchiveError> {
        if let Some(part) = part.filter(|_| self.has_originals()) {
            self.send_originals(server, session, packer, part)?;
        }
        if self.records.is_empty() { Ok(()) } else { self.send_records(server, session, packer) }
    }

    fn send_originals(
        &self,
        server: &Server,
        session: &mut Session,
        packer: &mut Packer,
        part: i64,
    ) -> Result<(), ArchiveError> {
        let wanted: Vec<&[u8]> = self.digests.iter().map(|digest| digest.as_bytes().as_slice()).collect();
        // Most lines of a second rewrite are there already; only what is missing is packed and sent.
        let known = server.rows(session, originals::KNOWN, &[&wanted]).fault(&server.place)?;
        let known: Result<Vec<Digest>, Damage> = known.iter().map(|row| digest(row, "digest")).collect();
        let mut seen: HashSet<Digest> = known.map_err(|detail| damaged(server, detail))?.into_iter().collect();
        let (mut digests, mut bytes, mut codecs, mut contents, mut places) =
            <(Vec<&[u8]>, Vec<i64>, Vec<i16>, Vec<Vec<u8>>, Vec<i32>)>::default();
        for ((digest, line), place) in self.digests.iter().zip(&self.lines).zip(0..) {
            if seen.insert(*digest) {
                let (codec, content) = pack(packer, line)?;
                digests.push(digest.as_bytes());
                bytes.push(to_signed(line.len() as u64));
                codecs.push(codec);
                contents.push(content);
                places.push(place);
            }
        }
        if !digests.is_empty() {
            let values: super::session::Values<'_> = &[&digests, &bytes, &codecs, &contents, &places];
            server.execute(session, originals::INSERT_BODIES, values).fault(&server.place)?;
        }
        let values: super::session::Values<'_> = &[&wanted, &self.uuids, &self.replaced_by, &part];
        let n_stored = server.execute(session, originals::INSERT, values).fault(&server.place)?;
        if n_stored == self.digests.len() as u64 {
            Ok(())
        } else {
            Err(damaged(server, format!("{n_stored} of {} lines were stored", self.digests.len())))
        }
    }

    fn send_records(self, server: &Server, session: &mut Session, packer: &mut Packer) -> Result<(), ArchiveError> {
        // Of several with one key and kind the last stays.
        let last: HashMap<(Kind, Digest), usize> =
            self.records.iter().enumerate().map(|(idx, it)| ((it.document.kind, it.key), idx)).collect();
        let mut columns = Columns::default();
        for (idx, record) in self.records.into_iter().enumerate() {
            if last.get(&(record.document.kind, record.key)) == Some(&idx) {
                columns.add(record, packer)?;
            }
        }
        columns.send(server, session)
    }
}

/// Records, column by column.
#[derive(Default)]
struct Columns {
    kinds: Vec<&'static str>,
    keys: Vec<Vec<u8>>,
    sessions: Vec<Option<String>>,
    speakers: Vec<Option<String>>,
    times: Vec<Option<i64>>,
    codecs: Vec<i16>,
    bytes: Vec<i64>,
    contents: Vec<Vec<u8>>,
    checksums: Vec<Vec<u8>>,
    metas: Vec<Option<String>>,
    expires: Vec<Option<i64>>,
}

impl Columns {
    fn add(&mut self, record: Record, packer: &mut Packer) -> Result<(), ArchiveError> {
        let Record { key, document, meta, expires } = record;
        let (codec, content) = pack(packer, document.text.as_bytes())?;
        self.kinds.push(document.kind.name());
        self.keys.push(key.as_bytes().to_vec());
        self.sessions.push(document.session.as_deref().map(text_value));
        self.speakers.push(document.speaker.as_deref().map(text_value));
        self.times.push(document.time.map(to_nanoseconds));
        self.codecs.push(codec);
        self.bytes.push(to_signed(document.text.len() as u64));
        self.contents.push(content);
        self.checksums.push(checksum(&document.text));
        self.metas.push(meta.as_deref().map(text_value));
        self.expires.push(expires.map(to_nanoseconds));
        Ok(())
    }

    fn send(self, server: &Server, session: &mut Session) -> Result<(), ArchiveError> {
        let Self { kinds, keys, sessions, speakers, times, codecs, bytes, contents, checksums, metas, expires } = self;
        let values: super::session::Values<'_> =
            &[&kinds, &keys, &sessions, &speakers, &times, &codecs, &bytes, &contents, &checksums, &metas, &expires];
        server.execute(session, records::INSERT, values).fault(&server.place)?;
        Ok(())
    }
}

fn pack(packer: &mut Packer, text: &[u8]) -> Result<(i16, Vec<u8>), ArchiveError> {
    let bytes = text.len();
    let (codec, content) = packer.pack(text).map_err(|source| ArchiveError::Compress { bytes, source })?;
    Ok((i16::try_from(codec).unwrap_or_default(), content.to_vec()))
}

/// The error for what the server holds and nobody stored.
pub(super) fn damaged(server: &Server, detail: Damage) -> ArchiveError {
    ArchiveError::DamagedOnServer { place: server.place.clone(), detail }
}
