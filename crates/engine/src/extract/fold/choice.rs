//! Which candidates become items: those that say the most for their size, given what is taken already.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::section::Section;
use super::source::{Candidate, Group, Sources};
use super::summary::heading_units;
use crate::language::Classes;

/// What a section is worth besides what is new in an item of it, and how much of the room it may take before that fades.
const fn lift(section: Section) -> Lift {
    let (bonus, factor, share) = match section {
        Section::Asked => (5.0, 0.9, 0.5),
        Section::Decided => (5.0, 0.8, 0.25),
        Section::Rules => (4.0, 0.7, 0.2),
        Section::Failed => (3.0, 0.9, 0.3),
        Section::Open => (3.0, 0.6, 0.15),
        Section::Found => (2.0, 0.6, 0.2),
        Section::Also => (0.0, 0.0, 0.3),
    };
    Lift { bonus, factor, share }
}

#[derive(Clone, Copy)]
struct Lift {
    bonus: f32,
    factor: f32,
    share: f32,
}

/// What every item costs besides its units, so that slivers do not win by their shortness.
const OVERHEAD: usize = 24;
/// So much of what a candidate carries has to be new, or it says what was said before.
const LEAST_NEW: f32 = 0.3;
/// The same for one that decides, demands or reports: it does so about what was said before.
const LEAST_NEW_OF_CLASS: f32 = 0.12;
/// How far the first item of a section may go beyond its share.
const FIRST: f32 = 1.7;
/// How far below the next best, whose value may be out of date, the best may be and still be taken.
const CLOSE_ENOUGH: f32 = 0.92;
/// After so many in a row that do not fit, no other is looked at.
const MOST_MISSES: usize = 400;

/// The items so far.
pub(super) struct Choice<'s, 't> {
    sources: &'s Sources<'t>,
    /// UTF-16 units for all of them.
    room: usize,
    used: usize,
    /// The weight of each feature; none once it is told.
    left: Vec<f32>,
    taken: Vec<bool>,
    used_by_section: Vec<(Section, usize)>,
    used_by_zone: Vec<usize>,
}

impl<'s, 't> Choice<'s, 't> {
    /// No items, with room for `room` UTF-16 units.
    pub(super) fn new(sources: &'s Sources<'t>, room: usize) -> Self {
        Self {
            sources,
            room,
            used: 0,
            left: sources.features.weights.clone(),
            taken: vec![false; sources.candidates.len()],
            used_by_section: Section::ALL.map(|section| (section, 0)).to_vec(),
            used_by_zone: vec![0; sources.n_zones],
        }
    }

    /// The units that are used.
    pub(super) const fn used(&self) -> usize {
        self.used
    }

    /// The items, in the order of the conversation.
    pub(super) fn items(&self) -> Vec<(Section, &'s str)> {
        let taken = self.sources.candidates.iter().zip(&self.taken).filter(|(_, is_taken)| **is_taken);
        taken.map(|(candidate, _)| (candidate.section, &*candidate.text)).collect()
    }

    /// Takes the candidate where there is room up to `limit` units in all.
    pub(super) fn take(&mut self, idx: usize, limit: usize) -> bool {
        let Some(candidate) = self.sources.candidates.get(idx) else { return false };
        let is_first = self.section_used(candidate.section) == 0;
        let cost = candidate.cost + if is_first { heading_units(candidate.section) } else { 0 };
        let is_taken = self.taken.get(idx).copied().unwrap_or(true);
        if is_taken || self.used + cost > limit.min(self.room) {
            return false;
        }
        self.used += cost;
        if let Some(taken) = self.taken.get_mut(idx) {
            *taken = true;
        }
        for (section, used) in &mut self.used_by_section {
            *used += if *section == candidate.section { cost } else { 0 };
        }
        if let Some(used) = self.used_by_zone.get_mut(candidate.zone) {
            *used += cost;
        }
        let features = &self.sources.features;
        for id in candidate.pieces.clone().flat_map(|piece| features.of(piece)) {
            if let Some(weight) = self.left.get_mut(*id as usize) {
                *weight = 0.0;
            }
        }
        true
    }

