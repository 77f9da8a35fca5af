//! Aligned tables with bars.
//!
//! In: rows of [`Cell`]s. Out: text, each line ended, without trailing blanks. Columns of text stand to the left,
//! columns of figures to the right.

use comfy_table::{CellAlignment, ContentArrangement, Table as Grid};

use super::size;

/// The width of a bar that stands for the whole, in characters.
const BAR_WIDTH: u64 = 20;

/// How a table is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// ASCII, for pipes and files.
    Plain,
    /// Block characters, for a terminal.
    Drawn,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Empty,
    /// Text as it is.
    Text(String),
    /// A number, grouped by three digits.
    Count(u64),
    /// A number of bytes in the unit that fits.
    Bytes(u64),
    /// A part in percent of a whole.
    Share(u64, u64),
    /// A part of a whole as a bar.
    Bar(u64, u64),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A table: its heads and its rows. A row that is short is filled up with nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows under `heads`.
    #[must_use]
    pub fn new(heads: &[&str]) -> Self {
        Self { heads: heads.iter().map(|&head| head.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row below the others.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// The table as text.
    #[must_use]
    pub fn render(&self, look: Look) -> String {
        let mut grid = Grid::new();
        grid.load_style(comfy_table::presets::NOTHING);
        grid.set_content_arrangement(ContentArrangement::Disabled);
        grid.set_header(&self.heads);
        for row in &self.rows {
            grid.add_row(row.iter().map(|cell| cell.render(look)));
        }
        for (column_idx, column) in grid.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            column.set_cell_alignment(self.alignment(column_idx));
        }
        let mut text = String::new();
        for line in grid.to_string().lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// To the right where the first cell that says something is a figure.
    fn alignment(&self, column_idx: usize) -> CellAlignment {
        let mut cells = self.rows.iter().filter_map(|row| row.get(column_idx));
        match cells.find(|cell| **cell != Cell::Empty) {
            Some(Cell::Count(_) | Cell::Bytes(_) | Cell::Share(..)) => CellAlignment::Right,
            Some(Cell::Text(_) | Cell::Bar(..) | Cell::Empty) | None => CellAlignment::Left,
        }
    }
}

impl Cell {
    fn render(&self, look: Look) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => text.clone(),
            Self::Count(n) => size::count(*n),
            Self::Bytes(n) => size::bytes(*n),
            Self::Share(part, whole) => size::percent(*part, *whole),
            Self::Bar(part, whole) => bar(*part, *whole, look),
        }
    }
}

/// A bar of up to [`BAR_WIDTH`] characters, drawn to an eighth of one. Whatever is more than nothing shows.
fn bar(part: u64, whole: u64, look: Look) -> String {
    if whole == 0 || part == 0 {
        return String::new();
    }
    let eighths_of_whole = u128::from(BAR_WIDTH * 8);
    let eighths = u128::from(part) * eighths_of_whole / u128::from(whole);
    let eighths = usize::try_from(eighths.clamp(1, eighths_of_whole)).unwrap_or(1);
    match look {
        Look::Plain => "#".repeat(eighths.div_ceil(8)),
        Look::Drawn => {
            let partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].get(eighths % 8).copied().unwrap_or_default();
            "█".repeat(eighths / 8) + partial
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_role() -> Table {
        let mut table = Table::new(&["role", "messages", "tokens", "share", ""]);
        for (role, n_messages, tokens) in [("user", 12, 1_234), ("assistant", 30, 98_765), ("system", 1, 1)] {
            table.push(vec![
                role.into(),
                Cell::Count(n_messages),
                Cell::Count(tokens),
                Cell::Share(tokens, 100_000),
                Cell::Bar(tokens, 100_000),
            ]);
        }
        table
    }

    // U-05
    #[test]
    fn figures_stand_to_the_right_and_bars_tell_the_share() {
        insta::assert_snapshot!(by_role().render(Look::Plain), @"
        role       messages  tokens   share
        user             12   1,234   1.2 %  #
        assistant        30  98,765  98.8 %  ####################
        system            1       1  <0.1 %  #
        ");
        insta::assert_snapshot!(by_role().render(Look::Drawn), @"
        role       messages  tokens   share
        user             12   1,234   1.2 %  ▏
        assistant        30  98,765  98.8 %  ███████████████████▊
        system            1       1  <0.1 %  ▏
        ");
    }

    #[test]
    fn a_table_without_rows_is_its_heads() {
        assert_eq!(Table::new(&["role", "tokens"]).render(Look::Plain), "role  tokens\n");
    }

    #[test]
    fn long_cells_are_not_wrapped() {
        let mut table = Table::new(&["path"]);
        table.push(vec!["x".repeat(500).into()]);
        assert_eq!(table.render(Look::Plain).lines().count(), 2);
    }
}
