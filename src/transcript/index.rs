//! Pass one: a small record for each line, and the links between them.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use hashbrown::HashTable;

use super::lines::{Fingerprint, LineReader};
use super::measure::{Part, measure};
use super::preserved::PreservedSegment;
use super::prompt::Prompt;
use super::record::{Flags, IdHash, LineNo, MessageIdx, PackedParent, Parent, Record, SessionAt};
use super::scan::{Block, BlockKind, Form, Kind, Scan};
use super::tools::Tools;
use crate::text::{Tokens, json_string};

/// What is known of a transcript without holding it.
#[derive(Debug, Default)]
pub struct Index {
    /// A record for each line, in file order.
    pub records: Vec<Record>,
    /// The prompt of each message as the API measured it, in tokens; 0 where no usage was recorded.
    pub prompts: Vec<u32>,
    /// Every tool call and every result.
    pub tools: Tools,
    /// The tokens of thinking, for the lines that hold some.
    pub thinking: Vec<Thinking>,
    /// Entries outside the chain that point into it, in file order.
    pub pointers: Vec<Pointer>,
    /// What compact boundaries keep of the history before them.
    pub preserved: Vec<PreservedSegment>,
    /// The line of the newest message that is no sidechain, by its timestamp.
    pub newest: Option<LineNo>,
    /// What the file was when it was read.
    pub fingerprint: Fingerprint,
    offsets: Vec<u64>,
}

/// The thinking of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thinking {
    /// The line.
    pub line: LineNo,
    /// The `chars4` tokens of the text.
    pub text: u32,
    /// The `chars4` tokens of the signatures.
    pub signature: u32,
    /// A digest of the blocks as they stand, by which an alteration shows.
    pub digest: u64,
}

/// An entry outside the chain that names one inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The line of the entry.
    pub line: LineNo,
    /// The uuid that it names.
    pub target: IdHash,
}

/// How the client starts a chained entry.
pub(crate) const LEADING_PARENT: &[u8] = br#"{"parentUuid":"#;

/// How many lines are searched for a parent one by one.
const NEAR: usize = 6;

/// How many lines lie between two offsets that are kept.
const STRIDE: usize = 256;

