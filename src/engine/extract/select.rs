//! Which pieces to keep: the greedy choice by what is new in a piece for its size.
//!
//! The value of a piece is the weight of the features that no kept piece carries yet, raised for its class,
//! its place and its kind. Class and zone each lose their lift as their share of the budget fills, so no part
//! of the text and no kind of sentence takes all. All lifts only fall while pieces are taken, so a heap with
//! values that are brought up to date when they come up finds the best next piece without looking at all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::features::{Features, units};
use super::lift::{Lift, is_courtesy, lifts};
use super::window;
use crate::text::{Classes, Piece, PieceKind};

/// A piece that is kept, whole or in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// The piece's index.
    pub idx: usize,
    /// The bytes of the piece that are kept, where it is cut.
    pub part: Option<(usize, usize)>,
}

/// A text read and ready to choose from.
pub(super) struct Reading<'t> {
    pub pieces: Vec<Piece<'t>>,
    pub features: Features,
    pub parents: Vec<Option<usize>>,
    pub closers: Vec<Option<usize>>,
    pub counts: Vec<u32>,
    pub children: Vec<Vec<usize>>,
}

impl Reading<'_> {
    /// Whether the piece is a heading, or a line with a colon at its end, that others stand under.
    pub fn introduces(&self, idx: usize) -> bool {
        let has_children = self.children.get(idx).is_some_and(|children| !children.is_empty());
        has_children
            && self.pieces.get(idx).is_some_and(|piece| {
                piece.kind == PieceKind::Heading || piece.text.trim_end_matches('*').ends_with([':', '：'])
            })
    }
}

/// The UTF-16 units that an omission mark takes inside a line.
pub(super) const MARK_UNITS: usize = 6;
/// The share of the budget in which a class has its lift.
const CLASS_SHARE: [f32; 5] = [0.22, 0.2, 0.2, 0.15, 0.15];
/// The lift of a class whose share is untouched.
const CLASS_LIFT: [f32; 5] = [0.9, 0.8, 0.7, 0.4, 0.6];
/// What every piece costs besides its units; keeps slivers from winning by their shortness.
const OVERHEAD: usize = 14;

/// The pieces to keep within `budget` UTF-16 units, in the order in which they were chosen.
pub(super) fn select(reading: &Reading<'_>, budget: usize) -> Vec<Choice> {
    let mut state = State::new(reading, budget);
    state.run();
    // Twice is enough: what the second round takes for its own sake seldom is a lone heading again.
    for _ in 0..2 {
        if state.drop_lone_introductions() {
            state.run();
        }
    }
    state.fill();
    state.choices
}

struct State<'r, 't> {
    reading: &'r Reading<'t>,
    budget: usize,
    used: usize,
    covered: Vec<bool>,
    taken: Vec<bool>,
    lifts: Vec<Lift>,
    barred: Vec<bool>,
    class_used: [f32; 5],
    zone_used: Vec<f32>,
    zone_share: f32,
    text_len: usize,
    parts: Vec<Option<(usize, usize)>>,
    heap: BinaryHeap<(u32, Reverse<usize>)>,
    choices: Vec<Choice>,
}

impl<'r, 't> State<'r, 't> {
    fn new(reading: &'r Reading<'t>, budget: usize) -> Self {
        let n_pieces = reading.pieces.len();
        let n_zones = (budget / 240).clamp(1, 64);
        let mut state = Self {
            reading,
            budget,
            used: 0,
            covered: vec![false; reading.features.weights.len()],
            taken: vec![false; n_pieces],
            lifts: lifts(reading),
            barred: vec![false; n_pieces],
            class_used: [0.0; 5],
            zone_used: vec![0.0; n_zones],
            zone_share: ratio(budget, n_zones),
            text_len: reading.pieces.last().map_or(1, |piece| piece.end() + 1),
            parts: vec![None; n_pieces],
            heap: BinaryHeap::with_capacity(n_pieces),
            choices: Vec::new(),
        };
        for idx in 0..n_pieces {
            if state.may_lead(idx) {
                state.cut_if_oversized(idx);
                state.push(idx);
            }
        }
        state
    }

