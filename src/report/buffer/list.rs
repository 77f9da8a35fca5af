//! The buffers of an archive.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::Fill;
use crate::buffer::BufferState;
use crate::report::look::TextLayout;
use crate::report::table::{Table, TableCell};

/// The buffers of an archive, by their names.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Buffers {
    #[serde(rename = "buffers")]
    rows: Vec<BufferRow>,
    #[serde(skip)]
    look: TextLayout,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
struct BufferRow {
    buffer: String,
    holds: Fill,
}

impl Buffers {
    pub(crate) fn new(states: &[(String, BufferState)], look: TextLayout) -> Self {
        let rows =
            states.iter().map(|(name, state)| BufferRow { buffer: name.clone(), holds: Fill::new(state) }).collect();
        Self { rows, look }
    }
}

impl fmt::Display for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(&["buffer", "utterances", "tokens", "summarized", "summary tokens", "waiting"]);
        for BufferRow { buffer, holds } in &self.rows {
            table.push(vec![
                buffer.as_str().into(),
                TableCell::Count(holds.utterances),
                TableCell::Count(holds.total_tokens.0),
                TableCell::Count(holds.summarized),
                TableCell::Count(holds.summary_token_count.0),
                TableCell::Count(holds.waiting),
            ]);
        }
        f.write_str(&table.render(self.look))
    }
}
