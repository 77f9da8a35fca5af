//! Tests of the program as a whole, in one binary. `stage` sets the scene; there is one file for each verb.

mod arguments;
mod reference;
mod session;
mod stage;
