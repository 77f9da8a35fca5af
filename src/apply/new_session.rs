//! A new session: the same conversation under an id of its own, so that the source stays as it was (S-01).

use std::fs::File;
use std::io;

use crate::text::json_string;
use crate::transcript::entry;
use crate::transcript::scan::{Kind, Scan, each_field};
use crate::transcript::{Chain, Flags, Index, read_line};

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

/// What the picker calls the session, in its own order: the title that the user gave last, that of the client, the last
/// prompt, the summary, or the first prompt that is no command.
///
/// # Errors
/// When the source cannot be read.
pub fn title_of(file: &File, index: &Index, chain: &Chain) -> io::Result<String> {
    const FIELDS: [(Kind, &[u8]); 4] = [
        (Kind::CustomTitle, b"customTitle"),
        (Kind::AiTitle, b"aiTitle"),
        (Kind::LastPrompt, b"lastPrompt"),
        (Kind::Summary, b"summary"),
    ];
    let mut buffer = Vec::new();
    for (kind, name) in FIELDS {
        let Some(line) = index.lines().rev().find(|&line| index.record(line).kind == kind) else { continue };
        let bytes = read_line(file, index, line, &mut buffer)?;
        let mut title = None;
        each_field(bytes, |key, value| {
            if key == name {
                title = value.string(bytes).map(|raw| json_string::decode(raw).into_owned());
            }
        });
        if let Some(title) = title.filter(|title| !title.trim().is_empty() && !title.starts_with('<')) {
            return Ok(clipped(title.trim_end_matches(SUFFIX)));
        }
    }
    let prompts = chain.lines.iter().copied().filter(|&line| index.record(line).flags.any(Flags::PROMPT));
    let typed = prompts.clone().find(|&line| !index.record(line).flags.any(Flags::COMMAND));
    let Some(first) = typed.or(prompts.clone().next()) else { return Ok("session".to_owned()) };
    let bytes = read_line(file, index, first, &mut buffer)?;
    Ok(clipped(&entry::text(&Scan::of(bytes), bytes)))
}

/// What a title made by ctxc ends with.
pub(super) const SUFFIX: &str = " (compressed)";

/// The words of `title` on one line, at most as many as the picker shows.
fn clipped(title: &str) -> String {
    let words = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= TITLE_LEN {
        return words;
    }
    words.chars().take(TITLE_LEN - 1).chain(['…']).collect()
}
