//! A server for agents over the Model Context Protocol (M-01): tools that shrink, search and measure the session that
//! an agent is in.
//!
//! A call comes in ([`server`], the only user of the protocol's library), becomes a request that makes sense (`call`),
//! is held against the session that it comes from (`caller`, `subject`), and is answered (`handler`). A client holds its
//! history in memory and goes on writing it, so that nothing here touches its file: results are new sessions. Where the
//! plugin is at work in the client, it takes the calls that change the session, and compacts it accordingly (`running`).

mod answer;
mod call;
mod caller;
mod compaction;
mod context;
mod handler;
mod lines;
mod memory;
mod refs;
mod running;
mod server;
mod settings;
mod stats;
mod subject;
mod tools;

#[cfg(any(test, feature = "fuzzing"))]
pub use call::reads_any_call;
pub(crate) use call::{Call, Change};
pub(crate) use running::{ClientCall, announce};
pub(crate) use server::serve;
pub(crate) use settings::ServerSettings;
