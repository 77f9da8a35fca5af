//! A session as people read it: a heading for each turn, prompts and answers as they are, the rest in fenced blocks.

use super::Piece;
use crate::report::session::SessionRef;
use crate::report::show::printable;
use ctxc_core::apply::Speaker;

/// Where in the session the text is by now.
#[derive(Debug, Default)]
pub(super) struct Place {
    has_begun: bool,
    turn: Option<usize>,
    speaker: Option<Speaker>,
}

impl Place {
    pub(super) fn add(&mut self, session: &SessionRef, piece: &Piece) -> String {
        let head = if self.has_begun { String::new() } else { head(session) };
        self.has_begun = true;
        let is_new_turn = piece.turn != self.turn;
        let turn = piece.turn.filter(|_| is_new_turn).map_or_else(String::new, |turn| format!("## Turn {turn}\n\n"));
        if is_new_turn {
            self.turn = piece.turn;
            self.speaker = None;
        }
        // What one after the other says stands under one name.
        let goes_on = self.speaker.replace(piece.role) == Some(piece.role);
        let time = piece.time.as_ref().map_or_else(String::new, |time| format!(" ({time})"));
        let name = if goes_on { String::new() } else { format!("**{}**{time}\n\n", capitalized(piece.role.word())) };
        let said = printable(piece.text.trim_end());
        let said = match (piece.kind, piece.tool.as_deref()) {
            ("prompt" | "answer", _) => format!("{}\n\n", closed(said)),
            ("call", tool) => format!("`{}`\n\n{}", tool.unwrap_or("tool").replace('`', ""), fenced("json", &said)),
            (kind, _) => folded(&kind.replace('_', " "), &said),
        };
        format!("{head}{turn}{name}{said}")
    }

    /// The heading of a session that says nothing.
    pub(super) fn end(self, session: &SessionRef) -> String {
        if self.has_begun { String::new() } else { head(session) }
    }
}

fn head(session: &SessionRef) -> String {
    let title = session.title.as_deref().unwrap_or("Session");
    let rows = [("Session", &session.id), ("Project", &session.project)];
    let rows = rows.iter().filter_map(|(name, value)| Some(format!("- {name}: `{}`\n", value.as_deref()?)));
    format!("# {}\n\n{}\n", printable(title).replace('\n', " "), rows.collect::<Vec<_>>().concat())
}

/// A block that is closed until somebody opens it.
fn folded(name: &str, text: &str) -> String {
    format!("<details><summary>{name}</summary>\n\n{}</details>\n\n", fenced("", text))
}

/// A block that nothing in `text` ends.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n\n")
}

/// `text`, with an end for the fenced block that it leaves open, as an answer does that was interrupted: what follows is no
/// part of it.
fn closed(mut text: String) -> String {
    let mut open = None;
    for line in text.lines() {
        let from_mark = line.trim_start_matches(' ');
        let Some(mark) = from_mark.chars().next().filter(|c| matches!(c, '`' | '~')) else { continue };
        let info = from_mark.trim_start_matches(mark);
        let fence = from_mark.strip_suffix(info).unwrap_or(from_mark);
        // What is indented further is code, or belongs to an item of a list.
        let may_be_one = line.len() - from_mark.len() <= 3 && fence.len() >= 3;
        match open {
            None if may_be_one && !(mark == '`' && info.contains('`')) => open = Some(fence.to_owned()),
            Some(ref begun) if may_be_one && fence.starts_with(begun) && info.trim().is_empty() => open = None,
            _ => {}
        }
    }
    if let Some(fence) = open {
        text.push('\n');
        text.push_str(&fence);
    }
    text
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Y-03
    #[test]
    fn y_03_no_text_ends_its_block() {
        assert_eq!(fenced("json", "{}"), "```json\n{}\n```\n\n");
        assert_eq!(fenced("", "a\n````\nb"), "`````\na\n````\nb\n`````\n\n");
    }

    // Y-03
    #[test]
    fn y_03_no_text_leaves_its_block_open() {
        for whole in ["a", "```\na\n```", "~~~ rs\n```\n~~~~", "``` a`b", "    ```\n", "````\n```\n````  \nb"] {
            assert_eq!(closed(whole.to_owned()), whole);
        }
        assert_eq!(closed("a\n```rs\nfn f".to_owned()), "a\n```rs\nfn f\n```");
        assert_eq!(closed("~~~~\n~~~\n```".to_owned()), "~~~~\n~~~\n```\n~~~~");
        assert_eq!(closed("```\n```rs".to_owned()), "```\n```rs\n```");
    }
}
