//! What only a server can show. Each test has a schema of its own on the server that `CTXC_TEST_POSTGRES` names, and is
//! ignored where nobody asks for it.

mod broken;
mod concurrent;
mod corpus;
mod flips;
mod refused;
mod tls;

use std::sync::atomic::{AtomicU32, Ordering};

use super::session::{Server, Session};
use super::store::Postgres;
use crate::archive::{Archive, ServerUrl};

/// Runs `check` on the URL of an archive that is not there yet, on the server for tests.
pub(in crate::archive) fn on_a_server(check: impl FnOnce(&ServerUrl)) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let url = std::env::var("CTXC_TEST_POSTGRES").expect("CTXC_TEST_POSTGRES names a server");
    let mut url = ServerUrl::parse(&url).unwrap();
    url.schema = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let _schema = Schema(url.clone());
    check(&url);
}

/// Goes when the test is over, however it ended.
struct Schema(ServerUrl);

impl Drop for Schema {
    fn drop(&mut self) {
        on_the_side(&self.0, &format!("DROP SCHEMA IF EXISTS {} CASCADE", self.0.schema));
    }
}

/// Carries out `sql` on a connection of its own.
fn on_the_side(url: &ServerUrl, sql: &str) {
    let server = Server::new(url).unwrap();
    let mut session: Session = server.connect().unwrap();
    server.batch(&mut session, sql).unwrap();
}

/// Ends the connection of this number, as a server does that goes down.
fn end(url: &ServerUrl, pid: i32) {
    on_the_side(url, &format!("SELECT pg_terminate_backend({pid}, 5000)"));
}

fn open(url: &ServerUrl) -> Postgres {
    Postgres::open(url).unwrap()
}

fn reader_pid(archive: &Postgres) -> i32 {
    archive.all("SELECT pg_backend_pid() AS pid", &[], |row| super::row::value(row, "pid")).unwrap()[0]
}

fn n_bodies(archive: &dyn Archive) -> u64 {
    archive.contents().unwrap().lines
}
