//! What was said in a transcript, message by message: texts alone, without calls, their results and thinking.

use std::fs::File;
use std::io;

use jiff::Timestamp;

use crate::text::json_string;
use crate::transcript::scan::Scan;
use crate::transcript::{Chain, Flags, Index, LineSet, Messages, Owner, TurnIdx, entry, revisit, turns};

/// The text of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpokenMessage {
    /// Who said it.
    pub voice: Voice,
    /// The turn to which it belongs; none before the first prompt.
    pub turn: Option<TurnIdx>,
    /// When, where the transcript says so.
    pub time: Option<Timestamp>,
    /// What. Texts of several blocks have a newline between them.
    pub text: String,
}

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// A person.
    Person,
    /// The model.
    Model,
    /// The client, in the name of either.
    Client,
}

/// What was said in the live chain, in its order. Messages without a text say nothing.
///
/// # Errors
/// When the source cannot be read.
pub fn read_spoken(file: &File, index: &Index, chain: &Chain) -> io::Result<Vec<SpokenMessage>> {
    let messages = Messages::of(index, chain, &LineSet::default());
    let starts: Vec<usize> = turns(index, chain).iter().map(|turn| turn.places.start).collect();
    let turn_at = |place: &u32| starts.partition_point(|start| *start <= *place as usize).checked_sub(1).map(TurnIdx);
    let mut spoken: Vec<Option<SpokenMessage>> = vec![None; messages.firsts.len()];
    let mut scan = Scan::default();
    revisit(file, index, &chain.live, |line, bytes| {
        let Owner::Of(message) = messages.owner(line) else { return Ok(()) };
        let message = message as usize;
        scan.read(bytes);
        let text = entry::text(&scan, bytes);
        let (Some(slot), false) = (spoken.get_mut(message), text.trim().is_empty()) else { return Ok(()) };
        if let Some(known) = slot {
            known.text.push('\n');
            known.text.push_str(&text);
            return Ok(());
        }
        let flags = index.record(line).flags;
        let time = scan.timestamp.and_then(|span| span.string(bytes)).map(json_string::decode);
        *slot = Some(SpokenMessage {
            voice: match messages.is_user(index, chain, message) {
                _ if flags.any(Flags::META.with(Flags::COMPACT_SUMMARY)) => Voice::Client,
                true if flags.any(Flags::PROMPT) => Voice::Person,
                true => Voice::Client,
                false => Voice::Model,
            },
            turn: messages.firsts.get(message).and_then(turn_at),
            time: time.and_then(|time| time.parse().ok()),
            text,
        });
        io::Result::Ok(())
    })?;
    Ok(spoken.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn spoken(entries: &[(&str, &str, &str, &str)]) -> Vec<(Voice, Option<usize>, String)> {
        let mut file = tempfile::tempfile().unwrap();
        let mut parent = "null".to_owned();
        for (n, (kind, id, content, rest)) in entries.iter().enumerate() {
            let id = if id.is_empty() { String::new() } else { format!(r#""id":"{id}","#) };
            writeln!(
                file,
                r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","message":{{{id}"role":"{kind}","content":{content}}},"uuid":"u{n}","timestamp":"2026-01-01T00:00:0{n}Z"{rest}}}"#
            )
            .unwrap();
            parent = format!(r#""u{n}""#);
        }
        file.rewind().unwrap();
        let index = Index::build(&file).unwrap();
        let chain = Chain::find(&index);
        let said = read_spoken(&file, &index, &chain).unwrap();
        said.into_iter().map(|it| (it.voice, it.turn.map(|turn| turn.0), it.text)).collect()
    }

    // H-01
    #[test]
    fn h_01_every_message_with_a_text_is_read_once() {
        let said = spoken(&[
            ("user", "", r#""a caveat""#, r#","isMeta":true"#),
            ("user", "", r#""Fix \"it\"\n""#, ""),
            ("assistant", "m1", r#"[{"type":"thinking","thinking":"Hm.","signature":"x"}]"#, ""),
            ("assistant", "m1", r#"[{"type":"text","text":"I look."}]"#, ""),
            ("assistant", "m1", r#"[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]"#, ""),
            ("user", "", r#"[{"type":"tool_result","tool_use_id":"t","content":"files"}]"#, ""),
            ("assistant", "m2", r#"[{"type":"text","text":"Done."},{"type":"text","text":"All."}]"#, ""),
            ("user", "", r#"[{"type":"text","text":"[Request interrupted by user]"}]"#, ""),
            ("user", "", r#"[{"type":"text","text":"Next"}]"#, ""),
        ]);
        let expected = [
            (Voice::Client, None, "a caveat"),
            (Voice::Person, Some(0), "Fix \"it\"\n"),
            (Voice::Model, Some(0), "I look."),
            (Voice::Model, Some(0), "Done.\nAll."),
            (Voice::Client, Some(0), "[Request interrupted by user]"),
            (Voice::Person, Some(1), "Next"),
        ];
        assert_eq!(said, expected.map(|(voice, turn, text)| (voice, turn, text.to_owned())));
    }
}
