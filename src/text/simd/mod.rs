//! Bytes 64 at a time, as bit masks, by what the CPU at hand does best.
//!
//! A [`Pass`] is written once, over a block of 64 bytes and two operations on it, and compiled once for each
//! [`Level`]. What flows out is what the pass makes of its masks; no level knows of JSON more than the
//! classes of bytes below.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod level;
mod portable;

pub use level::Level;

/// How many bytes are looked at in one step.
pub const BLOCK: usize = 64;

/// The classes of bytes that a mask can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `"`
    Quote,
    /// `\`
    Backslash,
    /// Below 0x20: what JSON forbids in strings.
    Control,
    /// Quotes, backslashes and control bytes in one.
    Special,
    /// `{}[]:,`. Bytes of the class [`Class::Control`] may be among them.
    Operator,
    /// What may follow a backslash in JSON: `"\/bfnrtu`.
    Escapable,
    /// The letter `u`.
    LetterU,
    /// Outside ASCII.
    High,
    /// A continuation byte of UTF-8.
    Continuation,
    /// The first byte of a character of four bytes of UTF-8.
    FourBytes,
}

/// Work on a text that goes over it in blocks.
pub trait Pass {
    /// What the pass gives.
    type Output;

    /// Does the work. `mask` has bit `i` set where byte `i` of a block is of the class; `prefix_xor` sets bit `i`
    /// to the parity of the bits `0..=i`; `spread` writes where the bits stand, counted from `start`, and may
    /// write anything behind. To be `#[inline(always)]`, so that it is compiled for each level.
    fn run<M, P, S>(self, mask: M, prefix_xor: P, spread: S) -> Self::Output
    where
        M: Fn(&[u8; BLOCK], Class) -> u64,
        P: Fn(u64) -> u64,
        S: Fn(u64, u32, &mut [u32; BLOCK]);
}

/// The block that `rest`, shorter than one, starts, in `spaces`, which are what its other bytes remain.
#[inline(always)]
pub fn pad<'a>(spaces: &'a mut [u8; BLOCK], rest: &[u8]) -> &'a [u8; BLOCK] {
    if let Some(head) = spaces.get_mut(..rest.len()) {
        head.copy_from_slice(rest);
    }
    spaces
}

/// The bytes of a block that a backslash before them escapes, and one when the block ends in a backslash that
/// escapes the next byte, from where the backslashes stand and the same of the block before.
#[inline(always)]
pub const fn escaped_bytes(backslash: u64, escaped: u64) -> (u64, u64) {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let backslash = backslash & !escaped;
    let follows = backslash << 1 | escaped;
    let odd_starts = backslash & !EVEN & !follows;
    let (even_sequences, overflow) = odd_starts.overflowing_add(backslash);
    ((EVEN ^ (even_sequences << 1)) & follows, overflow as u64)
}
