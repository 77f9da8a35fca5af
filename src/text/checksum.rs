//! A checksum of long streams, by which a change shows: fast, and of no use against one who wants to hide it.
//!
//! Words of eight bytes go round over 32 lanes. Each lane takes a word in by an exclusive or and then makes one
//! step of a multiply-with-carry generator (Marsaglia 1994), so that it depends on the order of its words, and
//! equal words do not cancel out. XXH3 makes one number of the lanes, the rest of the stream and its length.
#![expect(clippy::inline_always, reason = "a pass is compiled for each level")]

use super::simd::{BLOCK, Class, Level, Pass};

const N_LANES: usize = 32;
const STRIPE: usize = 8 * N_LANES;
/// `MULTIPLIER << 32 - 1` is a safe prime, so that the period is long.
const MULTIPLIER: u64 = 0xFFFE_B81B;

/// The state of a checksum.
#[derive(Clone, Debug)]
pub(crate) struct Checksum {
    lanes: [u64; N_LANES],
    /// What does not fill a stripe yet, and how much of it there is.
    pending: [u8; STRIPE],
    n_pending: usize,
    len: u64,
}

impl Default for Checksum {
    fn default() -> Self {
        // Lanes differ, so that words may not change places unseen. The multiples are those of the golden ratio.
        let lanes = std::array::from_fn(|lane| 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(lane as u64 + 1));
        Self { lanes, pending: [0; STRIPE], n_pending: 0, len: 0 }
    }
}

impl Checksum {
    /// Takes in what follows.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.update_at(Level::best(), bytes);
    }

    fn update_at(&mut self, level: Level, mut bytes: &[u8]) {
        self.len += bytes.len() as u64;
        if self.n_pending > 0 {
            let room = self.pending.get_mut(self.n_pending..).unwrap_or_default();
            let (head, rest) = bytes.split_at(room.len().min(bytes.len()));
            room.iter_mut().zip(head).for_each(|(to, from)| *to = *from);
            self.n_pending += head.len();
            bytes = rest;
            if self.n_pending < STRIPE {
                return;
            }
            level.run(Stripes { lanes: &mut self.lanes, stripes: &[self.pending] });
        }
        let (stripes, rest) = bytes.as_chunks();
        level.run(Stripes { lanes: &mut self.lanes, stripes });
        self.pending.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.n_pending = rest.len();
    }

    /// How many bytes were taken in.
    #[must_use]
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// The checksum of what was taken in, however it was cut.
    #[must_use]
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = xxhash_rust::xxh3::Xxh3Default::new();
        self.lanes.iter().for_each(|lane| hasher.update(&lane.to_le_bytes()));
        hasher.update(self.pending.get(..self.n_pending).unwrap_or_default());
        hasher.update(&self.len.to_le_bytes());
        hasher.digest()
    }
}

struct Stripes<'a> {
    lanes: &'a mut [u64; N_LANES],
    stripes: &'a [[u8; STRIPE]],
}

impl Pass for Stripes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<M, P, S>(self, _: M, _: P, _: S)
    where
        M: Fn(&[u8; BLOCK], Class) -> u64,
        P: Fn(u64) -> u64,
        S: Fn(u64, u32, &mut [u32; BLOCK]),
    {
        let mut lanes = *self.lanes;
        for stripe in self.stripes {
            let (words, _) = stripe.as_chunks::<8>();
            for (lane, word) in lanes.iter_mut().zip(words) {
                let mixed = *lane ^ u64::from_le_bytes(*word);
                *lane = (mixed & 0xFFFF_FFFF) * MULTIPLIER + (mixed >> 32);
            }
        }
        *self.lanes = lanes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn digest(level: Level, bytes: &[u8], step: usize) -> u64 {
        let mut checksum = Checksum::default();
        bytes.chunks(step).for_each(|chunk| checksum.update_at(level, chunk));
        checksum.digest()
    }

    proptest! {
        #[test]
        fn every_level_and_every_cut_gives_the_same(len in 0..2000usize, seed in any::<u8>(), step in 1..700usize) {
            let bytes: Vec<u8> = (0..len).map(|at| (at * at).to_le_bytes()[0] ^ seed).collect();
            let whole = digest(Level::best(), &bytes, len.max(1));
            for level in Level::all() {
                prop_assert_eq!(digest(level, &bytes, step), whole);
            }
        }

        #[test]
        fn a_change_shows(mut bytes in prop::collection::vec(any::<u8>(), 1..2000), at in any::<prop::sample::Index>(), by in 1..=255u8, with in any::<prop::sample::Index>()) {
            let before = digest(Level::best(), &bytes, 512);
            let (at, with) = (at.index(bytes.len()), with.index(bytes.len()));
            if bytes[at] != bytes[with] {
                bytes.swap(at, with);
                prop_assert_ne!(digest(Level::best(), &bytes, 512), before);
                bytes.swap(at, with);
            }
            bytes[at] ^= by;
            prop_assert_ne!(digest(Level::best(), &bytes, 512), before);
            bytes[at] ^= by;
            bytes.push(0);
            prop_assert_ne!(digest(Level::best(), &bytes, 512), before);
        }

        #[test]
        fn stripes_have_an_order(stripes in prop::collection::vec(any::<u8>(), 3..20), at in any::<prop::sample::Index>()) {
            let at = at.index(stripes.len() - 1);
            prop_assume!(stripes[at] != stripes[at + 1]);
            let bytes = |stripes: &[u8]| stripes.iter().flat_map(|&byte| [byte; STRIPE]).collect::<Vec<u8>>();
            let mut swapped = stripes.clone();
            swapped.swap(at, at + 1);
            prop_assert_ne!(digest(Level::best(), &bytes(&stripes), 512), digest(Level::best(), &bytes(&swapped), 512));
        }
    }
}