    /// Whether the piece may be chosen for its own sake.
    fn may_lead(&self, idx: usize) -> bool {
        let kind = self.piece(idx).kind;
        let is_mark = matches!(kind, PieceKind::Ornament | PieceKind::FenceOpen | PieceKind::FenceClose);
        let is_empty_talk = is_courtesy(&self.reading.features.pieces[idx]) && self.reading.pieces.len() > 1;
        !is_mark && !is_empty_talk && !self.barred[idx] && self.reading.counts.get(idx).is_some_and(|count| *count > 0)
    }

    fn piece(&self, idx: usize) -> &Piece<'t> {
        &self.reading.pieces[idx] // Every index comes from a walk over the pieces.
    }

    /// A piece that is larger than the whole budget stands for its best part.
    fn cut_if_oversized(&mut self, idx: usize) {
        if self.reading.features.pieces[idx].units > self.budget.saturating_sub(1) {
            let limit = self.budget.saturating_sub(MARK_UNITS * 2).max(4);
            let part = window::best(self.piece(idx).text, limit, &self.reading.features, &self.covered);
            self.parts[idx] = part;
        }
    }

    fn push(&mut self, idx: usize) {
        let density = self.density(idx);
        // Positive floats sort as their bits do.
        self.heap.push((density.max(0.0).to_bits(), Reverse(idx)));
    }

    fn run(&mut self) {
        while let Some((bits, Reverse(idx))) = self.heap.pop() {
            if self.taken[idx] {
                continue;
            }
            let density = self.density(idx);
            let next = self.heap.peek().map_or(0.0, |(bits, _)| f32::from_bits(*bits));
            if density < f32::from_bits(bits) && density < next * 0.92 {
                self.heap.push((density.max(0.0).to_bits(), Reverse(idx)));
                continue;
            }
            if self.used + self.cost_with_ancestors(idx) <= self.budget {
                self.take_with_ancestors(idx);
            }
        }
    }

    /// Gives up headings and introductions of which nothing was taken. Says whether there were any.
    fn drop_lone_introductions(&mut self) -> bool {
        let reading = self.reading;
        let is_lone = |idx: usize| {
            reading.introduces(idx)
                && reading.children[idx].iter().all(|child| !self.taken[*child])
        };
        let lone: Vec<usize> = self.choices.iter().map(|choice| choice.idx).filter(|idx| is_lone(*idx)).collect();
        for idx in &lone {
            self.used -= self.cost(*idx);
            self.taken[*idx] = false;
            self.barred[*idx] = true;
        }
        self.choices.retain(|choice| !lone.contains(&choice.idx));
        if !lone.is_empty() {
            for idx in 0..reading.pieces.len() {
                if !self.taken[idx] && self.may_lead(idx) {
                    self.push(idx);
                }
            }
        }
        !lone.is_empty()
    }

    /// Uses what is left of the budget for the best part of a piece that did not fit.
    fn fill(&mut self) {
        let left = self.budget.saturating_sub(self.used);
        if left < 28 || left * 100 < self.budget * 8 {
            return;
        }
        let limit = left - MARK_UNITS - 1;
        let mut open: Vec<(u32, Reverse<usize>)> = (0..self.reading.pieces.len())
            .filter(|idx| !self.taken[*idx] && self.may_lead(*idx) && self.piece(*idx).kind != PieceKind::Heading)
            .filter(|idx| self.value(*idx) > 0.0 && self.reading.features.pieces[*idx].units > limit)
            .map(|idx| (self.density(idx).max(0.0).to_bits(), Reverse(idx)))
            .collect();
        open.sort_unstable_by(|a, b| b.cmp(a));
        if let Some((_, Reverse(idx))) = open.first().copied() {
            self.parts[idx] = window::best(self.piece(idx).text, limit, &self.reading.features, &self.covered);
            if self.parts[idx].is_some() {
                self.take(idx);
            }
        }
    }

    fn density(&self, idx: usize) -> f32 {
        let cost = self.cost_with_ancestors(idx);
        let value = self.value(idx) + self.lifts[idx].bonus + self.ancestors(idx).map(|parent| self.value(parent) * 0.5).sum::<f32>();
        value * self.lift(idx) / ratio(cost + OVERHEAD, 1)
    }

    fn value(&self, idx: usize) -> f32 {
        let features = &self.reading.features;
        let new: f32 = features
            .of(idx)
            .iter()
            .filter(|id| !self.covered.get(**id as usize).copied().unwrap_or_default())
            .map(|id| features.weight(*id))
            .sum();
        let whole = features.pieces[idx].units.max(1);
        let part = self.parts[idx].map_or(1.0, |(from, to)| 0.6 * ratio(to - from, self.piece(idx).text.len()).sqrt());
        (new + 0.004 * ratio(whole, 1)) * part
    }

    fn lift(&self, idx: usize) -> f32 {
        let classes = self.reading.features.pieces[idx].classes;
        let class = Classes::ALL
            .iter()
            .enumerate()
            .filter(|(_, class)| classes.has(**class))
            .map(|(n, _)| {
                let share = CLASS_SHARE[n] * ratio(self.budget, 1);
                CLASS_LIFT[n] * (1.0 - self.class_used[n] / share).max(0.0)
            })
            .fold(0.0, f32::max);
        let zone = self.zone_used.get(self.zone(idx)).map_or(1.0, |used| 1.0 / (1.0 + used / self.zone_share));
        self.lifts[idx].factor * (1.0 + class) * (0.5 + zone)
    }

    fn zone(&self, idx: usize) -> usize {
        self.piece(idx).at * self.zone_used.len() / self.text_len
    }

    /// The pieces above this one that have to come along, nearest first.
    fn ancestors(&self, idx: usize) -> impl Iterator<Item = usize> + '_ {
        let mut next = self.reading.parents[idx];
        std::iter::from_fn(move || {
            let parent = next?;
            next = self.reading.parents[parent];
            Some(parent)
        })
        .take(4)
        .filter(|parent| !self.taken[*parent] && self.is_required(*parent))
    }

    fn is_required(&self, parent: usize) -> bool {
        match self.piece(parent).kind {
            PieceKind::FenceOpen => self.budget >= 200,
            _ => self.budget >= 160 && self.cost(parent) * 7 <= self.budget,
        }
    }

    fn cost(&self, idx: usize) -> usize {
        let own = match self.parts[idx] {
            Some((from, to)) => units(self.piece(idx).text.get(from..to).unwrap_or_default()) + MARK_UNITS,
            None => self.reading.features.pieces[idx].units,
        };
        let closer = self.reading.closers[idx].map_or(0, |closer| self.reading.features.pieces[closer].units + 1);
        let count = if self.reading.counts[idx] > 1 { 6 } else { 0 };
        own + closer + count + 1
    }

    fn cost_with_ancestors(&self, idx: usize) -> usize {
        self.cost(idx) + self.ancestors(idx).map(|parent| self.cost(parent)).sum::<usize>()
    }

    fn take_with_ancestors(&mut self, idx: usize) {
        let ancestors: Vec<usize> = self.ancestors(idx).collect();
        for parent in ancestors.into_iter().rev() {
            self.take(parent);
            for child in self.reading.children[parent].iter().copied() {
                if !self.taken[child] && child != idx && self.may_lead(child) {
                    self.push(child);
                }
            }
        }
        self.take(idx);
    }

    fn take(&mut self, idx: usize) {
        let cost = self.cost(idx);
        self.used += cost;
        self.taken[idx] = true;
        for id in self.reading.features.of(idx) {
            if let Some(covered) = self.covered.get_mut(*id as usize) {
                *covered = true;
            }
        }
        let classes = self.reading.features.pieces[idx].classes;
        for (used, class) in self.class_used.iter_mut().zip(Classes::ALL) {
            if classes.has(class) {
                *used += ratio(cost, 1);
            }
        }
        let zone = self.zone(idx);
        self.zone_used[zone] += ratio(cost, 1);
        self.choices.push(Choice { idx, part: self.parts[idx] });
        if let Some(closer) = self.reading.closers[idx] {
            // Its cost was counted with the line that opens the fence.
            self.taken[closer] = true;
            self.choices.push(Choice { idx: closer, part: None });
        }
    }
}

/// The quotient as a float; the figures are sizes of texts, far below what the float holds exactly enough.
#[expect(clippy::cast_precision_loss, reason = "a ranking needs no more than 24 bits")]
fn ratio(dividend: usize, divisor: usize) -> f32 {
    dividend as f32 / divisor.max(1) as f32
}