impl Index {
    /// Reads a transcript to its end.
    ///
    /// # Errors
    /// Only when reading fails; whatever the lines hold, they are indexed.
    pub fn build(reader: impl Read) -> io::Result<Self> {
        let mut lines = LineReader::new(reader);
        let mut builder = Builder::default();
        let mut scan = Scan::default();
        let mut offset = 0;
        while let Some(line) = lines.next_line()? {
            if u32::try_from(builder.index.records.len()).is_ok_and(|n| n >= Tools::RESULT) {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "there are more than 2^31 lines"));
            }
            if builder.index.records.len().is_multiple_of(STRIDE) {
                builder.index.offsets.push(offset);
            }
            offset += line.len() as u64;
            scan.read(line);
            builder.add(&scan, line);
        }
        let mut index = builder.finish();
        index.fingerprint = lines.fingerprint();
        Ok(index)
    }

    /// How many lines there are.
    #[must_use]
    pub fn n_lines(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(u32::MAX)
    }

    /// The record of `line`.
    ///
    /// # Panics
    /// When the index has no such line: line numbers come from the index itself.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "line numbers come from the index itself")]
    pub fn record(&self, line: LineNo) -> &Record {
        &self.records[line.idx()]
    }

    /// The record of `line`, to change.
    ///
    /// # Panics
    /// As [`Index::record`].
    #[expect(clippy::indexing_slicing, reason = "line numbers come from the index itself")]
    pub fn record_mut(&mut self, line: LineNo) -> &mut Record {
        &mut self.records[line.idx()]
    }

    /// Where `line` starts in the file.
    #[must_use]
    pub fn offset(&self, line: LineNo) -> u64 {
        let stride = line.idx() / STRIDE;
        let start = self.offsets.get(stride).copied().unwrap_or(0);
        let before = self.records.get(stride * STRIDE..line.idx()).unwrap_or_default();
        start + before.iter().map(|record| u64::from(record.len)).sum::<u64>()
    }

    /// Every line number, in file order.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = LineNo> + use<> {
        (0..self.n_lines()).map(LineNo)
    }

    /// The lines that `uuids` stand for, in one walk over the index: of each the last chained entry.
    #[must_use]
    pub fn lines_of(&self, uuids: impl IntoIterator<Item = IdHash>) -> HashMap<IdHash, LineNo> {
        let wanted: HashSet<IdHash> = uuids.into_iter().collect();
        if wanted.is_empty() {
            return HashMap::new();
        }
        let chained = self.lines().filter(|&line| self.record(line).is_chained());
        chained.map(|line| (self.record(line).uuid, line)).filter(|(uuid, _)| wanted.contains(uuid)).collect()
    }

    /// Takes `line` out. Its children are for the caller to relink.
    pub fn drop_line(&mut self, line: LineNo) {
        self.record_mut(line).flags.set(Flags::DROPPED);
    }

    /// Hangs `line` on another parent; `None` makes it a root.
    pub fn relink(&mut self, line: LineNo, parent: Option<LineNo>) {
        self.record_mut(line).parent = PackedParent::pack(parent.map_or(Parent::Root, Parent::At));
    }

    /// Brings the record of `line` up to the text that it has after an edit. Its links and its uuid stay, and its
    /// length, which tells where lines are in the source.
    pub fn reread(&mut self, line: LineNo, scan: &Scan, text: &[u8]) {
        let Reading { flags, tokens, thinking, session_at } = Reading::of(scan, text, line);
        let record = self.record_mut(line);
        record.flags = flags.with(record.flags.and(Flags::SUPERSEDED));
        record.tokens = tokens;
        record.session_at = session_at;
        if let Ok(at) = self.thinking.binary_search_by_key(&line, |thinking| thinking.line) {
            self.thinking.remove(at);
            self.thinking.splice(at..at, thinking);
        }
        if let Ok(at) = self.pointers.binary_search_by_key(&line, |pointer| pointer.line) {
            self.pointers.splice(at..=at, Pointer::read(line, scan, text));
        }
        if let Ok(at) = self.preserved.binary_search_by_key(&line, |segment| segment.boundary) {
            self.preserved.splice(at..=at, preserved(line, scan, text));
        }
    }

    /// The size of the prompt that a message answered, as the API measured it.
    #[must_use]
    pub fn prompt_of(&self, message: MessageIdx) -> Option<Tokens> {
        self.prompts.get(message.0 as usize).filter(|&&prompt| prompt > 0).map(|&prompt| Tokens(u64::from(prompt)))
    }

    /// The thinking of `line`.
    #[must_use]
    pub fn thinking_of(&self, line: LineNo) -> Option<&Thinking> {
        // Most lines have none, and are not to be searched for.
        self.records.get(line.idx()).filter(|record| record.flags.any(Flags::THINKING))?;
        let at = self.thinking.binary_search_by_key(&line, |thinking| thinking.line).ok()?;
        self.thinking.get(at)
    }
}

impl Pointer {
    /// The pointer in a line, if it holds one.
    fn read(line: LineNo, scan: &Scan, text: &[u8]) -> Option<Self> {
        let target = match scan.kind {
            Kind::Summary | Kind::LastPrompt => scan.leaf_uuid,
            Kind::FileHistorySnapshot => scan.snapshot_of,
            _ => None,
        };
        target?.string(text).map(|target| Self { line, target: IdHash::of(target) })
    }
}

/// What a compact boundary keeps.
fn preserved(line: LineNo, scan: &Scan, text: &[u8]) -> Option<PreservedSegment> {
    PreservedSegment::read(line, scan.compact_metadata.map_or(&[][..], |it| it.of(text)))
}

/// What a record takes from its line alone.
struct Reading {
    flags: Flags,
    tokens: u32,
    thinking: Option<Thinking>,
    session_at: SessionAt,
}

