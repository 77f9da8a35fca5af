//! Masked lines that replace lines with a purged text in every later deposit (N-12).

use std::borrow::Cow;
use std::collections::HashMap;

use super::VersionError;
use super::key::LineKey;
use super::pack::{Packer, Unpacker};
use ctxc_store::codec::take_array;
use ctxc_store::{Archive, LineId, Object, ObjectKind};
use ctxc_transcript::Span;
use ctxc_transcript::edit::Splice;
use ctxc_transcript::scan::Scan;
use ctxc_transcript::text::Digest;

/// The masked forms of lines, by the hidden keys that the lines had. These tell nothing of what was purged but to who guesses
/// the whole line.
#[derive(Debug, Default)]
pub struct StandIns(HashMap<Digest, StandIn>);

#[derive(Debug)]
struct StandIn {
    /// The key of the masked form.
    key: LineKey,
    /// The bytes written over the line, by places in the line without its session id.
    patches: Vec<(usize, Vec<u8>)>,
}

impl StandIns {
    /// Those that `archive` has.
    ///
    /// # Errors
    /// When the archive cannot be read.
    pub fn load(archive: &dyn Archive) -> Result<Self, VersionError> {
        let heads = archive.object_keys(ObjectKind::Forgotten)?;
        let mut all = HashMap::with_capacity(heads.len());
        for (key, head) in heads {
            let unknown = || VersionError::Unknown { what: "the purged line", key: key.to_string() };
            let (old, stand_in) = unpack(&head).ok_or_else(unknown)?;
            all.insert(old, stand_in);
        }
        Ok(Self(all))
    }

    /// Whether nothing was purged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `line`, or its masked form, which is as long.
    #[must_use]
    pub fn of<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        self.masked(line).map_or(Cow::Borrowed(line), Cow::Owned)
    }

    /// As [`Self::of`], of a title.
    #[must_use]
    pub fn of_text(&self, text: String) -> String {
        self.masked(text.as_bytes()).and_then(|masked| String::from_utf8(masked).ok()).unwrap_or(text)
    }

    /// The masked form of `line`; `None` where nothing was purged of it.
    #[must_use]
    pub fn masked(&self, line: &[u8]) -> Option<Vec<u8>> {
        if self.0.is_empty() {
            return None;
        }
        let stand_in = self.0.get(&LineKey::scanned(line).hidden())?;
        let session = Scan::of(line).session_id;
        let mut masked = line.to_vec();
        for (start, bytes) in &stand_in.patches {
            let start = with_session(*start, session);
            masked.get_mut(start..start.checked_add(bytes.len())?)?.copy_from_slice(bytes);
        }
        Some(masked)
    }

    /// Puts the keys of the masked forms in the place of those of the lines.
    pub(super) fn translate(&self, keys: &mut [LineKey]) {
        if self.is_empty() {
            return;
        }
        for key in keys {
            *key = self.key(*key);
        }
    }

    /// The key of the masked form of the line with this key; the same where nothing was purged of it.
    pub(super) fn key(&self, key: LineKey) -> LineKey {
        if self.is_empty() {
            return key;
        }
        self.0.get(&key.hidden()).map_or(key, |stand_in| key.with_content(stand_in.key))
    }

    /// The bytes of each of `splices` in the masked form of `rendered`, which they make of `line`, with those that they had.
    /// Nothing where nothing was purged of it.
    pub(super) fn masked_splices(&self, line: &[u8], splices: &[Splice], rendered: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let Some(masked) = self.masked(rendered) else { return Vec::new() };
        let session = |line| Scan::of(line).session_id.map(Span::range);
        let (was, is) = (session(line), session(rendered));
        let mut grown = 0_isize;
        let mut pairs = Vec::new();
        for splice in splices {
            let (start, end) = (splice.span.start as usize, splice.span.end as usize);
            let moved = was.as_ref().zip(is.as_ref()).filter(|(was, _)| was.start < start);
            let moved = moved.map_or(0, |(was, is)| is.len().cast_signed() - was.len().cast_signed());
            let at = start.saturating_add_signed(grown + moved);
            let bytes = masked.get(at..at + splice.bytes.len());
            pairs.extend(bytes.map(|bytes| (splice.bytes.clone(), bytes.to_vec())));
            grown += splice.bytes.len().cast_signed() - (end - start).cast_signed();
        }
        pairs.retain(|(bytes, masked)| bytes != masked);
        pairs
    }
}

