//! A line as a database keeps it: compressed where that makes it smaller.

use super::ArchiveError;
use ctxc_transcript::Fingerprinter;
use ctxc_transcript::text::Digest;
use zstd::zstd_safe::CParameter::{self, HashLog, MinMatch, WindowLog};

/// The line as it is.
pub(super) const PLAIN: i64 = 0;
/// The line as one zstd frame.
pub(super) const ZSTD: i64 = 1;
/// The place of the line: in a pack.
pub(super) const PACKED: i64 = 2;

/// For what a deposit waits for: zstd's first level with the window of a whole pack, matches of seven bytes and more, and the
/// table for these that fits the first cache of a processor. Packs take four fifths of the time of level 3, and 3 to 5 % more
/// space; at level 1 as it is, a sixth more.
pub(super) const FAST: Effort = Effort { level: 1, tuned: &[WindowLog(21), HashLog(15), MinMatch(7)] };

/// For what is compressed by itself: zstd's own balance of speed and size.
pub(super) const USUAL: Effort = Effort { level: 3, tuned: &[] };

/// Small packs are merged beside the work, a few at a time, so that it pays to look further: 8 % less space than at level 3.
pub(super) const THOROUGH: Effort = Effort { level: 7, tuned: &[] };

/// How much is done to compress.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    level: i32,
    tuned: &'static [CParameter],
}

/// The length of a checksum in bytes.
const CHECKSUM: usize = 8;

/// What a pack is known by again, as [`Unpacker::unpack_pack`] compares it. Each of its lines has a digest.
pub(super) fn pack_checksum(pack: &[u8]) -> Vec<u8> {
    let mut fingerprinter = Fingerprinter::default();
    fingerprinter.update(pack);
    fingerprinter.finish().checksum.to_le_bytes().to_vec()
}

/// What bytes are known by again, as [`Unpacker::unpack`] compares it.
pub(super) fn checksum(bytes: &[u8]) -> Vec<u8> {
    Digest::of(bytes).as_bytes().iter().take(CHECKSUM).copied().collect()
}

/// Compresses line after line with one compressor, made when the first line comes, and one buffer, which grow to the longest
/// line.
pub(super) struct Packer {
    effort: Effort,
    compressor: Option<zstd::bulk::Compressor<'static>>,
    buffer: Vec<u8>,
}

impl Packer {
    pub(super) const fn new(effort: Effort) -> Self {
        Self { effort, compressor: None, buffer: Vec::new() }
    }

    /// The codec and the bytes that keep `line`.
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

/// Unpacks line after line with one decompressor, made when the first compressed line comes.
#[derive(Default)]
pub(super) struct Unpacker {
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
}

impl Unpacker {
    /// The bytes that `content` keeps; `None` unless they are of this length and their digest begins with `checksum`.
    pub(super) fn unpack(&mut self, codec: i64, content: Vec<u8>, bytes: u64, checksum: &[u8]) -> Option<Vec<u8>> {
        let unpacked = self.plain(codec, content, bytes)?;
        // One that was cut short by damage proves nothing.
        (checksum.len() >= CHECKSUM && Digest::of(&unpacked).as_bytes().starts_with(checksum)).then_some(unpacked)
    }

    /// The pack that `content` keeps; `None` unless it is of this length and `checksum` is that of [`pack_checksum`].
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
