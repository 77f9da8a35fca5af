//! A server for agents over the Model Context Protocol (M-01): tools that shrink, search and measure the session that
//! an agent is in.
//!
//! A call comes in ([`server`], the only user of the protocol's library), becomes a request that makes sense (`call`),
//! is held against the session that it comes from (`caller`, `subject`), and is answered (`desk`). A client holds its
//! history in memory and goes on writing it, so that nothing here touches its file: results are new sessions.

mod answer;
mod call;
mod caller;
mod compaction;
mod context;
mod desk;
mod memory;
mod refs;
mod server;
mod stats;
mod subject;
mod tools;

#[cfg(any(test, feature = "fuzzing"))]
pub use call::reads_any_call;
pub(super) use desk::Settings;
pub(super) use server::serve;
