//! Statistics by band.

use schemars::JsonSchema;
use serde::Serialize;

use super::estimates::Estimates;
use super::turn::TurnRow;
use ctxc_core::plan::Bands;

/// The turns of one band.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct BandRow {
    /// The band; null for the turns outside every band.
    pub(crate) band: Option<String>,
    /// The number of turns.
    pub(crate) turns: u64,
    /// The number of assistant messages.
    pub(crate) steps: u64,
    /// Tokens without signatures.
    pub(crate) tokens: Estimates,
}

/// A row for each band and one for the turns in none; no rows without bands.
pub(super) fn band_rows(turns: &[TurnRow], bands: &Bands) -> Vec<BandRow> {
    if bands.is_empty() {
        return Vec::new();
    }
    let named = bands.iter().map(|band| BandRow { band: Some(band.to_string()), ..BandRow::default() });
    let mut rows: Vec<BandRow> = named.chain([BandRow::default()]).collect();
    for turn in turns {
        let band = bands.of_turn(turn.turn.0, turns.len());
        let place = bands.iter().take_while(|other| Some(*other) != band).count();
        if let Some(row) = rows.get_mut(place) {
            row.turns += 1;
            row.steps += turn.steps;
            row.tokens.add(turn.tokens);
        }
    }
    rows
}
