//! The first stage of the walk: where the structural bytes of a JSON text stand, 64 bytes at a time.
//!
//! The method is that of Langdale and Lemire, "Parsing Gigabytes of JSON per Second" (2019), sections 3.1.1
//! to 3.1.4: bit masks of quotes and backslashes tell which bytes lie inside strings; what is left of
//! `{}[]:,` outside them, with the quotes themselves, is structural. Unlike there the masks are made on
//! demand, so that a line of any length needs no memory of its own.

use wide::u8x16;

const BLOCK: usize = 64;

/// A text that the walk rejects: it is not JSON, or the walk does not understand it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rejected;

/// The structural bytes of one JSON text, in order.
pub(super) struct Structurals<'a> {
    text: &'a [u8],
    /// Where the current block ends and the next one starts.
    next_block: usize,
    /// The structural bytes of the current block that are still to come.
    mask: u64,
    /// All ones while the block before ended inside a string.
    in_string: u64,
    /// One when the block before ended in a backslash that escapes the first byte of this one.
    escaped: u64,
}

impl<'a> Structurals<'a> {
    pub(super) const fn new(text: &'a [u8]) -> Self {
        Self { text, next_block: 0, mask: 0, in_string: 0, escaped: 0 }
    }

    /// The position of the next structural byte, or the length of the text when there is none.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<usize, Rejected> {
        while self.mask == 0 {
            if self.next_block >= self.text.len() {
                return if self.in_string == 0 { Ok(self.text.len()) } else { Err(Rejected) };
            }
            self.load()?;
        }
        let bit = self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Ok(self.next_block - BLOCK + bit)
    }

    fn load(&mut self) -> Result<(), Rejected> {
        if let Some(block) = self.text.get(self.next_block..).and_then(|rest| rest.first_chunk()) {
            return self.load_block(block);
        }
        let mut padded = [b' '; BLOCK];
        let tail = self.text.get(self.next_block..).unwrap_or_default();
        padded.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
        self.load_block(&padded)
    }

    #[inline]
    fn load_block(&mut self, block: &[u8; BLOCK]) -> Result<(), Rejected> {
        let start = self.next_block;
        self.next_block += BLOCK;
        let lanes = lanes(block);
        let quote = bitmask(lanes.map(|lane| lane.simd_eq(u8x16::splat(b'"'))));
        let escaping = lanes.map(|lane| lane.simd_eq(u8x16::splat(b'\\')));
        let backslash = if any(escaping) { bitmask(escaping) } else { 0 };
        let escaped = self.escaped_bytes(backslash);
        let quotes = quote & !escaped;
        let in_string = if quotes == 0 { self.in_string } else { prefix_xor(quotes) ^ self.in_string };
        self.in_string = if in_string >> 63 == 1 { u64::MAX } else { 0 };
        let control = lanes.map(|lane| lane.min(u8x16::splat(0x1F)).simd_eq(lane));
        if any(control) && bitmask(control) & in_string != 0 {
            return Err(Rejected);
        }
        if escaped & in_string != 0 {
            self.check_escapes(start, escaped & in_string)?;
        }
        let operators = if in_string == u64::MAX { 0 } else { operators(&lanes) };
        self.mask = (operators & !in_string) | quotes;
        Ok(())
    }

    /// The bytes that a backslash before them escapes.
    #[inline]
    const fn escaped_bytes(&mut self, backslash: u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        if backslash == 0 {
            let escaped = self.escaped;
            self.escaped = 0;
            return escaped;
        }
        let backslash = backslash & !self.escaped;
        let follows = backslash << 1 | self.escaped;
        let odd_starts = backslash & !EVEN & !follows;
        let (even_sequences, overflow) = odd_starts.overflowing_add(backslash);
        self.escaped = overflow as u64;
        (EVEN ^ (even_sequences << 1)) & follows
    }

    /// Holds the escaped bytes of the block at `start` against the escapes that JSON knows.
    fn check_escapes(&self, start: usize, mut escaped: u64) -> Result<(), Rejected> {
        while escaped != 0 {
            let at = start + escaped.trailing_zeros() as usize;
            escaped &= escaped - 1;
            match self.text.get(at) {
                Some(b'n' | b'"' | b'\\' | b't' | b'r' | b'/' | b'b' | b'f') => {}
                Some(b'u') => {
                    let digits = self.text.get(at + 1..at + 5).ok_or(Rejected)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return Err(Rejected);
                    }
                }
                _ => return Err(Rejected),
            }
        }
        Ok(())
    }
}

#[inline]
fn lanes(block: &[u8; BLOCK]) -> [u8x16; 4] {
    let (lanes, _) = block.as_chunks::<16>();
    // A block has four lanes of 16 bytes, so none is missing.
    std::array::from_fn(|lane| lanes.get(lane).map_or(u8x16::ZERO, |bytes| u8x16::from(*bytes)))
}

/// One bit a byte, of lanes whose bytes are all ones or all zeroes.
#[inline]
fn bitmask(lanes: [u8x16; 4]) -> u64 {
    let [a, b, c, d] = lanes.map(|lane| u64::from(lane.to_bitmask()));
    a | b << 16 | c << 32 | d << 48
}

#[inline]
fn any(lanes: [u8x16; 4]) -> bool {
    let [a, b, c, d] = lanes;
    ((a | b) | (c | d)).to_bitmask() != 0
}

/// The bytes `{}[]:,`.
#[inline]
fn operators(lanes: &[u8x16; 4]) -> u64 {
    bitmask(lanes.map(|lane| {
        // `[` and `{`, and `]` and `}`, differ in one bit.
        let folded = lane | u8x16::splat(0x20);
        lane.simd_eq(u8x16::splat(b','))
            | lane.simd_eq(u8x16::splat(b':'))
            | folded.simd_eq(u8x16::splat(b'{'))
            | folded.simd_eq(u8x16::splat(b'}'))
    }))
}

/// Bit `i` of the result is the parity of the bits `0..=i` of `bits`.
#[inline]
const fn prefix_xor(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^ bits << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structurals(text: &[u8]) -> Result<Vec<usize>, Rejected> {
        let mut walk = Structurals::new(text);
        let mut positions = Vec::new();
        loop {
            let at = walk.advance()?;
            if at == text.len() {
                return Ok(positions);
            }
            positions.push(at);
        }
    }

    #[test]
    fn strings_hide_what_they_hold() {
        assert_eq!(structurals(br#"{"a":"[,\"}","b":1}"#), Ok(vec![0, 1, 3, 4, 5, 11, 12, 13, 15, 16, 18]));
    }

    #[test]
    fn backslashes_reach_over_block_borders() {
        for pad in 0..140 {
            for n_backslashes in 0..5 {
                let text = format!("\"{}{}\"", "x".repeat(pad), "\\".repeat(n_backslashes * 2));
                assert_eq!(structurals(text.as_bytes()), Ok(vec![0, text.len() - 1]), "{text}");
                let odd = format!("\"{}{}\"", "x".repeat(pad), "\\".repeat(n_backslashes * 2 + 1));
                assert_eq!(structurals(odd.as_bytes()), Err(Rejected), "{odd}");
            }
        }
    }

    #[test]
    fn what_json_forbids_in_strings_is_rejected() {
        for text in ["\"tab\tin\"", "\"nul\0\"", r#""\q""#, r#""\u12g4""#, r#""\u12"#, "\"open"] {
            assert_eq!(structurals(text.as_bytes()), Err(Rejected), "{text}");
        }
    }
}