    /// Takes the best candidate of each section that has none yet, where it takes no more than its share of what is left
    /// up to `limit`: none of them goes without because another has more to say.
    pub(super) fn take_one_of_each(&mut self, group: Group, limit: usize) {
        for section in Section::ALL {
            let left = limit.saturating_sub(self.used);
            let affordable = |candidate: &Candidate<'_>| ratio(candidate.cost, left) <= lift(section).share * FIRST;
            if self.section_used(section) > 0 || section == Section::Also {
                continue;
            }
            let of_section = self.sources.candidates.iter().enumerate().filter(|(_, candidate)| {
                candidate.group == group && candidate.section == section && affordable(candidate)
            });
            let best = of_section.filter_map(|(idx, candidate)| self.ranked(idx, candidate)).max();
            if let Some((_, Reverse(idx))) = best {
                self.take(idx, limit);
            }
        }
    }

    /// Takes the best candidates of `group` as long as there is room up to `limit` units in all.
    pub(super) fn run(&mut self, group: Group, limit: usize) {
        let of_group = self.sources.candidates.iter().enumerate().filter(|(_, candidate)| candidate.group == group);
        let mut heap: BinaryHeap<(u32, Reverse<usize>)> =
            of_group.filter_map(|(idx, candidate)| self.ranked(idx, candidate)).collect();
        let mut n_misses = 0;
        while let Some((bits, Reverse(idx))) = heap.pop() {
            let Some(now) = self.sources.candidates.get(idx).and_then(|candidate| self.ranked(idx, candidate)) else {
                continue;
            };
            let next = heap.peek().map_or(0.0, |(bits, _)| f32::from_bits(*bits));
            if now.0 < bits && f32::from_bits(now.0) < next * CLOSE_ENOUGH {
                heap.push(now);
            } else if !self.take(idx, limit) {
                n_misses += 1;
                if n_misses > MOST_MISSES {
                    return;
                }
            }
        }
    }

    /// What the candidate says for its size as a key, which sorts as positive floats do; of equal ones the first wins.
    /// `None` for what is taken, and for what says nothing new.
    fn ranked(&self, idx: usize, candidate: &Candidate<'_>) -> Option<(u32, Reverse<usize>)> {
        if self.taken.get(idx).copied().unwrap_or(true) {
            return None;
        }
        let (new, all) = self.weights(candidate);
        let says_nothing = match candidate.group {
            Group::Carried | Group::Prompt => false,
            Group::Said => all == 0.0,
        };
        let least_new = if candidate.section == Section::Also { LEAST_NEW } else { LEAST_NEW_OF_CLASS };
        if says_nothing || new < all * least_new {
            return None;
        }
        let lift = lift(candidate.section);
        let open = 1.0 - ratio(self.section_used(candidate.section), self.room) / lift.share;
        let open = open.max(0.0);
        let value = new * candidate.factor * (1.0 + lift.factor * open) + lift.bonus * open;
        let used_in_zone = self.used_by_zone.get(candidate.zone).copied().unwrap_or_default();
        let zone = 0.5 + 1.0 / (1.0 + ratio(used_in_zone * self.sources.n_zones, self.room));
        let density = value * zone / ratio(candidate.cost + OVERHEAD, 1);
        Some((density.max(0.0).to_bits(), Reverse(idx)))
    }

    /// The weight of what is new in the candidate, and of all that it carries.
    fn weights(&self, candidate: &Candidate<'_>) -> (f32, f32) {
        let features = &self.sources.features;
        let ids = candidate.pieces.clone().flat_map(|piece| features.of(piece));
        ids.fold((0.0, 0.0), |(new, all), id| {
            let weight = |list: &[f32]| list.get(*id as usize).copied().unwrap_or_default();
            (new + weight(&self.left), all + weight(&features.weights))
        })
    }

    /// What a prompt is worth, whatever else was taken: its facts, and what it demands or decides.
    pub(super) fn worth_of_prompt(&self, candidate: &Candidate<'_>) -> f32 {
        let (_, all) = self.weights(candidate);
        let carries = self.sources.features.pieces.get(candidate.pieces.clone()).unwrap_or_default();
        let classes = carries.iter().fold(Classes::NONE, |all, one| all | one.classes);
        let n_classes = Classes::ALL.into_iter().filter(|class| classes.has(*class)).count();
        all.min(60.0) + 6.0 * ratio(n_classes, 1)
    }

    fn section_used(&self, section: Section) -> usize {
        self.used_by_section.iter().find(|(of, _)| *of == section).map_or(0, |(_, used)| *used)
    }
}

/// The quotient as a float; the figures are sizes of texts.
fn ratio(dividend: usize, divisor: usize) -> f32 {
    super::super::worth::ratio(dividend, divisor)
}
