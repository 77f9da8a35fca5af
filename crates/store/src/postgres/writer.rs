//! The connection that writes, and the deposit that is open on it.

use super::batch::{Batch, damaged};
use super::fault::{Fault, LOCK_SECONDS, is_loss};
use super::migrate::Lock;
use super::operations::{self, Stored};
use super::originals;
use super::records;
use super::row::{text_value, value};
use super::session::{Server, Session};
use super::sessions::{self, Packing};
use crate::body::Packer;
use crate::pack::FULL;
use crate::{ArchiveError, Kind, LineId, Object, ObjectKind, Operation, Original, RecipeStep, Record};
use ctxc_transcript::text::Digest;

/// What has been put since the last commit, and the connection that holds it.
#[derive(Default)]
pub(super) struct Writer {
    /// Made when it is needed, and made anew when it was lost.
    session: Option<Session>,
    packer: Option<Packer>,
    deposit: Deposit,
    batch: Batch,
    /// The number that the originals share which wait for their operation.
    part: Option<i64>,
    packing: Option<Packing>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Deposit {
    /// Nothing was put.
    #[default]
    None,
    /// Something was gathered, and the server knows nothing of it.
    Gathered,
    /// Something was sent, in a transaction.
    Open,
    /// A put failed.
    Broken,
}

impl Writer {
    pub(super) fn put_original(&mut self, server: &Server, original: &Original<'_>) -> Result<Digest, ArchiveError> {
        self.put(server, |batch| batch.add_original(original))
    }

    pub(super) fn put_record(&mut self, server: &Server, record: &Record) -> Result<(), ArchiveError> {
        self.put(server, |batch| batch.add_record(record))
    }

    pub(super) fn drop_record(&mut self, server: &Server, kind: Kind, key: Digest) -> Result<(), ArchiveError> {
        self.check_whole()?;
        // What was put before goes first, for the last word counts.
        let dropped = self.send(server).and_then(|()| {
            let session = self.open(server)?;
            let key = key.as_bytes().as_slice();
            server.execute(session, records::DROP, &[&kind.name(), &key]).fault(&server.place)
        });
        dropped.map(drop).map_err(|error| self.broken(error))
    }

    pub(super) fn put_lines(
        &mut self,
        server: &Server,
        lines: &[(Digest, &[u8])],
    ) -> Result<Vec<LineId>, ArchiveError> {
        self.check_whole()?;
        // What was gathered may have some of them too.
        let put = self.send(server).and_then(|()| {
            let mut ids = Vec::with_capacity(lines.len());
            for portion in portions(lines) {
                ids.extend(self.put_portion(server, portion)?);
            }
            Ok(ids)
        });
        put.map_err(|error| self.broken(error))
    }

    fn put_portion(&mut self, server: &Server, lines: &[(Digest, &[u8])]) -> Result<Vec<LineId>, ArchiveError> {
        let mut packing = match self.packing.take() {
            Some(packing) => packing,
            None => Packing::begin(server, self.open(server)?)?,
        };
        let ids = packing.put(server, self.open(server)?, lines);
        self.packing = Some(packing);
        ids
    }

    pub(super) fn put_object(&mut self, server: &Server, object: &Object) -> Result<(), ArchiveError> {
        self.check_whole()?;
        let put = self.open(server).and_then(|session| {
            let mut packer = Packer::new().map_err(|source| ArchiveError::Compress { bytes: 0, source })?;
            sessions::put_object(server, session, &mut packer, object)
        });
        put.map_err(|error| self.broken(error))
    }

    pub(super) fn drop_object(&mut self, server: &Server, kind: ObjectKind, key: Digest) -> Result<(), ArchiveError> {
        self.check_whole()?;
        let key = key.as_bytes().as_slice();
        let dropped = self
            .open(server)
            .and_then(|session| server.execute(session, sessions::DROP, &[&kind.name(), &key]).fault(&server.place));
        dropped.map(drop).map_err(|error| self.broken(error))
    }

    pub(super) fn drop_originals(&mut self, server: &Server, operation: &str) -> Result<(), ArchiveError> {
        self.check_whole()?;
        // What was gathered may be of the same operation.
        let dropped = self.send(server).and_then(|()| {
            let session = self.open(server)?;
            server.execute(session, originals::DROP, &[&text_value(operation)]).fault(&server.place)
        });
        dropped.map(drop).map_err(|error| self.broken(error))
    }

    /// Carries out `work` as a part of the deposit, behind what was put before.
    pub(super) fn within(
        &mut self,
        server: &Server,
        work: impl FnOnce(&Server, &mut Session) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        self.check_whole()?;
        let done = self.send(server).and_then(|()| work(server, self.open(server)?));
        done.map_err(|error| self.broken(error))
    }

