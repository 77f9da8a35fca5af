//! Merges two rankings.

use std::collections::HashMap;

use crate::{DocumentId, Hit};

/// The constant that dampens the first ranks, as Cormack, Clarke and Büttcher chose it ("Reciprocal Rank Fusion outperforms
/// Condorcet and individual Rank Learning Methods", SIGIR 2009).
const K: f64 = 60.0;

/// Up to `limit` entries of both lists, each best first, by the sum of 1 / (60 + rank). Of equal ones, those of `words` come
/// first.
#[must_use]
pub fn fuse_rankings(words: Vec<Hit>, meaning: Vec<Hit>, limit: u32) -> Vec<Hit> {
    let mut scores: HashMap<DocumentId, f64> = HashMap::new();
    let mut fused: Vec<Hit> = Vec::new();
    for list in [words, meaning] {
        for (place, hit) in (1_u32..).zip(list) {
            let score = scores.entry(hit.id).or_insert_with_key(|_| {
                fused.push(hit);
                0.0
            });
            *score += 1.0 / (K + f64::from(place));
        }
    }
    let score = |hit: &Hit| scores.get(&hit.id).copied().unwrap_or_default();
    fused.sort_by(|left, right| score(right).total_cmp(&score(left)));
    fused.truncate(limit as usize);
    fused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, DocumentKind};
    use ctxc_transcript::text::Digest;

    fn hits(names: &str) -> Vec<Hit> {
        let hit = |name: char| {
            let document = Document {
                kind: DocumentKind::Prompt,
                session: None,
                speaker: None,
                time: None,
                text: name.to_string(),
            };
            Hit { id: DocumentId::Line(Digest::of(name.to_string().as_bytes())), document, operation: None }
        };
        names.chars().map(hit).collect()
    }

    fn names(hits: Vec<Hit>) -> String {
        hits.into_iter().map(|hit| hit.document.text).collect()
    }

    //
    #[test]
    fn a_05_what_both_ranks_know_comes_first() {
        let cases = [
            ("abc", "cxy", 10, "cabxy"),
            ("abc", "", 10, "abc"),
            ("", "xyz", 2, "xy"),
            ("ab", "ba", 10, "ab"),
            ("", "", 10, ""),
        ];
        for (words, meaning, limit, fused) in cases {
            assert_eq!(names(fuse_rankings(hits(words), hits(meaning), limit)), fused, "{words} {meaning}");
        }
    }
}
