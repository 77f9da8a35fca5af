//! The lines that stay of a text when the text goes.

use std::collections::HashSet;

use super::collect::{Needs, cut, facts};
use super::source::Source;
use super::weights::chance;
use ctxc_transcript::IdHash;

/// The least chance for each character that keeps a line. It is the same for all texts: one with nothing that is needed keeps
/// nothing, and what stays of one does not depend on which others go.
const LEAST_WORTH: f32 = 0.000_3;
/// A line costs so many characters beside its own.
const OVERHEAD: usize = 8;

/// The facts of a conversation of which some texts go.
#[derive(Debug, Default)]
pub struct News {
    needs: Needs,
    /// The facts of texts that stay.
    shown: HashSet<IdHash>,
}

impl News {
    /// Reads a text of the current message, which goes.
    pub fn read(&mut self, source: Source, text: &str) {
        self.needs.read(source, None, text);
    }

    /// Reads a text of the current message, which stays.
    pub fn read_kept(&mut self, source: Source, text: &str) {
        self.read(source, text);
        self.shown.extend(facts(text).map(|word| IdHash::of(word.text.as_bytes())));
    }

    /// Ends a message: what is read next is from the one after.
    pub fn next_message(&mut self) {
        self.needs.next_message();
    }

    /// The pieces of `lines`, a text of message `at`, that the agent is likely to need: their facts are in no text that stays, and
    /// in no message after it. In their order, and together of at most `room` characters.
    #[must_use]
    pub fn lines<'t>(&self, lines: &[&'t str], at: u32, room: usize) -> Vec<&'t str> {
        let pieces: Vec<&str> = lines.iter().flat_map(|line| cut(line)).collect();
        let mut of_pieces: Vec<Vec<(&str, f32)>> = pieces.iter().map(|piece| self.new_facts(piece, at)).collect();
        let mut said: HashSet<&str> = HashSet::new();
        let (mut picked, mut used) = (Vec::new(), 0);
        loop {
            let mut best: Option<(f32, usize, usize)> = None;
            for (idx, (piece, facts)) in pieces.iter().zip(&mut of_pieces).enumerate() {
                facts.retain(|(name, _)| !said.contains(name));
                if facts.is_empty() {
                    continue;
                }
                let n_chars = piece.chars().count() + 1;
                #[expect(clippy::cast_precision_loss, reason = "a line has few characters")]
                let worth = facts.iter().map(|(_, chance)| chance).sum::<f32>() / (n_chars + OVERHEAD) as f32;
                if worth >= LEAST_WORTH && used + n_chars <= room && best.is_none_or(|(most, ..)| worth > most) {
                    best = Some((worth, idx, n_chars));
                }
            }
            let Some((_, idx, n_chars)) = best else { break };
            said.extend(of_pieces.get(idx).into_iter().flatten().map(|(name, _)| *name));
            used += n_chars;
            picked.push(idx);
        }
        picked.sort_unstable();
        picked.into_iter().filter_map(|idx| pieces.get(idx).copied()).collect()
    }

    /// The facts of `piece` that no text that stays has, and that message `at` is the last to name; each with its chance.
    fn new_facts<'t>(&self, piece: &'t str, at: u32) -> Vec<(&'t str, f32)> {
        let mut found: Vec<(&str, f32)> = Vec::new();
        for word in facts(piece) {
            if let Some(uses) = self.needs.uses.get(word.text).filter(|uses| uses.is_last_in(at))
                && !self.shown.contains(&IdHash::of(word.text.as_bytes()))
                && found.iter().all(|(name, _)| *name != word.text)
            {
                found.push((word.text, chance(uses.features(word.text, word.shape, self.needs.n_messages))));
            }
        }
        found
    }
}
