//! A query carried out word by word, which serves for as much as fits into memory.

use std::cmp::Reverse;

use crate::archive::{Hit, Query, terms};

/// How soon a word that is there more often adds nothing, and how much the length of an entry counts: as in FTS5.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// How the words of a term are compared with those of an entry.
#[derive(Clone, Copy)]
enum Fit {
    /// They are the same.
    Whole,
    /// The first may have something before it, the last something behind it.
    Part,
}

/// Those of `entries`, oldest first, that `query` finds, best first.
pub(super) fn matching(entries: &[Hit], query: &Query<'_>) -> Vec<Hit> {
    let terms = terms::terms(query.text);
    let words: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| terms::words(&entry.document.text).map(std::borrow::Cow::into_owned).collect())
        .collect();
    let counts = |fit| terms.iter().map(|term| words.iter().map(|words| count(term, words, fit)).collect()).collect();
    let (whole, part): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (counts(Fit::Whole), counts(Fit::Part));
    let lengths: Vec<f64> = words.iter().map(|words| to_float(words.len())).collect();
    let mut found = ranked(&whole, &lengths, |counts| counts.iter().all(|count| *count > 0.0));
    for entry_idx in ranked(&part, &lengths, |counts| counts.iter().all(|count| *count > 0.0)) {
        if !found.contains(&entry_idx) {
            found.push(entry_idx);
        }
    }
    if found.is_empty() {
        found = ranked(&part, &lengths, |counts| counts.iter().any(|count| *count > 0.0));
    }
    let wanted = found.into_iter().filter_map(|entry_idx| entries.get(entry_idx).cloned());
    wanted.filter(|hit| !terms.is_empty() && query.admits(&hit.document)).take(query.limit as usize).collect()
}

/// The entries whose counts, one for each term, are `enough`, by the rank that BM25 gives them; of equal ones the
/// newest first.
fn ranked(counts: &[Vec<f64>], lengths: &[f64], enough: fn(&[f64]) -> bool) -> Vec<usize> {
    let n_entries = to_float(lengths.len());
    let average = lengths.iter().sum::<f64>() / n_entries.max(1.0);
    let weights: Vec<f64> = counts
        .iter()
        .map(|of_term| {
            let n_with = to_float(of_term.iter().filter(|count| **count > 0.0).count());
            ((n_entries - n_with + 0.5) / (n_with + 0.5)).ln().max(1e-6)
        })
        .collect();
    let mut ranked: Vec<(usize, f64)> = Vec::new();
    for (entry_idx, length) in lengths.iter().enumerate() {
        let of_entry: Vec<f64> =
            counts.iter().map(|of_term| of_term.get(entry_idx).copied().unwrap_or_default()).collect();
        if enough(&of_entry) {
            let frequency = |count: f64| count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / average.max(1.0)));
            let score = weights.iter().zip(&of_entry).map(|(weight, count)| weight * frequency(*count)).sum();
            ranked.push((entry_idx, score));
        }
    }
    ranked.sort_by(|(left_idx, left), (right_idx, right)| {
        right.total_cmp(left).then(Reverse(left_idx).cmp(&Reverse(right_idx)))
    });
    ranked.into_iter().map(|(entry_idx, _)| entry_idx).collect()
}

/// How often the words of `term` follow each other in `words`.
fn count(term: &[String], words: &[String], fit: Fit) -> f64 {
    to_float(words.windows(term.len().max(1)).filter(|window| fits(term, window, fit)).count())
}

fn fits(term: &[String], window: &[String], fit: Fit) -> bool {
    match (fit, term, window) {
        (Fit::Whole, ..) => term == window,
        (Fit::Part, [word], [found]) => found.contains(word.as_str()),
        (Fit::Part, [first, middle @ .., last], [found, between @ .., end]) => {
            found.ends_with(first.as_str()) && middle == between && end.starts_with(last.as_str())
        }
        (Fit::Part, ..) => false,
    }
}

#[expect(clippy::cast_precision_loss, reason = "what is counted is in memory")]
const fn to_float(count: usize) -> f64 {
    count as f64
}
