//! The store's connection to the server, opened when it is needed, and again if it was lost between transactions.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

use super::fault::{LOCK_SECONDS, ServerFault, is_loss};
use super::session::{Server, Session};
use crate::ArchiveError;
use crate::store::link::{Dialect, Hold, Insert, Link};
use crate::store::value::{Damage, Row, Value, values};
use ctxc_transcript::text::Digest;

/// A connection to the server.
pub(super) struct PostgresLink {
    pub(super) server: Arc<Server>,
    session: RefCell<Option<Session>>,
    is_in_transaction: Cell<bool>,
}

/// The functions that take an exclusive or a shared lock until the end of the transaction.
const ALONE: &str = "pg_advisory_xact_lock";
const SHARED: &str = "pg_advisory_xact_lock_shared";

/// The purposes of locks.
#[derive(Clone, Copy)]
enum Lock {
    /// Changes of tables.
    Tables = 1,
    /// Changes of content: deposits share it, sweeps and claims hold it exclusively.
    Content = 2,
    /// Updates of the search index.
    Index = 3,
}

impl PostgresLink {
    pub(super) fn new(server: &Arc<Server>) -> Self {
        Self { server: Arc::clone(server), session: RefCell::default(), is_in_transaction: Cell::new(false) }
    }

    /// Runs `work`, and repeats it on a new connection if this one was lost outside a transaction.
    pub(super) fn run<T>(&self, work: impl Fn(&Server, &mut Session) -> Result<T, Error>) -> Result<T, ArchiveError> {
        self.attempt(work)?.fault(&self.server.place)
    }

    /// Like [`run`](Self::run), but returns the server's own errors unconverted.
    pub(super) fn attempt<T>(
        &self,
        work: impl Fn(&Server, &mut Session) -> Result<T, Error>,
    ) -> Result<Result<T, Error>, ArchiveError> {
        let mut session = self.session.borrow_mut();
        let is_free = !self.is_in_transaction.get();
        let mut known = session.take().filter(|known| !(is_free && known.is_lost()));
        let done = match &mut known {
            Some(known) => work(&self.server, known),
            None => work(&self.server, known.insert(self.server.connect()?)),
        };
        let done = if is_free && done.as_ref().is_err_and(is_loss) {
            work(&self.server, known.insert(self.server.connect()?))
        } else {
            done
        };
        *session = known;
        Ok(done)
    }

    /// The SQL call that takes a lock. The server identifies it by two numbers: a hash of the archive's schema, and the lock.
    fn lock(&self, how: &str, lock: Lock) -> String {
        let digest = Digest::of(self.server.url.schema.as_bytes());
        let [a, b, c, d, ..] = *digest.as_bytes();
        format!("{how}({}, {})", i32::from_be_bytes([a, b, c, d]), lock as i32)
    }

    /// Whether the transaction with this number was committed. Waits until the server has noticed the loss of its connection.
    pub(super) fn was_kept(&self, id: i64) -> Result<bool, ArchiveError> {
        const STATUS: &str = "SELECT coalesce(txid_status($1), '') FROM pg_sleep(0.1)";
        let db: &dyn Link = self;
        for _ in 0..LOCK_SECONDS * 10 {
            match db.one(STATUS, &values![id], Row::get::<String>)?.as_deref() {
                Some("committed") => return Ok(true),
                Some("in progress") => {}
                Some(_) | None => return Ok(false),
            }
        }
        Err(self.locked())
    }
}

impl Link for PostgresLink {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value],
        each: &mut dyn FnMut(&mut Row) -> Result<(), Damage>,
    ) -> Result<(), ArchiveError> {
        let rows = self.run(|server, session| server.rows(session, sql, &sql_parameters(values)))?;
        for row in rows {
            let columns = (0..row.len()).map(|at| row.try_get::<_, Value>(at).map_err(|error| error.to_string()));
            let columns: Result<Vec<Value>, Damage> = columns.collect();
            columns.and_then(|columns| each(&mut Row::new(columns))).map_err(|detail| self.damaged(detail))?;
        }
        Ok(())
    }

    fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, ArchiveError> {
        self.run(|server, session| server.execute(session, sql, &sql_parameters(values)))
    }

    /// Inserts all rows by one statement, with an array per column.
    fn insert(&self, insert: &Insert<'_>, rows: Vec<Vec<Value>>) -> Result<u64, ArchiveError> {
        let types = insert.columns().map(|(_, of)| of);
        let arrays: Vec<String> = (1..).zip(types).map(|(at, of)| format!("${at}::{of}[]")).collect();
        let names = insert.names();
        let put = format!("unnest({}) AS put ({names})", arrays.join(", "));
        let Insert { table, conflict, on_a_server, .. } = insert;
        let plain = format!("INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE SELECT * FROM {{put}} {conflict}");
        let sql = on_a_server.unwrap_or(&plain).replace("{put}", &put);
        let mut columns: Vec<Vec<Value>> = arrays.iter().map(|_| Vec::with_capacity(rows.len())).collect();
        for row in rows {
            columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        }
        let columns: Vec<Value> = columns.into_iter().map(Value::List).collect();
        self.execute(&sql, &columns)
    }

    fn batch(&self, sql: &str) -> Result<(), ArchiveError> {
        self.run(|server, session| server.batch(session, sql))
    }

    fn begin(&self, hold: Hold) -> Result<(), ArchiveError> {
        let locks = match hold {
            Hold::Drops => self.lock(SHARED, Lock::Content),
            Hold::All => self.lock(ALONE, Lock::Content),
            Hold::Indexing => format!("{}, {}", self.lock(ALONE, Lock::Index), self.lock(SHARED, Lock::Content)),
            Hold::Tables => self.lock(ALONE, Lock::Tables),
        };
        let begun = self.batch(&format!("BEGIN; SELECT {locks}"));
        if begun.is_err() {
            // A lock that was refused leaves a failed transaction.
            self.session.take();
        }
        self.is_in_transaction.set(begun.is_ok());
        begun
    }

    fn claim(&self) -> Result<(), ArchiveError> {
        self.batch(&format!("SELECT {}", self.lock(ALONE, Lock::Content)))
    }

    /// If the connection is lost before the server has confirmed the commit, a new connection queries the outcome of the
    /// transaction.
    fn commit(&self) -> Result<(), ArchiveError> {
        let db: &dyn Link = self;
        let id = db.number("SELECT txid_current()", &[])?;
        match self.attempt(|server, session| server.batch(session, "COMMIT"))? {
            Err(error) if is_loss(&error) => {
                self.session.take();
                self.is_in_transaction.set(false);
                if self.was_kept(id)? { Ok(()) } else { Err(error).fault(&self.server.place) }
            }
            committed => {
                self.is_in_transaction.set(committed.is_err());
                committed.fault(&self.server.place)
            }
        }
    }

    fn rollback(&self) -> Result<(), ArchiveError> {
        if self.is_in_transaction.replace(false) {
            let mut session = self.session.borrow_mut();
            // Closing the connection ends its transaction too.
            *session = session.take().and_then(|mut known| {
                let is_free = !known.is_lost() && self.server.batch(&mut known, "ROLLBACK").is_ok();
                is_free.then_some(known)
            });
        }
        Ok(())
    }

    fn damaged(&self, detail: Damage) -> ArchiveError {
        ArchiveError::DamagedOnServer { place: self.server.place.clone(), detail }
    }

    fn locked(&self) -> ArchiveError {
        ArchiveError::LockedOnServer { place: self.server.place.clone(), seconds: LOCK_SECONDS }
    }
}

fn sql_parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| -> &(dyn ToSql + Sync) { value }).collect()
}
