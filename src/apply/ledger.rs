//! What messages did, read off their entries (F-13).

use std::collections::HashMap;
use std::fs::File;
use std::io;

use super::cut::Page;
use super::input::Input;
use super::lines::each_line;
use crate::plan::{Action, Ledger};
use crate::transcript::scan::{BlockKind, Kind};
use crate::transcript::{Index, LineNo};

/// What was done in `lines`, which stand in the order of the conversation. Calls count by their results, so both have to
/// be among the lines.
///
/// # Errors
/// When the source cannot be read.
pub fn read_ledger(file: &File, index: &Index, lines: &[LineNo]) -> io::Result<Ledger> {
    let mut ledger = Ledger::default();
    let mut open: HashMap<String, (String, Action)> = HashMap::new();
    each_line(file, index, lines, |page| note(page, &mut open, &mut ledger))?;
    Ok(ledger)
}

fn note(page: Page<'_>, open: &mut HashMap<String, (String, Action)>, ledger: &mut Ledger) {
    for block in page.scan.outer_blocks() {
        match (page.scan.kind, block.kind) {
            (Kind::Assistant, BlockKind::ToolUse) => {
                let tool = page.decoded(block.name);
                let input = Input(block.input.map_or(&[][..], |it| it.of(page.bytes)));
                let Some(path) = input.file(&tool, || page.folder()) else { continue };
                let action = if tool.ends_with("Read") { Action::Read } else { Action::Edited };
                open.insert(page.decoded(block.tool_id), (path, action));
            }
            (Kind::User, BlockKind::ToolResult) if !block.is_error => {
                if let Some((path, action)) = open.remove(&page.decoded(block.tool_id)) {
                    ledger.touch(path, action);
                }
            }
            _ => {}
        }
    }
}