impl Reading {
    fn of(scan: &Scan, text: &[u8], line: LineNo) -> Self {
        let mut tokens = Tokens::ZERO;
        let mut thinking = (Tokens::ZERO, Tokens::ZERO);
        measure(scan, text, |part, count| match part {
            Part::Thinking => thinking.0 += count,
            Part::Signature => thinking.1 += count,
            _ => tokens += count,
        });
        let flags = flags_of(scan, text);
        let thinking = flags.any(Flags::THINKING).then(|| Thinking {
            line,
            text: clamp(thinking.0),
            signature: clamp(thinking.1),
            digest: thinking_digest(scan, text),
        });
        let session_at = scan.session_id.map_or(SessionAt::NONE, |it| SessionAt::note(it.start as usize, text.len()));
        Self { flags, tokens: clamp(tokens), thinking, session_at }
    }
}

#[derive(Default)]
struct Builder {
    index: Index,
    /// Chained lines by uuid.
    by_uuid: HashTable<u32>,
    /// The first lines of messages by id.
    by_message: HashTable<u32>,
    message_ids: Vec<IdHash>,
    /// Lines whose parent had not been read when they were.
    unresolved: Vec<(LineNo, IdHash)>,
    /// How many lines have a uuid that a later line has too.
    n_superseded: usize,
    /// The timestamp of `index.newest`.
    newest: Vec<u8>,
}

impl Builder {
    fn add(&mut self, scan: &Scan, line: &[u8]) {
        let line_no = LineNo(self.index.n_lines());
        let Reading { flags, tokens, thinking, session_at } = Reading::of(scan, line, line_no);
        self.index.thinking.extend(thinking);
        let uuid = scan.uuid.and_then(|it| it.string(line)).map_or(IdHash::NONE, IdHash::of);
        let record = Record {
            uuid,
            len: u32::try_from(line.len()).unwrap_or(u32::MAX),
            flags,
            parent: PackedParent::pack(self.parent(scan, line, line_no)),
            message: self.message(scan, line),
            tokens,
            session_at,
            kind: scan.kind,
        };
        self.index.records.push(record);
        if record.is_chained() {
            self.note_uuid(uuid, line_no);
        }
        if record.is_message() && !flags.any(Flags::SIDECHAIN.with(Flags::TEAM)) {
            self.note_time(scan, line, line_no);
        }
        if flags.any(Flags::PRESERVES) {
            self.index.preserved.extend(preserved(line_no, scan, line));
        }
        self.note_tools(scan, line, line_no);
        self.index.pointers.extend(Pointer::read(line_no, scan, line));
    }

    fn parent(&mut self, scan: &Scan, line: &[u8], line_no: LineNo) -> Parent {
        let Some(id) = scan.parent_uuid.and_then(|it| it.string(line)) else { return Parent::Root };
        let id = IdHash::of(id);
        // The parent is mostly one of the lines just read, which need no look into a table of all.
        let latest = self.index.records.iter().rev().take(NEAR).position(|near| near.uuid == id && near.is_chained());
        if let Some(back) = latest.and_then(|back| u32::try_from(back).ok()) {
            return Parent::At(LineNo(line_no.0 - 1 - back));
        }
        let Self { index, by_uuid, .. } = self;
        if let Some(&at) = by_uuid.find(id.0, |&at| index.record(LineNo(at)).uuid == id) {
            return Parent::At(LineNo(at));
        }
        self.unresolved.push((line_no, id));
        Parent::Missing
    }

    fn note_uuid(&mut self, uuid: IdHash, line_no: LineNo) {
        let Self { index, by_uuid, n_superseded, .. } = self;
        if let Some(at) = by_uuid.find_mut(uuid.0, |&at| index.record(LineNo(at)).uuid == uuid) {
            index.record_mut(LineNo(*at)).flags.set(Flags::SUPERSEDED);
            *n_superseded += 1;
            *at = line_no.0;
        } else {
            by_uuid.insert_unique(uuid.0, line_no.0, |&at| index.record(LineNo(at)).uuid.0);
        }
    }

    /// Timestamps are ISO 8601 in UTC, all of one length, so that their bytes sort as their times do.
    fn note_time(&mut self, scan: &Scan, line: &[u8], line_no: LineNo) {
        let Some(time) = scan.timestamp.and_then(|it| it.string(line)) else { return };
        if self.newest.as_slice() <= time {
            self.newest.clear();
            self.newest.extend_from_slice(time);
            self.index.newest = Some(line_no);
        }
    }

