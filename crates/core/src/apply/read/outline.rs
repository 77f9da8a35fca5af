//! Two transcripts entry by entry: which entries both have, and which of them differ.

use std::collections::HashMap;
use std::io;

use xxhash_rust::xxh3::xxh3_64;

use super::lines::each_line;
use super::page::Page;
use ctxc_transcript::text::Tokens;
use ctxc_transcript::{IdHash, LineNo, Transcript, context_tokens};

/// The live entries of a transcript, as far as they are compared.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    entries: Vec<Outlined>,
}

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlined {
    /// Its line.
    pub line: LineNo,
    /// Its size as the model sees it, in `chars4` tokens without signatures.
    pub tokens: Tokens,
    uuid: IdHash,
    /// A digest of the content of its message, as it is written.
    content: u64,
}

/// The difference of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the first transcript has it.
    Dropped(Outlined),
    /// Both have it, and it says something else.
    Changed(Outlined, Outlined),
    /// Only the second has it.
    Added(Outlined),
}

impl Outline {
    /// The entries of `chain` that the model sees something of.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub fn of(transcript: Transcript<'_>) -> io::Result<Self> {
        let Transcript { file, index, chain } = transcript;
        let mut outline = Self::default();
        each_line(file, index, &chain.lines, |Page { line, bytes, scan }| {
            let content = scan.message.and_then(|message| message.content).or(scan.attachment);
            let content = xxh3_64(content.map_or(&[][..], |content| content.of(bytes)));
            let (tokens, uuid) = (context_tokens(index, line), index.record(line).uuid);
            outline.entries.push(Outlined { line, tokens, uuid, content });
        })?;
        Ok(outline)
    }

    /// The number of entries.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Their tokens.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        self.entries.iter().map(|entry| entry.tokens).sum()
    }

    /// The differences to `other`, in the order of the conversation: dropped entries are at their old place.
    #[must_use]
    pub fn changes(&self, other: &Self) -> Vec<Change> {
        let by_uuid: HashMap<IdHash, Outlined> = other.entries.iter().map(|entry| (entry.uuid, *entry)).collect();
        let ours: HashMap<IdHash, usize> = self.entries.iter().zip(0..).map(|(entry, at)| (entry.uuid, at)).collect();
        let mut changes = Vec::new();
        let mut added = other.entries.iter().peekable();
        for entry in &self.entries {
            match by_uuid.get(&entry.uuid) {
                None => changes.push(Change::Dropped(*entry)),
                Some(theirs) => {
                    // Those that stand before it there, and that we do not have.
                    while let Some(new) = added.next_if(|new| new.uuid != entry.uuid && new.line <= theirs.line) {
                        changes.extend((!ours.contains_key(&new.uuid)).then_some(Change::Added(*new)));
                    }
                    if theirs.content != entry.content {
                        changes.push(Change::Changed(*entry, *theirs));
                    }
                }
            }
        }
        let rest = added.filter(|new| !ours.contains_key(&new.uuid));
        changes.extend(rest.map(|new| Change::Added(*new)));
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::read::lines::file_of;
    use crate::apply::samples::{assistant, text, user};
    use ctxc_transcript::Chain;

    fn outline(lines: &[String]) -> Outline {
        let (file, index, _) = file_of(&(lines.join("\n") + "\n"));
        Outline::of(Transcript { file: &file, index: &index, chain: &Chain::find(&index) }).unwrap()
    }

    // U-06
    #[test]
    fn u_06_entries_are_dropped_changed_and_added() {
        let one = outline(&[
            user("a", "", r#""Hi""#),
            assistant("b", "a", "m1", &text("Hello there")),
            user("c", "b", r#""Go on""#),
            assistant("d", "c", "m2", &text("Done")),
        ]);
        let other = outline(&[
            user("x", "", r#""Summary""#),
            assistant("b", "x", "m1", &text("Hello")),
            user("c", "b", r#""Go on""#),
            assistant("d", "c", "m2", &text("Done")),
            user("e", "d", r#""More""#),
        ]);
        let told: Vec<String> = one
            .changes(&other)
            .into_iter()
            .map(|change| match change {
                Change::Dropped(entry) => format!("-{}", entry.line.number()),
                Change::Changed(before, after) => format!("~{}>{}", before.line.number(), after.line.number()),
                Change::Added(entry) => format!("+{}", entry.line.number()),
            })
            .collect();
        assert_eq!(told, ["-1", "+1", "~2>2", "+5"]);
        assert!(one.changes(&one).is_empty());
    }
}
