//! Opening the store on a server.

use std::sync::Arc;

use super::link::PostgresLink;
use super::session::Server;
use super::tables;
use crate::store::Store;
use crate::store::link::Link;
use crate::{ArchiveError, ServerUrl};

/// The archive at `url`, made where there is none yet.
///
/// # Errors
/// When the server cannot be reached or lets nobody in, or what is there is no archive of this version.
pub(crate) fn open(url: &ServerUrl) -> Result<Store, ArchiveError> {
    let server = Arc::new(Server::new(url)?);
    let reader = PostgresLink::new(&server);
    tables::prepare(&reader)?;
    Ok(Store::new(Box::new(reader), Box::new(PostgresLink::new(&server))))
}

/// Whether there is an archive at `url`.
///
/// # Errors
/// When the server cannot be reached or lets nobody in.
pub(crate) fn is_there(url: &ServerUrl) -> Result<bool, ArchiveError> {
    tables::is_there(&PostgresLink::new(&Arc::new(Server::new(url)?)))
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
