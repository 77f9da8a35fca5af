//! The archive in a PostgreSQL database that a team shares: one schema, two connections for each process.
//!
//! Deposits of several processes go on at the same time. What may not happen beside them, to make or change the tables
//! and to drop what has served its time, takes a lock of the whole archive. `docs/archive.md` tells what a team needs to
//! know, `docs/decisions/0024-postgres.md` why it is made so.

mod fault;
mod link;
mod migrate;
mod rank;
pub(super) mod search;
mod session;
mod tls;
mod value;
pub(super) mod vectors;
pub(super) mod words;

#[cfg(any(test, feature = "testing"))]
pub(super) mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::store::Store;
use crate::{ArchiveError, ServerUrl, Upgraded};
use link::PostgresLink;
use session::Server;

/// The archive at `url`, made where there is none yet.
///
/// # Errors
/// When the server cannot be reached or lets nobody in, or what is there is no archive of this version.
pub(super) fn open(url: &ServerUrl) -> Result<Store, ArchiveError> {
    let server = Arc::new(Server::new(url)?);
    let reader = PostgresLink::new(&server);
    migrate::prepare(&reader)?;
    Ok(Store::new(Box::new(reader), Box::new(PostgresLink::new(&server))))
}

/// Whether there is an archive at `url`.
///
/// # Errors
/// When the server cannot be reached or lets nobody in.
pub(super) fn is_there(url: &ServerUrl) -> Result<bool, ArchiveError> {
    migrate::is_there(&PostgresLink::new(&Arc::new(Server::new(url)?)))
}

/// Brings the archive at `url` up to date; `None` where there is none.
///
/// # Errors
/// When the server cannot be reached or refuses, or what is there is no archive of this version or an older one.
pub(super) fn upgrade(url: &ServerUrl) -> Result<Option<Upgraded>, ArchiveError> {
    migrate::upgrade_existing(&PostgresLink::new(&Arc::new(Server::new(url)?)))
}
