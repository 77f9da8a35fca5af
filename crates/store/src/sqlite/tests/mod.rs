//! Tests of database files: modes, versions, other processes.

mod corpus;
#[cfg(target_os = "linux")]
mod disks;
mod files;
mod flips;
#[cfg(unix)]
mod modes;
mod place;
mod processes;
mod refused;
