//! What `ctxc find` searches: the texts of every session, of its file or of what the archive keeps of it, put into the
//! index as far as they are new (W-06).

pub(super) mod active;
pub(super) mod error;
pub(super) mod file;
pub(super) mod kept;
pub(super) mod output;
pub(super) mod said;