/// The object that records that the line `old` became `new` of the same length. `line` is its id if it is a line of a state.
/// Its key is the digest of the old line, because placeholders may name it.
pub(super) fn object(old: &[u8], new: &[u8], line: Option<LineId>) -> Option<Object> {
    let (old_key, key) = (LineKey::scanned(old), LineKey::scanned(new));
    // All title lines of ours have one.
    if old_key == key {
        return None;
    }
    let session = Scan::of(old).session_id;
    let mut head = Packer::default();
    head.digest(old_key.hidden());
    head.0.extend_from_slice(key.as_bytes());
    for (start, bytes) in changed_bytes(old, new) {
        let Some(start) = without_session(start, session) else { continue };
        head.number(start as u64);
        head.bytes(bytes);
    }
    let lines = line.into_iter().collect();
    let (kind, key) = (ObjectKind::Forgotten, Digest::of(old));
    Some(Object { kind, key, group: None, head: head.0, lines, content: Vec::new() })
}

fn unpack(head: &[u8]) -> Option<(Digest, StandIn)> {
    let mut unpacker = Unpacker(head);
    let old = unpacker.digest()?;
    let key = LineKey::from_bytes(take_array(&mut unpacker.0)?);
    let mut patches = Vec::new();
    while !unpacker.is_empty() {
        patches.push((usize::try_from(unpacker.number()?).ok()?, unpacker.bytes()?));
    }
    Some((old, StandIn { key, patches }))
}

/// Whether any bytes can be read as a stand-in, or are refused.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn reads_any_stand_ins(bytes: &[u8]) -> bool {
    unpack(bytes).is_none_or(|(_, stand_in)| stand_in.patches.iter().all(|(_, patch)| patch.len() <= bytes.len()))
}

/// The parts of `new` that differ from `old`, with their places.
#[must_use]
pub fn changed_bytes<'a>(old: &[u8], new: &'a [u8]) -> Vec<(usize, &'a [u8])> {
    let mut patches = Vec::new();
    let mut start = None;
    for (at, (left, right)) in old.iter().zip(new).enumerate() {
        match (left == right, start) {
            (false, None) => start = Some(at),
            (true, Some(first)) => {
                patches.extend(new.get(first..at).map(|bytes| (first, bytes)));
                start = None;
            }
            _ => {}
        }
    }
    patches.extend(start.and_then(|first| Some((first, new.get(first..)?))));
    patches
}

/// A place in a line, in the line without the session id; `None` within it.
fn without_session(at: usize, session: Option<Span>) -> Option<usize> {
    match session.map(Span::range) {
        Some(session) if at >= session.end => Some(at - session.len()),
        Some(session) if at >= session.start => None,
        _ => Some(at),
    }
}

/// A place in a line without its session id, in the whole line.
fn with_session(at: usize, session: Option<Span>) -> usize {
    match session.map(Span::range) {
        Some(session) if at >= session.start => at.saturating_add(session.len()),
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // N-12
    #[test]
    fn n_12_a_masked_form_stands_in_for_its_line_in_every_session() {
        let line = |session: &str, text: &str| {
            format!(r#"{{"a":"{text}","sessionId":"{session}","message":{{"content":"b {text} c"}}}}"#) + "\n"
        };
        let (old, new) = (line("s", "hunter2secret"), line("s", "[forgot*****]"));
        let object = object(old.as_bytes(), new.as_bytes(), Some(LineId(3))).unwrap();
        let (key, stand_in) = unpack(&object.head).unwrap();
        let them = StandIns(HashMap::from([(key, stand_in)]));
        for session in ["s", "a-longer-one", ""] {
            let masked = them.masked(line(session, "hunter2secret").as_bytes()).unwrap();
            assert_eq!(String::from_utf8(masked).unwrap(), line(session, "[forgot*****]"));
        }
        let mut keys = [LineKey::scanned(old.as_bytes()), LineKey::scanned(b"{}")];
        them.translate(&mut keys);
        assert_eq!(keys, [LineKey::scanned(new.as_bytes()), LineKey::scanned(b"{}")]);
        assert_eq!(them.masked(new.as_bytes()), None);
    }
}