    /// Keeps all other deposits out until this one ends.
    pub(super) fn claim(&mut self, server: &Server) -> Result<(), ArchiveError> {
        self.check_whole()?;
        let lock = format!("SELECT pg_advisory_xact_lock({})", Lock::Content.key(&server.url.schema));
        let claimed = if self.deposit == Deposit::Open {
            self.open(server).and_then(|session| server.batch(session, &lock).fault(&server.place))
        } else {
            self.begin(server, &format!("BEGIN; {lock}")).map(drop)
        };
        claimed.map_err(|error| self.broken(error))?;
        self.deposit = Deposit::Open;
        Ok(())
    }

    pub(super) fn put_operation(
        &mut self,
        server: &Server,
        operation: &Operation,
        recipe: &[RecipeStep],
    ) -> Result<(), ArchiveError> {
        self.check_whole()?;
        let put = self.send(server).and_then(|()| {
            let part = self.part;
            operations::insert(server, self.open(server)?, operation, recipe, part)
        });
        match put {
            Ok(Stored::Now) => self.part = None,
            Ok(Stored::Before) => {}
            Err(error) => return Err(self.broken(error)),
        }
        Ok(())
    }

    pub(super) fn commit(&mut self, server: &Server) -> Result<(), ArchiveError> {
        self.check_whole()?;
        if self.deposit == Deposit::None {
            return Ok(());
        }
        let committed = self.send(server).and_then(|()| match self.packing.take() {
            Some(mut packing) => packing.close(server, self.open(server)?),
            None => Ok(()),
        });
        let committed = committed.and_then(|()| self.end(server));
        match committed {
            Ok(()) => self.deposit = Deposit::None,
            Err(error) => return Err(self.broken(error)),
        }
        self.part = None;
        Ok(())
    }

    pub(super) fn rollback(&mut self, server: &Server) {
        let was_open = matches!(self.deposit, Deposit::Open | Deposit::Broken);
        self.deposit = Deposit::None;
        self.batch = Batch::default();
        self.part = None;
        self.packing = None;
        match &mut self.session {
            Some(session) if was_open && !session.is_lost() => {
                let rolled_back = server.batch(session, "ROLLBACK");
                if rolled_back.is_err() {
                    // Its end is the end of the transaction.
                    self.session = None;
                }
            }
            Some(session) if session.is_lost() => self.session = None,
            Some(_) | None => {}
        }
    }

    /// Ends the transaction of the deposit. Where the connection breaks before the server has answered, the server is
    /// asked what has become of it: it is kept, or it is not.
    fn end(&mut self, server: &Server) -> Result<(), ArchiveError> {
        let session = self.open(server)?;
        let rows = server.rows(session, "SELECT txid_current() AS id", &[]).fault(&server.place)?;
        let id = rows.first().map(|row| value::<i64>(row, "id")).transpose();
        let id = id.map_err(|detail| damaged(server, detail))?.unwrap_or_default();
        match server.batch(session, "COMMIT") {
            Err(error) if is_loss(&error) => {
                self.session = None;
                if self.was_kept(server, id)? { Ok(()) } else { Err(error).fault(&server.place) }
            }
            committed => committed.fault(&server.place),
        }
    }

    /// Whether the transaction of this number was kept. The server may not have noticed yet that its connection is gone.
    pub(super) fn was_kept(&mut self, server: &Server, id: i64) -> Result<bool, ArchiveError> {
        const STATUS: &str = "SELECT coalesce(txid_status($1), '') AS status FROM pg_sleep(0.1)";
        for _ in 0..LOCK_SECONDS * 10 {
            let rows = server.rows(self.session(server)?, STATUS, &[&id]).fault(&server.place)?;
            match rows.first().and_then(|row| value::<&str>(row, "status").ok()) {
                Some("committed") => return Ok(true),
                Some("in progress") => {}
                Some(_) | None => return Ok(false),
            }
        }
        Err(ArchiveError::LockedOnServer { place: server.place.clone(), seconds: LOCK_SECONDS })
    }

    /// Carries out `work` as one transaction of its own that holds `lock`, which is read as an expression of the server.
    ///
    /// # Errors
    /// When a deposit is open, or `work` or the server fails: nothing of it is kept then.
    pub(super) fn alone<T>(
        &mut self,
        server: &Server,
        lock: &str,
        end: &str,
        work: impl FnOnce(&mut Session) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        if self.deposit != Deposit::None {
            return Err(ArchiveError::OpenDeposit);
        }
        let session = self.begin(server, &format!("BEGIN; SELECT {lock}"))?;
        let done = work(session).and_then(|value| server.batch(session, end).fault(&server.place).map(|()| value));
        if done.is_err() {
            let is_free = !session.is_lost() && server.batch(session, "ROLLBACK").is_ok();
            self.session = self.session.take().filter(|_| is_free);
        }
        done
    }

