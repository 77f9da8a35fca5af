//! What an upgrade of an archive has changed.

/// The result of an upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upgraded {
    /// The schema before and after, where they differ; only that of a server is told.
    pub schema: Option<(i32, i32)>,
    /// What its owner grants the others, for they may not use what is new: statements of SQL.
    pub grants: Vec<String>,
}
