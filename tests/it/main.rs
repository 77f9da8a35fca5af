//! Tests of the program as a whole, in one binary. `stage` sets the scene; there is one file for each verb.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene has failed")]

mod arguments;
mod check;
mod docs;
mod readme;
mod reference;
mod session;
mod stage;
mod stats;