    /// The connection, outside of any transaction.
    ///
    /// # Errors
    /// When a deposit is open, or the server cannot be reached.
    pub(super) fn free(&mut self, server: &Server) -> Result<&mut Session, ArchiveError> {
        if self.deposit == Deposit::None { self.session(server) } else { Err(ArchiveError::OpenDeposit) }
    }

    fn put<T>(&mut self, server: &Server, put: impl FnOnce(&mut Batch) -> T) -> Result<T, ArchiveError> {
        self.check_whole()?;
        let value = put(&mut self.batch);
        if self.deposit == Deposit::None {
            self.deposit = Deposit::Gathered;
        }
        if self.batch.is_full() {
            self.send(server).map_err(|error| self.broken(error))?;
        }
        Ok(value)
    }

    /// Sends what was gathered, within the transaction of the deposit.
    fn send(&mut self, server: &Server) -> Result<(), ArchiveError> {
        self.open(server)?;
        let batch = std::mem::take(&mut self.batch);
        let Some(session) = &mut self.session else { return Err(ArchiveError::BrokenDeposit) };
        if batch.has_originals() && self.part.is_none() {
            let rows = server.rows(session, "SELECT nextval('part') AS part", &[]).fault(&server.place)?;
            let part = rows.first().map(|row| value(row, "part")).transpose();
            self.part = part.map_err(|detail| damaged(server, detail))?;
        }
        let packer = match self.packer.take() {
            Some(packer) => packer,
            None => Packer::new().map_err(|source| ArchiveError::Compress { bytes: 0, source })?,
        };
        batch.send(server, session, self.packer.insert(packer), self.part)
    }

    /// The connection with the transaction of the deposit, which is begun if need be.
    fn open(&mut self, server: &Server) -> Result<&mut Session, ArchiveError> {
        let is_open = self.deposit == Deposit::Open;
        if !is_open {
            let lock = Lock::Content.key(&server.url.schema);
            self.begin(server, &format!("BEGIN; SELECT pg_advisory_xact_lock_shared({lock})"))?;
            self.deposit = Deposit::Open;
        }
        self.session.as_mut().ok_or(ArchiveError::BrokenDeposit)
    }

    /// Begins a transaction. Nothing is lost yet where the connection is gone, so that it is made anew once.
    fn begin(&mut self, server: &Server, sql: &str) -> Result<&mut Session, ArchiveError> {
        let session = self.session(server)?;
        match server.batch(session, sql) {
            Err(error) if is_loss(&error) => {
                self.session = None;
                let session = self.session(server)?;
                server.batch(session, sql).fault(&server.place)?;
            }
            Err(error) => {
                // A lock that was not given leaves a transaction that has failed.
                self.session = None;
                return Err(error).fault(&server.place);
            }
            Ok(()) => {}
        }
        self.session.as_mut().ok_or(ArchiveError::BrokenDeposit)
    }

    fn session(&mut self, server: &Server) -> Result<&mut Session, ArchiveError> {
        let session = match self.session.take().filter(|session| !session.is_lost()) {
            Some(session) => session,
            None => server.connect()?,
        };
        Ok(self.session.insert(session))
    }

    const fn check_whole(&self) -> Result<(), ArchiveError> {
        match self.deposit {
            Deposit::None | Deposit::Gathered | Deposit::Open => Ok(()),
            Deposit::Broken => Err(ArchiveError::BrokenDeposit),
        }
    }

    fn broken(&mut self, error: ArchiveError) -> ArchiveError {
        self.deposit = Deposit::Broken;
        error
    }
}

/// Lines in their order, each portion no longer than half a pack unless it is one line.
fn portions<'a>(mut lines: &'a [(Digest, &'a [u8])]) -> impl Iterator<Item = &'a [(Digest, &'a [u8])]> {
    std::iter::from_fn(move || {
        let mut sum = 0;
        let n_lines = lines.iter().take_while(|(_, line)| {
            sum += line.len();
            sum <= FULL / 2
        });
        let (portion, rest) = lines.split_at(n_lines.count().max(1).min(lines.len()));
        lines = rest;
        (!portion.is_empty()).then_some(portion)
    })
}

#[cfg(test)]
impl Writer {
    /// The number of the connection.
    pub(super) fn pid(&mut self, server: &Server) -> i32 {
        let session = self.session.as_mut().unwrap();
        value(&server.rows(session, "SELECT pg_backend_pid() AS pid", &[]).unwrap()[0], "pid").unwrap()
    }
}
