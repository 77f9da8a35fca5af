//! A line as a database keeps it: compressed where that makes it smaller.

use super::ArchiveError;
use ctxc_transcript::text::Digest;

/// The line as it is.
pub(super) const PLAIN: i64 = 0;
/// The line as one zstd frame.
pub(super) const ZSTD: i64 = 1;
/// The place of the line: in a pack.
pub(super) const PACKED: i64 = 2;

/// For what a deposit waits for: level 3 is zstd's own balance of speed and size. Packs take less than half the time of level
/// 5, and 5 % more space.
pub(super) const LEVEL: i32 = 3;

/// Small packs are merged beside the work, a few at a time, so that it pays to look further: 8 % less space than at level 3.
pub(super) const LEVEL_OF_MERGED: i32 = 7;

/// The length of a checksum in bytes.
const CHECKSUM: usize = 8;

/// What bytes are known by again, as [`Unpacker::unpack`] compares it.
pub(super) fn checksum(bytes: &[u8]) -> Vec<u8> {
    Digest::of(bytes).as_bytes().iter().take(CHECKSUM).copied().collect()
}

/// Compresses line after line with one compressor, made when the first line comes, and one buffer, which grow to the longest
/// line.
pub(super) struct Packer {
    level: i32,
    compressor: Option<zstd::bulk::Compressor<'static>>,
    buffer: Vec<u8>,
}

impl Packer {
    pub(super) const fn new(level: i32) -> Self {
        Self { level, compressor: None, buffer: Vec::new() }
    }

    /// The codec and the bytes that keep `line`.
    pub(super) fn pack<'a>(&'a mut self, line: &'a [u8]) -> Result<(i64, &'a [u8]), ArchiveError> {
        let len = self.compress(line).map_err(|source| ArchiveError::Compress { bytes: line.len(), source })?;
        Ok(if len < line.len() { (ZSTD, &self.buffer) } else { (PLAIN, line) })
    }

    fn compress(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let compressor = match self.compressor.take() {
            Some(compressor) => compressor,
            None => zstd::bulk::Compressor::new(self.level)?,
        };
        self.buffer.clear();
        self.buffer.reserve(zstd::zstd_safe::compress_bound(line.len()));
        self.compressor.insert(compressor).compress_to_buffer(line, &mut self.buffer)
    }
}

/// Unpacks line after line with one decompressor, made when the first compressed line comes.
#[derive(Default)]
pub(super) struct Unpacker {
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
}

impl Unpacker {
    /// The bytes that `content` keeps; `None` unless they are of this length and their digest begins with `checksum`.
    pub(super) fn unpack(&mut self, codec: i64, content: Vec<u8>, bytes: u64, checksum: &[u8]) -> Option<Vec<u8>> {
        let unpacked = match codec {
            PLAIN => content,
            ZSTD => self.decompress(&content, bytes)?,
            _ => return None,
        };
        // One that was cut short by damage proves nothing.
        (checksum.len() >= 8 && Digest::of(&unpacked).as_bytes().starts_with(checksum)).then_some(unpacked)
    }

    fn decompress(&mut self, content: &[u8], bytes: u64) -> Option<Vec<u8>> {
        // Two places have to agree on the length before that much memory is taken.
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
