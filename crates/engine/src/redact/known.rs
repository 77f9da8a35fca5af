//! All that is known of secrets, and what is found by it.

use std::ops::Range;
use std::sync::LazyLock;

use super::data::Data;
use super::name::Names;
use super::screen::Screen;

/// A secret that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// Where it stands, in bytes.
    pub(super) range: Range<usize>,
    /// What it is.
    pub(super) family: &'static str,
}

/// All that is known of secrets.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) data: Data,
    pub(super) names: Names,
    pub(super) screen: Screen,
}

/// What is part of the program.
pub(super) fn known() -> &'static Known {
    static KNOWN: LazyLock<Known> = LazyLock::new(|| {
        #[expect(
            clippy::expect_used,
            reason = "part of the program, and read by a test; without rules nothing may be sent"
        )]
        let data = Data::built_in().expect("redact.toml holds rules");
        Known { names: Names::new(&data.names), screen: Screen::new(&data), data }
    });
    &KNOWN
}
