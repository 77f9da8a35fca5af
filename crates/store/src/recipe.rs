//! How a source is built again from its output, and how that is written down.
//!
//! A recipe of a long transcript has some 100,000 steps, so they are packed before they are compressed: first
//! the steps as varints, runs of originals as one, then the digests, which no compressor can shrink.

use std::io::{self, Write};

use super::codec::{put_varint, take_array, take_varint};
use ctxc_transcript::text::Digest;

/// One step of a recipe. The output is read from its first line on; each step says what the source has next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecipeStep {
    /// The next lines of the output, as they are.
    Copy {
        /// How many lines.
        lines: u64,
        /// With a value, the output's session id in these lines gives way to the one that the operation's
        /// `session_ids` have at this place.
        session: Option<u32>,
    },
    /// The line of this digest, from the archive. It takes no line of the output.
    Original(Digest),
    /// Nothing: these next lines of the output were not in the source.
    Skip {
        /// How many lines.
        lines: u64,
    },
}

/// The form of an encoded recipe, its first byte.
const FORM: u8 = 1;
/// Compression of a recipe: it is mostly short numbers, higher levels gain nothing.
const ZSTD_LEVEL: i32 = 3;

const COPY: u8 = 0;
const COPY_WITH_SESSION: u8 = 1;
const ORIGINALS: u8 = 2;
const SKIP: u8 = 3;

/// The steps in a compact form that [`decode`] reads.
///
/// # Errors
/// When the compressor fails, which only want of memory brings about.
pub(super) fn encode(steps: &[RecipeStep]) -> io::Result<Vec<u8>> {
    let runs = steps.chunk_by(|a, b| matches!((a, b), (RecipeStep::Original(_), RecipeStep::Original(_))));
    let mut packed = Vec::new();
    for run in runs {
        match run.first() {
            Some(RecipeStep::Copy { lines, session: None }) => put_step(&mut packed, COPY, *lines),
            Some(RecipeStep::Copy { lines, session: Some(session) }) => {
                put_step(&mut packed, COPY_WITH_SESSION, *lines);
                put_varint(&mut packed, u64::from(*session));
            }
            Some(RecipeStep::Skip { lines }) => put_step(&mut packed, SKIP, *lines),
            Some(RecipeStep::Original(_)) => put_step(&mut packed, ORIGINALS, run.len() as u64),
            None => {}
        }
    }
    let mut n_packed = Vec::new();
    put_varint(&mut n_packed, packed.len() as u64);
    // Straight into the compressor: the digests of a long recipe are some 10 MB, no need to hold them twice.
    let mut encoder = zstd::stream::write::Encoder::new(vec![FORM], ZSTD_LEVEL)?;
    encoder.write_all(&n_packed)?;
    encoder.write_all(&packed)?;
    for step in steps {
        if let RecipeStep::Original(digest) = step {
            encoder.write_all(digest.as_bytes())?;
        }
    }
    encoder.finish()
}

fn put_step(packed: &mut Vec<u8>, kind: u8, lines: u64) {
    packed.push(kind);
    put_varint(packed, lines);
}

/// The steps that [`encode`] wrote.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] when `encoded` is not what `encode` writes.
pub(super) fn decode(encoded: &[u8]) -> io::Result<Vec<RecipeStep>> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "not a recipe that this version can read");
    let Some((&FORM, compressed)) = encoded.split_first() else { return Err(invalid()) };
    let plain = zstd::stream::decode_all(compressed).map_err(|_| invalid())?;
    unpack(&plain).ok_or_else(invalid)
}

fn unpack(plain: &[u8]) -> Option<Vec<RecipeStep>> {
    let mut rest = plain;
    let packed_len = usize::try_from(take_varint(&mut rest)?).ok()?;
    let (mut packed, mut digests) = rest.split_at_checked(packed_len)?;
    let mut steps = Vec::new();
    while let Some((&kind, after)) = packed.split_first() {
        packed = after;
        let lines = take_varint(&mut packed)?;
        match kind {
            COPY => steps.push(RecipeStep::Copy { lines, session: None }),
            COPY_WITH_SESSION => {
                let session = u32::try_from(take_varint(&mut packed)?).ok()?;
                steps.push(RecipeStep::Copy { lines, session: Some(session) });
            }
            ORIGINALS => {
                for _ in 0..lines {
                    steps.push(RecipeStep::Original(Digest::from_bytes(take_array(&mut digests)?)));
                }
            }
            SKIP => steps.push(RecipeStep::Skip { lines }),
            _ => return None,
        }
    }
    digests.is_empty().then_some(steps)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};

    use super::*;

    fn any_step() -> impl Strategy<Value = RecipeStep> {
        prop_oneof![
            (any::<u64>(), any::<Option<u32>>()).prop_map(|(lines, session)| RecipeStep::Copy { lines, session }),
            any::<[u8; 32]>().prop_map(|bytes| RecipeStep::Original(Digest::from_bytes(bytes))),
            Just(RecipeStep::Original(Digest::of(b"twice"))),
            any::<u64>().prop_map(|lines| RecipeStep::Skip { lines }),
        ]
    }

    proptest! {
        #[test]
        fn a_02_a_recipe_reads_back(steps in proptest::collection::vec(any_step(), 0..40)) {
            prop_assert_eq!(decode(&encode(&steps).unwrap()).unwrap(), steps);
        }

        #[test]
        fn a_02_bytes_that_are_no_recipe_are_an_error_and_no_panic(bytes in any::<Vec<u8>>(), plain in any::<Vec<u8>>()) {
            let _ = decode(&bytes);
            let _ = unpack(&plain);
        }
    }

    #[test]
    fn a_02_a_recipe_cut_short_is_an_error() {
        let encoded = encode(&[RecipeStep::Original(Digest::of(b"a")), RecipeStep::Skip { lines: 3 }]).unwrap();
        for end in 0..encoded.len() {
            assert!(decode(&encoded[..end]).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn a_02_a_long_recipe_is_small() {
        let step = |n: u64| {
            if n.is_multiple_of(2) {
                RecipeStep::Copy { lines: 1, session: Some(0) }
            } else {
                RecipeStep::Skip { lines: 1 }
            }
        };
        let encoded = encode(&(0..200_000).map(step).collect::<Vec<_>>()).unwrap();
        assert!(encoded.len() < 1000, "{} bytes", encoded.len());
    }
}
