//! Which lines of a session are active, in few bytes.

use ctxc_transcript::{LineNo, LineSet};

/// The lines of `set` as the lengths of runs, by turns of those that are not in it and those that are, from the first on.
pub(super) fn pack(set: &LineSet) -> Vec<u8> {
    let mut packed = Vec::new();
    // The run that is not written down yet.
    let mut start = 0;
    let mut end = 0;
    for LineNo(line) in set.iter() {
        if line != end || packed.is_empty() {
            if !packed.is_empty() {
                number(end - start, &mut packed);
            }
            number(line - end, &mut packed);
            start = line;
        }
        end = line + 1;
    }
    number(end - start, &mut packed);
    packed
}

/// Whether `line` is in the set that `packed` stands for.
#[must_use]
pub fn is_active(packed: &[u8], line: u32) -> bool {
    let mut at: u32 = 0;
    let mut is_in = false;
    let mut rest = packed;
    while let Some((run, left)) = take(rest) {
        at = at.saturating_add(run);
        if line < at {
            return is_in;
        }
        (is_in, rest) = (!is_in, left);
    }
    false
}

fn number(mut number: u32, packed: &mut Vec<u8>) {
    while number >= 0x80 {
        let [low, ..] = number.to_le_bytes();
        packed.push(0x80 | low);
        number >>= 7;
    }
    let [low, ..] = number.to_le_bytes();
    packed.push(low);
}

fn take(packed: &[u8]) -> Option<(u32, &[u8])> {
    let mut number = 0;
    for (at, byte) in packed.iter().enumerate() {
        number |= u32::from(byte & 0x7f).checked_shl(7 * u32::try_from(at).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((number, packed.get(at + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};

    proptest! {
        // W-06
        #[test]
        fn w_06_active_lines_are_known_again(lines in prop::collection::btree_set(0u32..2_000, 0..200), all in any::<bool>()) {
            let set: LineSet = if all { (0..2_000).map(LineNo).collect() } else { lines.iter().copied().map(LineNo).collect() };
            let packed = pack(&set);
            for line in 0..2_100 {
                prop_assert_eq!(is_active(&packed, line), set.contains(LineNo(line)));
            }
        }
    }
}
