//! Results as data and as text. This layer renders; it prints nothing and knows no terminal.

pub mod archive;
pub mod buffer;
pub mod cache;
pub mod calls;
pub mod check;
pub mod compact;
pub mod compress;
pub mod cutting;
pub mod diff;
pub mod facts;
pub mod find;
pub mod keep;
pub mod kept;
pub mod list;
pub mod prune;
pub mod refs;
pub mod restored;
pub mod rewritten;
pub mod run;
pub mod show;
pub mod size;
pub mod stats;
pub mod table;
pub mod truncate;
pub mod undone;
pub mod when;
