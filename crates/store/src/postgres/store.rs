//! Opening the store on a server.

use std::sync::Arc;

use super::link::PostgresLink;
use super::migrate;
use super::session::Server;
use crate::store::Store;
use crate::store::link::Link;
use crate::{ArchiveError, ServerUrl, Upgraded};

/// The archive at `url`, made where there is none yet.
///
/// # Errors
/// When the server cannot be reached or lets nobody in, or what is there is no archive of this version.
pub(crate) fn open(url: &ServerUrl) -> Result<Store, ArchiveError> {
    let server = Arc::new(Server::new(url)?);
    let reader = PostgresLink::new(&server);
    migrate::prepare(&reader)?;
    Ok(Store::new(Box::new(reader), Box::new(PostgresLink::new(&server))))
}

/// Whether there is an archive at `url`.
///
/// # Errors
/// When the server cannot be reached or lets nobody in.
pub(crate) fn is_there(url: &ServerUrl) -> Result<bool, ArchiveError> {
    migrate::is_there(&PostgresLink::new(&Arc::new(Server::new(url)?)))
}

/// How many bytes the tables at `url` take up.
///
/// # Errors
/// When the server cannot be reached or lets nobody in.
pub(crate) fn stored_bytes(url: &ServerUrl) -> Result<u64, ArchiveError> {
    const SIZE: &str = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'";
    let db: &dyn Link = &PostgresLink::new(&Arc::new(Server::new(url)?));
    db.number(SIZE, &[]).map(i64::cast_unsigned)
}

/// Brings the archive at `url` up to date; `None` where there is none.
///
/// # Errors
/// When the server cannot be reached or refuses, or what is there is no archive of this version or an older one.
pub(crate) fn upgrade(url: &ServerUrl) -> Result<Option<Upgraded>, ArchiveError> {
    migrate::upgrade_existing(&PostgresLink::new(&Arc::new(Server::new(url)?)))
}
