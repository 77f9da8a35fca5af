//! A text parted into pieces, with all that the choice needs to know of them.

use super::features::{Features, Weights};
use super::{bonds, features, outline, repeats};
use crate::language::{Piece, PieceKind, segment};

/// A text read and ready to choose from. All lists have one slot for each piece.
pub(super) struct Reading<'t> {
    /// The pieces in order.
    pub pieces: Vec<Piece<'t>>,
    /// The features of the pieces.
    pub features: Features,
    /// The piece that each piece belongs under.
    pub parents: Vec<Option<usize>>,
    /// The piece without which each piece cannot be understood.
    pub bonds: Vec<Option<usize>>,
    /// The line that each setting of YAML, and each item of a listed file, belongs to.
    pub enclosing: Vec<Option<usize>>,
    /// The pieces directly under each piece.
    pub children: Vec<Vec<usize>>,
    /// The line that closes the fence that a piece opens.
    pub closers: Vec<Option<usize>>,
    /// The number of occurrences of each piece, 0 for all but the first.
    pub counts: Vec<u32>,
    /// The byte at which the last piece ends.
    pub end: usize,
}

impl<'t> Reading<'t> {
    /// Reads `text`.
    pub(super) fn of(text: &'t str) -> Self {
        let pieces = segment(text);
        let parents = outline::parents(&pieces);
        Self {
            features: features::read(&pieces, Weights::TEXT, None),
            children: outline::children(&parents),
            parents,
            bonds: bonds::bonds(&pieces),
            enclosing: outline::enclosing(&pieces),
            closers: outline::closers(&pieces),
            counts: repeats::counts(&pieces),
            end: pieces.last().map_or(0, Piece::end),
            pieces,
        }
    }

    /// Whether the piece is a heading, or a line with a colon at its end, that others stand under.
    pub(super) fn introduces(&self, idx: usize) -> bool {
        let has_children = self.children.get(idx).is_some_and(|children| !children.is_empty());
        has_children && self.pieces.get(idx).is_some_and(|piece| piece.kind == PieceKind::Heading || piece.introduces())
    }
}
