//! Under what each piece stands: heading, list introduction, enclosing item, table head, code fence.

use crate::language::{Join, Piece, PieceKind};

/// The piece that each piece stands under, by index. A parent always comes before its children.
pub(super) fn parents(pieces: &[Piece<'_>]) -> Vec<Option<usize>> {
    let mut open = Open::default();
    pieces.iter().enumerate().map(|(idx, piece)| open.place(idx, piece)).collect()
}

/// The pieces that stand right under each piece.
pub(super) fn children(parents: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); parents.len()];
    for (idx, parent) in parents.iter().enumerate() {
        if let Some(list) = parent.and_then(|parent| children.get_mut(parent)) {
            list.push(idx);
        }
    }
    children
}

/// The index of the line that closes each fence, at the index of the line that opens it.
pub(super) fn closers(pieces: &[Piece<'_>]) -> Vec<Option<usize>> {
    let mut closers = vec![None; pieces.len()];
    let mut fence = None;
    for (idx, piece) in pieces.iter().enumerate() {
        match piece.kind {
            PieceKind::FenceOpen => fence = Some(idx),
            PieceKind::FenceClose => {
                if let Some(closer) = fence.take().and_then(|open: usize| closers.get_mut(open)) {
                    *closer = Some(idx);
                }
            }
            _ => {}
        }
    }
    closers
}

#[derive(Default)]
struct Open {
    heading: Option<usize>,
    /// Whether the heading is but a bold line.
    is_bold: bool,
    /// A line that ends with a colon, until something other than its list or block follows.
    intro: Option<usize>,
    /// Items that enclose the next one, with their indentation.
    items: Vec<(usize, usize)>,
    row: Option<usize>,
    fence: Option<usize>,
    /// The first piece of the line that the next sentence stands on.
    line: Option<usize>,
}

impl Open {
    fn place(&mut self, idx: usize, piece: &Piece<'_>) -> Option<usize> {
        if piece.join != Join::Line {
            return self.place_within(idx, piece);
        }
        if !matches!(piece.kind, PieceKind::Row | PieceKind::Ornament) {
            self.row = None;
        }
        self.line = None;
        match piece.kind {
            PieceKind::Heading => {
                *self = Self { heading: Some(idx), is_bold: piece.text.starts_with("**"), ..Self::default() };
                None
            }
            PieceKind::Item => {
                self.items.retain(|(_, indent)| *indent < piece.indent);
                let parent = self.nearest(self.items.last().map(|(item, _)| *item));
                self.items.push((idx, piece.indent));
                self.line = Some(idx);
                parent
            }
            PieceKind::FenceOpen => {
                self.fence = Some(idx);
                self.nearest(self.items.last().filter(|_| piece.indent > 0).map(|(item, _)| *item))
            }
            PieceKind::FenceClose => {
                self.intro = None;
                self.fence.take()
            }
            PieceKind::Code | PieceKind::Ornament | PieceKind::Log => self.fence.or(self.intro).or(self.heading),
            PieceKind::Row => {
                let parent = self.row.or(self.intro).or(self.heading);
                self.row = self.row.or(Some(idx));
                parent
            }
            PieceKind::Sentence => {
                let item = self.items.iter().rev().find(|(_, indent)| piece.indent > *indent).map(|(item, _)| *item);
                if item.is_none() {
                    self.items.clear();
                    self.intro = None;
                }
                if item.is_none() && self.is_bold && piece.text.starts_with("**") {
                    // It brings a bold title of its own, so what stood under the last one has ended.
                    self.heading = None;
                }
                self.introduce(idx, piece);
                item.or(self.heading)
            }
        }
    }

    /// The nearest of an enclosing item, the introduction and the heading.
    fn nearest(&self, item: Option<usize>) -> Option<usize> {
        item.max(self.intro).max(self.heading)
    }

    fn place_within(&mut self, idx: usize, piece: &Piece<'_>) -> Option<usize> {
        if piece.kind == PieceKind::Sentence && self.line.is_none() {
            self.introduce(idx, piece);
        }
        self.line.or(self.fence).or(self.heading)
    }

    fn introduce(&mut self, idx: usize, piece: &Piece<'_>) {
        self.intro = piece.text.trim_end_matches('*').ends_with([':', '：']).then_some(idx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::segment;

    #[test]
    fn every_piece_knows_what_it_stands_under() {
        let text = "# Plan\nDo this:\n- one. And more.\n  - inner\n- two:\n  ```\n  code\n  ```\nAfterwards.\n| a | b |\n|---|---|\n| 1 | 2 |";
        let pieces = segment(text);
        let under: Vec<(&str, &str)> = pieces
            .iter()
            .zip(parents(&pieces))
            .map(|(piece, parent)| (piece.text.trim(), parent.map_or("", |parent| pieces[parent].text.trim())))
            .collect();
        assert_eq!(
            under,
            [
                ("# Plan", ""),
                ("Do this:", "# Plan"),
                ("- one.", "Do this:"),
                ("And more.", "- one."),
                ("- inner", "- one."),
                ("- two:", "Do this:"),
                ("```", "- two:"),
                ("code", "```"),
                ("```", "```"),
                ("Afterwards.", "# Plan"),
                ("| a | b |", "# Plan"),
                ("|---|---|", "# Plan"),
                ("| 1 | 2 |", "| a | b |"),
            ]
        );
    }
}
