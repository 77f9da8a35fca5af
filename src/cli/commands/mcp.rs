//! `ctxc mcp`: serve agents over the Model Context Protocol (M-01).

use crate::cli::error::{CommandError, Completion};
use crate::cli::mcp::{self, Settings};
use crate::cli::ui::Ui;

pub(crate) fn run(settings: Settings, ui: &Ui) -> Result<Completion, CommandError> {
    mcp::serve(settings, ui)
}
