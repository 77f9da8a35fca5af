//! Of splices of one line, those that hold: where two touch the same bytes the newest (N-02).

use std::collections::BTreeMap;

use ctxc_transcript::edit::Splice;

/// Splices of one line, taken newest first, of which none touch the same bytes.
#[derive(Debug)]
pub struct Newest<T> {
    /// By start and end in bytes. As no two touch, later starts have later ends.
    kept: BTreeMap<(u32, u32), (Splice, T)>,
}

impl<T> Default for Newest<T> {
    fn default() -> Self {
        Self { kept: BTreeMap::new() }
    }
}

impl<T> Newest<T> {
    /// Keeps `splice`, with what belongs to it, unless a newer one touches its bytes or inserts at its place.
    pub fn offer(&mut self, splice: &Splice, with: T) {
        let (start, end) = (splice.span.start, splice.span.end);
        let before = self.kept.range(..(end, 0)).next_back();
        let is_covered = before.is_some_and(|((_, kept_end), _)| *kept_end > start);
        if !is_covered && !self.kept.contains_key(&(start, end)) {
            self.kept.insert((start, end), (splice.clone(), with));
        }
    }

    /// Those that hold, in the order of the line.
    pub fn into_splices(self) -> impl Iterator<Item = (Splice, T)> {
        self.kept.into_values()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ctxc_transcript::Span;

    fn held(spans: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let mut newest = Newest::default();
        for &(start, end) in spans {
            newest.offer(&Splice::new(Span::new(start, end), ""), ());
        }
        newest.into_splices().map(|(it, ())| (it.span.start as usize, it.span.end as usize)).collect()
    }

    // N-02
    #[test]
    fn n_02_the_newest_of_those_that_touch_holds() {
        assert_eq!(held(&[(5, 9), (5, 9), (0, 6), (8, 12)]), [(5, 9)]);
        assert_eq!(held(&[(5, 9), (0, 5), (9, 9), (9, 12), (7, 7), (5, 5)]), [(0, 5), (5, 5), (5, 9), (9, 9), (9, 12)]);
        assert_eq!(held(&[(9, 9), (9, 9), (8, 12)]), [(9, 9)], "an insertion inside");
    }

    proptest! {
        // N-02, Q-06: found among neighbours alone, and the same as by comparing each with all.
        #[test]
        fn n_02_neighbours_tell_as_much_as_all(spans in prop::collection::vec((0usize..30, 0usize..6), 0..30)) {
            let spans: Vec<(usize, usize)> = spans.into_iter().map(|(start, n)| (start, start + n)).collect();
            let mut kept: Vec<(usize, usize)> = Vec::new();
            for &(start, end) in &spans {
                if !kept.iter().any(|&(s, e)| (s, e) == (start, end) || (s < end && start < e)) {
                    kept.push((start, end));
                }
            }
            kept.sort_unstable();
            prop_assert_eq!(held(&spans), kept);
        }
    }
}
