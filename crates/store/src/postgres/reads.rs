//! What the archive reads from the server: rows, and the lines, packs and records that they hold.

use std::sync::Arc;

use tokio_postgres::Row;

use super::fault::{Fault, is_loss};
use super::originals::PackedBody;
use super::row::{Damage, length, to_signed, value};
use super::session::Values;
use super::store::Postgres;
use super::{originals, sessions};
use crate::body::PACKED;
use crate::pack::{Pack, PackSizes};
use crate::packed::Packed;
use crate::{ArchiveError, LineId, Record, StoredOriginal};
use ctxc_transcript::text::Digest;

impl Postgres {
    /// What each of the rows holds that a statement gives.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        values: Values<'_>,
        row_value: impl Fn(&Row) -> Result<T, Damage>,
    ) -> Result<Vec<T>, ArchiveError> {
        let rows = self.rows(sql, values)?;
        rows.iter().map(row_value).collect::<Result<_, _>>().map_err(|detail| self.damaged(detail))
    }

    /// The rows that a statement gives. A connection that is gone is made anew, once.
    pub(super) fn rows(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, ArchiveError> {
        let place = &self.server.place;
        let mut session = match self.reader.take().filter(|session| !session.is_lost()) {
            Some(session) => session,
            None => self.server.connect()?,
        };
        let mut rows = self.server.rows(&mut session, sql, values);
        if rows.as_ref().is_err_and(is_loss) {
            session = self.server.connect()?;
            rows = self.server.rows(&mut session, sql, values);
        }
        self.reader.set(Some(session));
        rows.fault(place)
    }

    pub(super) fn unpack_line(&self, body: PackedBody) -> Result<Vec<u8>, ArchiveError> {
        let digest = body.digest;
        let pack = match body.pack() {
            None => None,
            Some(id) => match self.pack(id)? {
                Some(pack) => Some(pack),
                // Another process has merged it with others since the row was read.
                None => return self.unpack_moved(digest),
            },
        };
        let line = body.unpack(&mut self.unpacker.borrow_mut(), pack.as_deref());
        line.ok_or_else(|| self.damaged(format!("the line {digest} is not what was stored")))
    }

    fn unpack_moved(&self, digest: Digest) -> Result<Vec<u8>, ArchiveError> {
        let body = self.all(originals::BODIES, &[&[digest.as_bytes().as_slice()].as_slice()], originals::body)?.pop();
        let pack = body.as_ref().and_then(PackedBody::pack).map(|id| self.pack(id)).transpose()?.flatten();
        let line = body.zip(pack).and_then(|(body, pack)| body.unpack(&mut self.unpacker.borrow_mut(), Some(&pack)));
        line.ok_or_else(|| self.damaged(format!("the line {digest} is not what was stored")))
    }

    /// The pack of a number; `None` where there is none.
    pub(super) fn pack(&self, id: u64) -> Result<Option<Arc<Pack>>, ArchiveError> {
        if let Some(pack) = self.packs.borrow_mut().get(id) {
            return Ok(Some(pack));
        }
        let unpacker = &self.unpacker;
        let wanted = [to_signed(id)];
        let found = self.all(sessions::PACKS, &[&wanted.as_slice()], |row| {
            let pack = sessions::pack(row, &mut unpacker.borrow_mut())?;
            pack.map(Arc::new).ok_or_else(|| format!("pack {id} is not what was stored"))
        })?;
        let pack = found.into_iter().next();
        if let Some(pack) = &pack {
            self.packs.borrow_mut().hold(id, pack);
        }
        Ok(pack)
    }

    pub(super) fn labels(&self, sql: &str, values: Values<'_>) -> Result<Vec<(Digest, Vec<u8>)>, ArchiveError> {
        self.all(sql, values, |row| {
            let label = sessions::label(row)?;
            let key = label.key;
            label.checked().ok_or_else(|| format!("the object {key} is not what was stored"))
        })
    }

    pub(super) fn unpack_record(&self, packed: Packed) -> Result<Record, ArchiveError> {
        let key = packed.key();
        let record = packed.unpack(&mut self.unpacker.borrow_mut());
        record.ok_or_else(|| self.damaged(format!("the record {key} is not what was stored")))
    }

    pub(super) fn damaged(&self, detail: Damage) -> ArchiveError {
        super::batch::damaged(&self.server, detail)
    }

    pub(super) fn originals(&self, sql: &str, values: Values<'_>) -> Result<Vec<StoredOriginal>, ArchiveError> {
        self.all(sql, values, originals::original)
    }

    /// Calls `each` with every line, its length, and what it takes up.
    pub(super) fn read_sizes(&self, each: &mut dyn FnMut(LineId, u64, u64)) -> Result<(), ArchiveError> {
        const PACKS: &str = "SELECT id, bytes, length(content)::bigint AS n FROM pack";
        const LINES: &str = "SELECT id, bytes, codec, length(content)::bigint AS n,
                CASE codec WHEN 2 THEN content ELSE '' END AS place
            FROM body WHERE id > $1 ORDER BY id LIMIT 100000";
        let mut packs = PackSizes::default();
        for (id, bytes, n) in
            self.all(PACKS, &[], |row| Ok((length(row, "id")?, length(row, "bytes")?, length(row, "n")?)))?
        {
            packs.add(id, bytes, n);
        }
        let mut last = 0;
        loop {
            let lines = self.all(LINES, &[&to_signed(last)], |row| {
                let (id, bytes) = (length(row, "id")?, length(row, "bytes")?);
                let is_packed = i64::from(value::<i16>(row, "codec")?) == PACKED;
                let share = is_packed.then(|| value::<&[u8]>(row, "place").map(|place| packs.share(place, bytes)));
                let stored = share.transpose()?.map_or_else(|| length(row, "n"), |share| Ok(share.unwrap_or(0)))?;
                Ok((id, bytes, stored))
            })?;
            let Some(&(newest, ..)) = lines.last() else { return Ok(()) };
            last = newest;
            for (id, bytes, stored) in lines {
                each(LineId(id), bytes, stored);
            }
        }
    }
}
