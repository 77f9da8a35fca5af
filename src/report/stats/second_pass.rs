//! The second pass: what only the lines themselves tell, kinds of content and the names of tools.

use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;

use memchr::memmem::Finder;

use super::turn::TurnRow;
use crate::text::{Tokens, json_string};
use crate::transcript::scan::{Block, BlockKind, Kind, Scan};
use crate::transcript::{Chain, Flags, IdHash, Index, LineNo, MessageIdx, Part, ToolEnd, Usage, measure};

/// The sums of one tool, by `chars4`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ToolSums {
    pub(super) calls: u64,
    pub(super) inputs: Tokens,
    pub(super) results: Tokens,
}

/// What the second pass gathers.
pub(super) struct SecondPass<'a> {
    index: &'a Index,
    pub(super) turns: Vec<TurnRow>,
    /// The turns by the lines of their prompts.
    turn_at: HashMap<u32, usize>,
    pub(super) parts: BTreeMap<Part, (u64, Tokens)>,
    pub(super) tools: BTreeMap<String, ToolSums>,
    /// The tools of calls whose results have not been read yet.
    open: HashMap<IdHash, String>,
    /// The message that was the last to record a size, and the place of its last entry that did.
    pub(super) recorded_by: Option<(MessageIdx, usize)>,
    pub(super) recorded: u64,
    /// The ends of tool calls from the line on that is read.
    ends: Peekable<Box<dyn Iterator<Item = ToolEnd> + 'a>>,
    /// Finds what each image and document has.
    source: Finder<'static>,
    scan: Scan,
    /// One block with those inside it, as an entry of its own.
    one: Scan,
}

impl<'a> SecondPass<'a> {
    pub(super) fn new(index: &'a Index, chain: &Chain, turns: Vec<TurnRow>) -> Self {
        let records_usage = |(_, line): &(usize, LineNo)| index.record(*line).flags.any(Flags::USAGE);
        let recorded_by = chain
            .messages(index)
            .rev()
            .find(records_usage)
            .and_then(|(place, line)| Some((index.record(line).message()?, place)));
        Self {
            index,
            turn_at: turns.iter().enumerate().map(|(at, turn)| (turn.line, at)).collect(),
            turns,
            parts: BTreeMap::new(),
            tools: BTreeMap::new(),
            open: HashMap::new(),
            recorded_by,
            recorded: 0,
            ends: (Box::new(index.tools.iter()) as Box<dyn Iterator<Item = ToolEnd>>).peekable(),
            source: Finder::new(b"\"source\""),
            scan: Scan::default(),
            one: Scan::default(),
        }
    }

    /// Counts one live line. They come in the order of the file.
    pub(super) fn read(&mut self, line_no: LineNo, line: &[u8]) {
        if let Some(id) = self.lone_result(line_no, line) {
            let tokens = Tokens(u64::from(self.index.record(line_no).tokens));
            self.note(Part::ToolResult, tokens);
            self.note_result(id, tokens);
            return;
        }
        let mut scan = std::mem::take(&mut self.scan);
        scan.read(line);
        if let Some(turn) = self.turn_at.get(&line_no.number()).and_then(|&at| self.turns.get_mut(at)) {
            turn.quote(&scan, line);
        }
        let message = self.index.record(line_no).message();
        if message.is_some() && message == self.recorded_by.map(|(message, _)| message) {
            // The entries of one message repeat its usage, the earlier ones with a part of the reply.
            let usage = scan.message.and_then(|message| message.usage).map(|it| Usage::of(it.of(line)));
            self.recorded = self.recorded.max(usage.map_or(0, Usage::context));
        }
        if scan.blocks.is_empty() {
            measure(&scan, line, |part, tokens| self.note(part, tokens));
        }
        self.one.kind = scan.kind;
        for blocks in scan.blocks.chunk_by(|_, next| next.is_nested) {
            self.read_block(blocks, line);
        }
        self.scan = scan;
    }

    /// Counts a block and those inside it.
    fn read_block(&mut self, blocks: &[Block], line: &[u8]) {
        let Some(outer) = blocks.first() else { return };
        let mut one = std::mem::take(&mut self.one);
        one.blocks.clear();
        one.blocks.extend_from_slice(blocks);
        let mut tokens = Tokens::ZERO;
        let mut has_result = false;
        measure(&one, line, |part, count| {
            tokens += count;
            let is_more_of_it = part == Part::ToolResult && has_result;
            has_result |= part == Part::ToolResult;
            let (n, sum) = self.parts.entry(part).or_default();
            *n += u64::from(!is_more_of_it);
            *sum += count;
        });
        match (one.kind, outer.kind) {
            (Kind::Assistant, BlockKind::ToolUse) => {
                let name = outer.name.and_then(|it| it.string(line));
                let name = name.map_or_else(String::new, |name| json_string::decode(name).into_owned());
                let sums = self.tools.entry(name.clone()).or_default();
                sums.calls += 1;
                sums.inputs += tokens;
                self.open.insert(id_of(outer, line), name);
            }
            (Kind::User, BlockKind::ToolResult) => self.note_result(id_of(outer, line), tokens),
            _ => {}
        }
        self.one = one;
    }

    /// The id of the call, when the line holds one tool result and nothing else that counts, images neither: then
    /// the index knows its tokens, and the longest lines need no second scan.
    fn lone_result(&mut self, line_no: LineNo, line: &[u8]) -> Option<IdHash> {
        while self.ends.next_if(|end| end.line < line_no).is_some() {}
        let flags = self.index.record(line_no).flags;
        if !flags.any(Flags::TOOL_RESULT) || flags.any(Flags::BEYOND_RESULTS) {
            return None;
        }
        let end = self.ends.next_if(|end| end.line == line_no && end.is_result)?;
        let is_alone = self.ends.peek().is_none_or(|next| next.line != line_no);
        // The quotes of strings inside strings are escaped, so that this is a key or a value.
        let may_be_image = || self.source.find(line).is_some();
        (is_alone && end.id != IdHash::NONE && !may_be_image()).then_some(end.id)
    }

    fn note(&mut self, part: Part, tokens: Tokens) {
        let (n, sum) = self.parts.entry(part).or_default();
        *n += 1;
        *sum += tokens;
    }

    fn note_result(&mut self, id: IdHash, tokens: Tokens) {
        let name = self.open.remove(&id).unwrap_or_default();
        self.tools.entry(name).or_default().results += tokens;
    }
}

fn id_of(block: &Block, line: &[u8]) -> IdHash {
    block.tool_id.and_then(|it| it.string(line)).map_or(IdHash::NONE, IdHash::of)
}
