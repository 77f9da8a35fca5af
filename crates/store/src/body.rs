//! Lines as a database stores them: compressed if that makes them smaller.

use super::ArchiveError;
use ctxc_transcript::Fingerprinter;
use ctxc_transcript::text::Digest;
use zstd::zstd_safe::CParameter::{self, HashLog, MinMatch, WindowLog};

/// The codec of an uncompressed line.
pub(super) const PLAIN: i64 = 0;
/// The codec of a line as one zstd frame.
pub(super) const ZSTD: i64 = 1;
/// The codec of a line in a pack; the row contains the pack's number.
pub(super) const PACKED: i64 = 2;

/// The effort for packs of deposits, which wait for them: zstd's level 1 with the window of a whole pack, matches of at least
/// seven bytes, and a hash table that fits the L1 cache. Packs take 80 % of the time of level 3, and 3 to 5 % more space;
/// plain level 1 takes a sixth more.
pub(super) const FAST: Effort = Effort { level: 1, tuned: &[WindowLog(21), HashLog(15), MinMatch(7)] };

/// The effort for single items: zstd's default level.
pub(super) const USUAL: Effort = Effort { level: 3, tuned: &[] };

/// The effort for merged packs, a few at a time in the background: they take 8 % less space than at level 3.
pub(super) const THOROUGH: Effort = Effort { level: 7, tuned: &[] };

/// The effort of compression.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    level: i32,
    tuned: &'static [CParameter],
}

/// The length of a checksum in bytes.
const CHECKSUM: usize = 8;

/// The checksum of a pack for [`Unpacker::unpack_pack`]. A fast one is enough, since each line has a digest.
pub(super) fn pack_checksum(pack: &[u8]) -> Vec<u8> {
    let mut fingerprinter = Fingerprinter::default();
    fingerprinter.update(pack);
    fingerprinter.finish().checksum.to_le_bytes().to_vec()
}

/// The checksum of bytes for [`Unpacker::unpack`]: the beginning of their digest.
pub(super) fn checksum(bytes: &[u8]) -> Vec<u8> {
    Digest::of(bytes).as_bytes().iter().take(CHECKSUM).copied().collect()
}

/// Compresses lines with one compressor, created for the first line, and one buffer, which grow to the longest line.
pub(super) struct Packer {
    effort: Effort,
    compressor: Option<zstd::bulk::Compressor<'static>>,
    buffer: Vec<u8>,
}

impl Packer {
    pub(super) const fn new(effort: Effort) -> Self {
        Self { effort, compressor: None, buffer: Vec::new() }
    }

    /// The codec and the stored bytes of `line`.
    pub(super) fn pack<'a>(&'a mut self, line: &'a [u8]) -> Result<(i64, &'a [u8]), ArchiveError> {
        let len = self.compress(line).map_err(|source| ArchiveError::Compress { bytes: line.len(), source })?;
        Ok(if len < line.len() { (ZSTD, &self.buffer) } else { (PLAIN, line) })
    }

    fn compress(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let compressor = if let Some(compressor) = self.compressor.take() {
            compressor
        } else {
            let mut compressor = zstd::bulk::Compressor::new(self.effort.level)?;
            self.effort.tuned.iter().try_for_each(|parameter| compressor.set_parameter(*parameter))?;
            compressor
        };
        self.buffer.clear();
        self.buffer.reserve(zstd::zstd_safe::compress_bound(line.len()));
        self.compressor.insert(compressor).compress_to_buffer(line, &mut self.buffer)
    }
}

/// Unpacks lines with one decompressor, created for the first compressed line.
#[derive(Default)]
pub(super) struct Unpacker {
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
}

impl Unpacker {
    /// The bytes stored in `content`; `None` unless they have this length and their digest begins with `checksum`.
    pub(super) fn unpack(&mut self, codec: i64, content: Vec<u8>, bytes: u64, checksum: &[u8]) -> Option<Vec<u8>> {
        let unpacked = self.plain(codec, content, bytes)?;
        // A checksum that damage has shortened proves nothing.
        (checksum.len() >= CHECKSUM && Digest::of(&unpacked).as_bytes().starts_with(checksum)).then_some(unpacked)
    }

    /// The pack stored in `content`; `None` unless it has this length and `checksum` is its [`pack_checksum`].
    pub(super) fn unpack_pack(&mut self, codec: i64, content: Vec<u8>, bytes: u64, checksum: &[u8]) -> Option<Vec<u8>> {
        let unpacked = self.plain(codec, content, bytes)?;
        (pack_checksum(&unpacked) == checksum).then_some(unpacked)
    }

    fn plain(&mut self, codec: i64, content: Vec<u8>, bytes: u64) -> Option<Vec<u8>> {
        match codec {
            PLAIN => Some(content),
            ZSTD => self.decompress(&content, bytes),
            _ => None,
        }
    }

    fn decompress(&mut self, content: &[u8], bytes: u64) -> Option<Vec<u8>> {
        // The frame and the row must agree on the length before that much memory is allocated.
        if zstd::zstd_safe::get_frame_content_size(content).ok()? != Some(bytes) {
            return None;
        }
        let decompressor = match self.decompressor.take() {
            Some(decompressor) => decompressor,
            None => zstd::bulk::Decompressor::new().ok()?,
        };
        self.decompressor.insert(decompressor).decompress(content, usize::try_from(bytes).ok()?).ok()
    }
}