    /// The message of an assistant line, a new one where its id is new or missing; `u32::MAX` for others.
    fn message(&mut self, scan: &Scan, line: &[u8]) -> u32 {
        let Some(message) = scan.message.filter(|_| scan.kind == Kind::Assistant) else { return u32::MAX };
        let id = message.id.and_then(|it| it.string(line)).map_or(IdHash::NONE, IdHash::of);
        let Self { index, by_message, message_ids, .. } = self;
        let id_of = |ids: &[IdHash], at: u32| ids.get(at as usize).copied().unwrap_or_default();
        let known = by_message.find(id.0, |&at| id_of(message_ids, at) == id).copied();
        let at = known.unwrap_or_else(|| {
            let at = u32::try_from(index.prompts.len()).unwrap_or(u32::MAX);
            message_ids.push(id);
            index.prompts.push(0);
            if id != IdHash::NONE {
                by_message.insert_unique(id.0, at, |&at| id_of(message_ids, at).0);
            }
            at
        });
        let prompt = message.counts.prompt();
        if let Some(known) = index.prompts.get_mut(at as usize).filter(|_| prompt > 0) {
            *known = u32::try_from(prompt).unwrap_or(u32::MAX);
        }
        at
    }

    fn note_tools(&mut self, scan: &Scan, line: &[u8], line_no: LineNo) {
        let tools = &mut self.index.tools;
        for block in scan.outer_blocks() {
            let id = || block.tool_id.and_then(|it| it.string(line)).map_or(IdHash::NONE, IdHash::of);
            match (scan.kind, block.kind) {
                (Kind::Assistant, BlockKind::ToolUse) => {
                    tools.push_call(id(), line_no, block.name.and_then(|it| it.string(line)).unwrap_or_default());
                }
                (Kind::User, BlockKind::ToolResult) => tools.push_result(id(), line_no),
                _ => {}
            }
        }
    }

    fn finish(mut self) -> Index {
        for (line, id) in std::mem::take(&mut self.unresolved) {
            let Self { index, by_uuid, .. } = &mut self;
            if let Some(&at) = by_uuid.find(id.0, |&at| index.record(LineNo(at)).uuid == id) {
                index.record_mut(line).parent = PackedParent::pack(Parent::At(LineNo(at)));
            }
        }
        if self.n_superseded > 0 {
            self.redirect_superseded();
        }
        let Self { mut index, .. } = self;
        index.records.shrink_to_fit();
        index
    }

    /// A later entry of the same uuid wins, for the children of the earlier one too.
    fn redirect_superseded(&mut self) {
        let Self { index, by_uuid, .. } = self;
        for line in index.lines() {
            let Parent::At(parent) = index.record(line).parent() else { continue };
            let Record { uuid, flags, .. } = *index.record(parent);
            if !flags.any(Flags::SUPERSEDED) {
                continue;
            }
            if let Some(&heir) = by_uuid.find(uuid.0, |&at| index.record(LineNo(at)).uuid == uuid) {
                index.record_mut(line).parent = PackedParent::pack(Parent::At(LineNo(heir)));
            }
        }
    }
}

fn clamp(tokens: Tokens) -> u32 {
    u32::try_from(tokens.0).unwrap_or(u32::MAX)
}

