//! Helpers that passes share.

use super::BLOCK;

/// The block that `rest`, shorter than one, starts, in `spaces`, which are what its other bytes remain.
#[inline]
pub(crate) fn pad_block<'a>(spaces: &'a mut [u8; BLOCK], rest: &[u8]) -> &'a [u8; BLOCK] {
    if let Some(head) = spaces.get_mut(..rest.len()) {
        head.copy_from_slice(rest);
    }
    spaces
}

/// The bytes of a block that a backslash before them escapes, and one when the block ends in a backslash that escapes
/// the next byte; from the mask of backslashes and the carry of the block before.
#[inline]
pub(crate) const fn escaped_bytes(backslash: u64, escaped: u64) -> (u64, u64) {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let backslash = backslash & !escaped;
    let follows = backslash << 1 | escaped;
    let odd_starts = backslash & !EVEN & !follows;
    let (even_sequences, overflow) = odd_starts.overflowing_add(backslash);
    ((EVEN ^ (even_sequences << 1)) & follows, overflow as u64)
}
