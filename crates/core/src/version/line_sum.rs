//! Lines that are compared without being unpacked.

use ctxc_transcript::text::Digest;

/// The digest of the digests and the lengths of lines, in their order.
#[derive(Clone, Debug, Default)]
pub struct LineSum(blake3::Hasher);

impl LineSum {
    /// Takes the next line.
    pub(super) fn push(&mut self, digest: Digest, bytes: u64) {
        self.0.update(digest.as_bytes());
        self.0.update(&bytes.to_le_bytes());
    }

    pub(super) fn digest(&self) -> Digest {
        self.0.finalize().into()
    }
}
