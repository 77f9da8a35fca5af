//! A new session: the same conversation under an id of its own, so that the source stays as it was (S-01).

use std::fs::File;
use std::io;

use crate::text::json_string;
use crate::transcript::entry;
use crate::transcript::scan::{Kind, Scan, each_field};
use crate::transcript::{Chain, Index, read_line, turns};

/// The session that a rewrite makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Its id, a UUID.
    pub id: String,
}

/// The entry that gives the session `id` a title, by which the client's picker finds it.
#[must_use]
pub fn title_line(id: &str, title: &str) -> String {
    let (title, id) = (json_string::encode(title), json_string::encode(id));
    format!(r#"{{"type":"custom-title","customTitle":{title},"sessionId":{id}}}"#)
}

/// The longest title that is taken from a prompt, in characters: what the picker shows on a line.
const TITLE_LEN: usize = 60;

/// What the picker calls the session: the title that the user gave last, that of the client, or the first prompt.
///
/// # Errors
/// When the source cannot be read.
pub fn title_of(file: &File, index: &Index, chain: &Chain) -> io::Result<String> {
    for (kind, name) in [(Kind::CustomTitle, &b"customTitle"[..]), (Kind::AiTitle, b"aiTitle")] {
        let Some(line) = index.lines().rev().find(|&line| index.record(line).kind == kind) else { continue };
        let mut buffer = Vec::new();
        let bytes = read_line(file, index, line, &mut buffer)?;
        let mut title = None;
        each_field(bytes, |key, value| {
            if key == name {
                title = value.string(bytes).map(|raw| json_string::decode(raw).into_owned());
            }
        });
        if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
            return Ok(title.trim_end_matches(" (compressed)").to_owned());
        }
    }
    let first = turns(index, chain).first().and_then(|turn| turn.lines(chain).first().copied());
    let Some(first) = first else { return Ok("session".to_owned()) };
    let mut buffer = Vec::new();
    let bytes = read_line(file, index, first, &mut buffer)?;
    let text = entry::text(&Scan::of(bytes), bytes);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(if words.chars().count() > TITLE_LEN {
        words.chars().take(TITLE_LEN - 1).chain(['…']).collect()
    } else {
        words
    })
}
