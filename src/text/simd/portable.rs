//! The masks by arithmetic on words of eight bytes, for any machine.
#![expect(clippy::inline_always, reason = "it is compiled for each level")]

use super::{BLOCK, Class};

const ONES: u64 = 0x0101_0101_0101_0101;
const LOW: u64 = 0x7F * ONES;
const HIGH: u64 = 0x80 * ONES;

/// One bit a byte of `block`, set where it is of `class`.
#[inline]
pub(super) fn mask(block: &[u8; BLOCK], class: Class) -> u64 {
    let (words, _) = block.as_chunks::<8>();
    words.iter().rev().fold(0, |mask, bytes| mask << 8 | gather(flags(u64::from_le_bytes(*bytes), class)))
}

/// Bit `i` of the result is the parity of the bits `0..=i` of `bits`.
#[inline]
pub(super) const fn prefix_xor(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^ bits << 32
}

/// Writes where the bits stand, counted from `start`. Four at a time without looking: to guess wrongly when to
/// stop costs more than a few stores.
#[inline(always)]
pub(super) fn spread(mut bits: u64, start: u32, positions: &mut [u32; BLOCK]) {
    for slots in positions.as_chunks_mut::<4>().0 {
        if bits == 0 {
            break;
        }
        for slot in slots {
            *slot = start + bits.trailing_zeros();
            bits &= bits.wrapping_sub(1);
        }
    }
}

/// The top bit of each byte of `word`, set where it is of `class`.
#[inline]
fn flags(word: u64, class: Class) -> u64 {
    // `[` and `{`, and `]` and `}`, differ in one bit.
    let folded = word | (0x20 * ONES);
    match class {
        Class::Quote => equal(word, b'"'),
        Class::Backslash => equal(word, b'\\'),
        Class::Control => below(word, 0x20),
        Class::Special => equal(word, b'"') | equal(word, b'\\') | below(word, 0x20),
        Class::Operator => equal(word, b',') | equal(word, b':') | equal(folded, b'{') | equal(folded, b'}'),
        Class::Escapable => b"\"\\/bfnrtu".iter().fold(0, |flags, &byte| flags | equal(word, byte)),
        Class::LetterU => equal(word, b'u'),
        Class::High => word & HIGH,
        Class::Continuation => word & !(word << 1) & HIGH,
        Class::FourBytes => word & word << 1 & word << 2 & word << 3 & HIGH,
    }
}

/// Exact for every byte: no carry leaves the one it is of.
#[inline]
const fn equal(word: u64, byte: u8) -> u64 {
    let differs = word ^ (byte as u64 * ONES);
    !(((differs & LOW) + LOW) | differs) & HIGH
}

/// Where a byte is below `limit`, itself below 0x80.
#[inline]
const fn below(word: u64, limit: u8) -> u64 {
    !(((word & LOW) + (0x80 - limit as u64) * ONES) | word) & HIGH
}

/// The top bits of the eight bytes, side by side.
#[inline]
const fn gather(flags: u64) -> u64 {
    // The multiplication moves bit `8 * i` to bit `56 + i`.
    (flags >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
