//! Opens the store on a server.

use std::sync::Arc;

use super::link::PostgresLink;
use super::session::Server;
use super::tables;
use crate::store::Store;
use crate::store::link::DatabaseLink;
use crate::{ArchiveError, ServerUrl};

/// Opens the archive at `url`, and creates it if there is none.
///
/// # Errors
/// When the server cannot be reached or refuses, or the schema is not an archive of this version.
pub(crate) fn open(url: &ServerUrl) -> Result<Store, ArchiveError> {
    let server = Arc::new(Server::new(url)?);
    let reader = PostgresLink::new(&server);
    tables::prepare_tables(&reader)?;
    Ok(Store::new(Box::new(reader), Box::new(PostgresLink::new(&server))))
}

/// Whether there is an archive at `url`.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub(crate) fn is_there(url: &ServerUrl) -> Result<bool, ArchiveError> {
    tables::is_there(&PostgresLink::new(&Arc::new(Server::new(url)?)))
}

/// The size of the tables at `url`, in bytes.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub(crate) fn stored_bytes(url: &ServerUrl) -> Result<u64, ArchiveError> {
    const SIZE: &str = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'";
    let db: &dyn DatabaseLink = &PostgresLink::new(&Arc::new(Server::new(url)?));
    db.query_number(SIZE, &[]).map(i64::cast_unsigned)
}
