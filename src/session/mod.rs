//! What can be done to a session, for whoever asks: the command line, the MCP server, the plugin.
//!
//! A session is read ([`reading`]), opened to be rewritten ([`open`]), changed by an operation (`cut`, `prune`, `compact`, `fit`,
//! `restore`, or the stages of a `pipeline`), and written with all that follows ([`mod@write`]). [`options`] says how. Nothing
//! here parses arguments or prints a result: an operation returns its report, and tells a `Ui` what it does meanwhile.

pub(crate) mod archives;
pub(crate) mod backups;
pub(crate) mod batches;
pub(crate) mod checkpoint;
pub(crate) mod compact;
pub(crate) mod compress;
pub(crate) mod consent;
pub(crate) mod contains_all;
pub(crate) mod cut;
pub(crate) mod entry;
pub(crate) mod error;
pub(crate) mod figures;
pub(crate) mod find_index;
pub(crate) mod fit;
pub(crate) mod fit_plan;
pub(crate) mod fit_view;
pub(crate) mod input;
pub(crate) mod leftovers;
pub(crate) mod meaning;
pub(crate) mod open;
pub(crate) mod options;
pub(crate) mod pipeline;
pub(crate) mod prune;
pub(crate) mod quantity;
pub(crate) mod reading;
pub(crate) mod refs;
pub(crate) mod restore;
pub(crate) mod shrink;
pub(crate) mod stats;
pub(crate) mod summarize;
pub(crate) mod write;
