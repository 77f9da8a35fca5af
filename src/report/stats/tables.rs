//! The tables. Shares and bars are of the context without the overhead, so that those of a table make a whole.

use std::fmt::{self, Formatter};

use super::count::{Estimates, Stats};
use super::turn::TurnRow;
use crate::report::table::{Cell, Look, Table};
use ctxc_transcript::Part;
use ctxc_transcript::text::Tokens;

/// How many turns are shown; of more than these the largest.
const N_TURNS: usize = 20;

/// Stats to be shown with a certain look.
struct Shown<'a>(&'a Stats, Look);

impl Stats {
    /// The whole report as text.
    #[must_use]
    pub fn text(&self, look: Look) -> impl fmt::Display + '_ {
        Shown(self, look)
    }

    fn figures(&self, tokens: Estimates) -> [Cell; 4] {
        let whole = self.tokens.chars4.0;
        let part = tokens.chars4.0;
        [Cell::Count(part), Cell::Count(tokens.calibrated.0), Cell::Share(part, whole), Cell::Bar(part, whole)]
    }

    fn roles_table(&self) -> Table {
        let mut table = Table::new(&["role", "entries", "chars4", "calibrated", "share", ""]);
        for row in &self.roles {
            let head = [row.role.into(), Cell::Count(row.entries)];
            table.push(head.into_iter().chain(self.figures(row.tokens)).collect());
        }
        table
    }

    fn parts_table(&self) -> Table {
        let mut table = Table::new(&["content", "n", "chars4", "calibrated", "share", ""]);
        for row in &self.parts {
            let head = [row.part.name().into(), Cell::Count(row.n)];
            let mut figures = self.figures(row.tokens);
            if row.part == Part::Signature {
                figures = [Cell::Count(row.tokens.chars4.0), Cell::Empty, Cell::Empty, Cell::Empty];
            }
            table.push(head.into_iter().chain(figures).collect());
        }
        table
    }

    fn tools_table(&self) -> Table {
        let mut table = Table::new(&["tool", "calls", "inputs", "results", "chars4", "calibrated", "share", ""]);
        for row in &self.tools {
            let name = if row.tool.is_empty() { "(inactive call)" } else { &row.tool };
            let inputs = Cell::Count(row.inputs.chars4.0);
            let results = Cell::Count(row.results.chars4.0);
            let both = Estimates { chars4: row.chars4(), calibrated: row.inputs.calibrated + row.results.calibrated };
            let head = [name.into(), Cell::Count(row.calls), inputs, results];
            table.push(head.into_iter().chain(self.figures(both)).collect());
        }
        table
    }

    fn bands_table(&self) -> Table {
        let mut table = Table::new(&["band", "turns", "steps", "chars4", "calibrated", "share", ""]);
        for row in &self.bands {
            let name = row.band.as_deref().unwrap_or("(none)");
            let head = [name.into(), Cell::Count(row.turns), Cell::Count(row.steps)];
            table.push(head.into_iter().chain(self.figures(row.tokens)).collect());
        }
        table
    }

    fn turns_table(&self) -> Table {
        let mut table = Table::new(&["turn", "line", "steps", "chars4", "calibrated", "share", "", "prompt"]);
        let mut sizes: Vec<Tokens> = self.turns.iter().map(|turn| turn.tokens.chars4).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let least = sizes.get(N_TURNS - 1).copied().unwrap_or_default();
        let mut n_left = N_TURNS;
        let (shown, others): (Vec<&TurnRow>, Vec<&TurnRow>) = self.turns.iter().partition(|turn| {
            let is_shown = turn.tokens.chars4 >= least && n_left > 0;
            n_left -= usize::from(is_shown);
            is_shown
        });
        // Each of many turns is little of the whole: their bars are of the largest.
        let largest = sizes.first().map_or(0, |tokens| tokens.0);
        for turn in shown {
            let head = [Cell::Count(turn.turn.0 as u64), Cell::Count(u64::from(turn.line)), Cell::Count(turn.steps)];
            let prompt = [Cell::Text(turn.prompt.clone())];
            let [chars4, calibrated, share, _] = self.figures(turn.tokens);
            let figures = [chars4, calibrated, share, Cell::Bar(turn.tokens.chars4.0, largest)];
            table.push(head.into_iter().chain(figures).chain(prompt).collect());
        }
        if !others.is_empty() {
            let steps = others.iter().map(|turn| turn.steps).sum();
            let mut tokens = Estimates::default();
            for turn in &others {
                tokens.add(turn.tokens);
            }
            let head = [Cell::Empty, Cell::Empty, Cell::Count(steps)];
            let rest = [Cell::Text(format!("({} smaller turns)", others.len()))];
            let [chars4, calibrated, share, _] = self.figures(tokens);
            let figures = [chars4, calibrated, share, Cell::Empty];
            table.push(head.into_iter().chain(figures).chain(rest).collect());
        }
        table
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(stats, look) = self;
        stats.write_summary(f)?;
        let tables = [
            (stats.roles.is_empty(), stats.roles_table()),
            (stats.parts.is_empty(), stats.parts_table()),
            (stats.tools.is_empty(), stats.tools_table()),
            (stats.bands.is_empty(), stats.bands_table()),
            (stats.turns.is_empty(), stats.turns_table()),
        ];
        for (_, table) in tables.into_iter().filter(|(is_empty, _)| !is_empty) {
            write!(f, "\n{}", table.render(*look))?;
        }
        Ok(())
    }
}