/// The facts of one line, from its scan.
fn flags_of(scan: &Scan, line: &[u8]) -> Flags {
    let mut flags = Flags::NONE;
    match scan.form {
        Form::Blank => return flags,
        Form::Malformed => return Flags::MALFORMED,
        Form::Entry => flags.set(Flags::ENTRY),
    }
    flags.set_if(scan.is_sidechain, Flags::SIDECHAIN);
    flags.set_if(scan.is_meta || scan.is_api_error, Flags::META);
    flags.set_if(scan.is_compact_summary, Flags::COMPACT_SUMMARY);
    flags.set_if(scan.is_team, Flags::TEAM);
    flags.set_if(scan.timestamp.is_none(), Flags::NO_TIMESTAMP);
    flags.set_if(scan.parent_uuid.is_none(), Flags::NO_PARENT_FIELD);
    flags.set_if(scan.parent_uuid.is_some_and(|it| it.string(line).is_some()), Flags::NAMES_PARENT);
    // Of two fields of one name the scan knows the last.
    let leads = scan.parent_uuid.is_some_and(|it| it.range().start == LEADING_PARENT.len());
    flags.set_if(leads && line.starts_with(LEADING_PARENT), Flags::LEADING_PARENT);
    if scan.is_compact_boundary(line) {
        flags.set(Flags::COMPACT_BOUNDARY);
        let metadata = scan.compact_metadata.map_or(&[][..], |it| it.of(line));
        super::scan::each_field(metadata, |key, _| {
            flags.set_if(key == b"preservedSegment" || key == b"preservedMessages", Flags::PRESERVES);
        });
    }
    match Prompt::of(scan, line) {
        Prompt::No => {}
        Prompt::Command => flags.set(Flags::PROMPT.with(Flags::COMMAND)),
        Prompt::Typed => flags.set(Flags::PROMPT),
    }
    if scan.kind.is_message() { flags.with(content_flags(scan, line)) } else { flags }
}

/// Whether these are one block, with nothing but text in it.
fn is_single(blocks: &[Block]) -> bool {
    let is_medium = |block: &Block| matches!(block.kind, BlockKind::Image | BlockKind::Document);
    blocks.split_first().is_some_and(|(first, inner)| {
        inner.iter().all(|block| block.is_nested && !is_medium(block))
            && matches!(first.kind, BlockKind::Text | BlockKind::Thinking | BlockKind::ToolUse | BlockKind::ToolResult)
    })
}

fn content_flags(scan: &Scan, line: &[u8]) -> Flags {
    let mut flags = Flags::NONE;
    let Some(message) = scan.message else { return Flags::BAD_CONTENT };
    let role: &[u8] = if scan.kind == Kind::User { b"user" } else { b"assistant" };
    flags.set_if(message.role.and_then(|it| it.string(line)) != Some(role), Flags::WRONG_ROLE);
    flags.set_if(message.counts.context() > 0, Flags::USAGE);
    if let Some(text) = scan.string_content(line) {
        flags.set(Flags::TEXT.with(Flags::BEYOND_THINKING).with(Flags::BEYOND_RESULTS).with(Flags::SINGLE));
        flags.set_if(json_string::is_blank(text), Flags::BLANK);
        return flags;
    }
    if !message.content.is_some_and(|it| it.of(line).starts_with(b"[")) {
        return flags.with(Flags::BAD_CONTENT);
    }
    flags.set_if(scan.blocks.is_empty(), Flags::BLANK);
    flags.set_if(is_single(&scan.blocks), Flags::SINGLE);
    for block in scan.outer_blocks() {
        let is_object = block.span.is_some_and(|it| it.of(line).starts_with(b"{"));
        flags.set_if(!is_object, Flags::BAD_CONTENT);
        flags.set_if(block.kind != BlockKind::Thinking, Flags::BEYOND_THINKING);
        flags.set_if(block.kind != BlockKind::ToolResult, Flags::BEYOND_RESULTS);
        match block.kind {
            BlockKind::Text => {
                flags.set(Flags::TEXT);
                let text = block.text.and_then(|it| it.string(line));
                flags.set_if(text.is_none_or(json_string::is_blank), Flags::BLANK);
            }
            BlockKind::Thinking => flags.set(Flags::THINKING),
            BlockKind::ToolUse => flags.set(Flags::TOOL_USE),
            BlockKind::ToolResult => flags.set(Flags::TOOL_RESULT),
            BlockKind::Unknown => flags.set_if(is_object, Flags::UNKNOWN_BLOCK),
            BlockKind::Image | BlockKind::Document | BlockKind::Known => {}
        }
    }
    flags
}

fn thinking_digest(scan: &Scan, line: &[u8]) -> u64 {
    let mut hasher = xxhash_rust::xxh3::Xxh3Default::new();
    for block in scan.outer_blocks().filter(|block| block.kind == BlockKind::Thinking) {
        hasher.update(block.span.map_or(&[][..], |it| it.of(line)));
    }
    hasher.digest()
}
