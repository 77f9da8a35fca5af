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

/// The line that each setting of YAML in code belongs to by its indentation: the nearest before it in its block that
/// is indented less. A statement stands for itself. What follows the number of a listed line counts as the line.
pub(super) fn enclosing(pieces: &[Piece<'_>]) -> Vec<Option<usize>> {
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut heading = None;
    let place = |(idx, piece): (usize, &Piece<'_>)| {
        if piece.join != Join::Line {
            return None;
        }
        if !matches!(piece.kind, PieceKind::Code | PieceKind::Ornament) {
            open.clear();
            heading = None;
            return None;
        }
        let (indent, line) = code(piece);
        open.retain(|(_, outer)| *outer < indent);
        let parent = open.last().map(|(line, _)| *line);
        if piece.kind == PieceKind::Code {
            open.push((idx, indent));
        }
        if line.starts_with("##") && line.trim_start_matches('#').starts_with(' ') {
            heading = Some(idx);
            return None;
        }
        parent.filter(|_| is_setting(line)).or_else(|| heading.filter(|_| is_item(line)))
    };
    pieces.iter().enumerate().map(place).collect()
}

/// The columns that a line of code is indented by and the line, without the number that a listing puts before it.
fn code<'t>(piece: &Piece<'t>) -> (usize, &'t str) {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match piece.text.split_once('→').filter(|(number, _)| is_number(number.trim_start())) {
        Some((_, line)) => {
            let blanks = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
            (blanks.map(|byte| if byte == b'\t' { 4 } else { 1 }).sum(), line.trim_start())
        }
        None => (piece.indent, piece.text.trim_start()),
    }
}

/// Whether the line is an item of a list in Markdown.
fn is_item(line: &str) -> bool {
    let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = unnumbered.len() < line.len() && unnumbered.starts_with(". ");
    is_numbered || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

/// Whether the line gives a key its value as YAML does, where indentation alone tells what it belongs to: `go-version: 1.24`.
fn is_setting(line: &str) -> bool {
    let Some((key, value)) = line.trim_start_matches("- ").split_once(':') else { return false };
    let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_pair = !key.is_empty() && key.chars().all(is_key) && (value.is_empty() || value.starts_with(' '));
    is_pair && !line.ends_with([',', ';', '{', '[', '('])
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
        self.intro = piece.introduces().then_some(idx);
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

    #[test]
    fn settings_of_yaml_and_listed_items_know_the_lines_they_belong_to() {
        let text = "```yaml\non:\n  push:\nsteps:\n  - uses: setup-go\n    with:\n      go-version: 1.24\n```\n\n\
                    12→\tfor n in list {\n13→\t\tkey: value,\n14→  run:\n15→    name: x\nkey: value\n\n\
                    1→## Out of scope\n2→- caching\n3→  1. disk\n4→Prose.";
        let pieces = segment(text);
        let under: Vec<(&str, &str)> = pieces
            .iter()
            .zip(enclosing(&pieces))
            .filter_map(|(piece, line)| Some((piece.text.trim(), pieces[line?].text.trim())))
            .collect();
        assert_eq!(
            under,
            [
                ("push:", "on:"),
                ("- uses: setup-go", "steps:"),
                ("with:", "- uses: setup-go"),
                ("go-version: 1.24", "with:"),
                ("15→    name: x", "14→  run:"),
                ("2→- caching", "1→## Out of scope"),
                ("3→  1. disk", "1→## Out of scope"),
            ]
        );
    }
}
