use std::fs::File;

use crate::chain::Chain;
use crate::index::Index;

/// A session file that was read: where its lines can be read again, what is known of each, and what a resume sends of them.
#[derive(Clone, Copy, Debug)]
pub struct Transcript<'a> {
    /// The file.
    pub file: &'a File,
    /// The index of its lines.
    pub index: &'a Index,
    /// The chain that a resume sends.
    pub chain: &'a Chain,
}
