//! The second stage of the walk: the grammar of JSON over the structural bytes, and the fields on the way.

use super::bits::{Rejected, Structurals};
use super::nest::{Container, Nest};
use super::number::is_scalar;
use super::{Block, BlockKind, Form, Known, Message, Scan};
use crate::text::simd::Level;
use crate::transcript::{Span, Usage};

/// Fills `scan` from the JSON object that stands in `line` from `start` on.
pub(super) fn walk(level: Level, line: &[u8], start: usize, scan: &mut Scan) -> Result<(), Rejected> {
    let mut walk = Walk::new(level, line, start);
    walk.object(|walk, key| {
        if key != b"message" {
            let value = walk.value()?;
            return known(key, scan.set(line, key, value));
        }
        scan.message = None;
        scan.blocks.clear();
        if walk.at(b'{') { walk.message(scan) } else { walk.value().map(drop) }
    })?;
    walk.end()?;
    scan.form = Form::Entry;
    Ok(())
}

/// Calls `each` with the key and the value of every field of the JSON object `text`; spans count from its
/// start. What the walk does not understand is left out.
pub fn each_field<'a>(text: &'a [u8], mut each: impl FnMut(&'a [u8], Span)) {
    let _ = Walk::new(Level::best(), text, 0).object(|walk, key| {
        let value = walk.value()?;
        known(key, Known::No)?;
        each(key, value);
        Ok(())
    });
}

/// Calls `each` with every string that is a value, at any depth, of the JSON value `text`: with the key that
/// it stands under, or that its array does, and the inside of the string.
pub fn each_string(text: &[u8], mut each: impl FnMut(Option<&[u8]>, &[u8])) {
    // Attachments nest a few levels deep; what nests deeper than this is no text of theirs.
    let _ = Walk::new(Level::best(), text, 0).strings(None, &mut each, 64);
}

/// Rejects a key with an escape, which may spell any name; one that is known has none.
#[inline(always)]
fn known(key: &[u8], is_known: Known) -> Result<(), Rejected> {
    // Keys are short: to look at all of it is faster than to stop.
    let has_escape = || key.iter().fold(false, |found, &byte| found | (byte == b'\\'));
    if is_known == Known::No && has_escape() { Err(Rejected::EscapedKey) } else { Ok(()) }
}

struct Walk<'a> {
    line: &'a [u8],
    structurals: Structurals<'a>,
    /// Where the next structural byte stands, and what it is: the length of the line and 0 when there is none.
    next_at: usize,
    next: u8,
    /// What is behind: everything before it has been read.
    position: usize,
}

impl<'a> Walk<'a> {
    fn new(level: Level, line: &'a [u8], start: usize) -> Self {
        let structurals = Structurals::new(level, line, start);
        let mut walk = Self { line, structurals, next_at: start, next: 0, position: start };
        walk.advance();
        walk
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.next_at = self.structurals.advance();
        self.next = self.line.get(self.next_at).copied().unwrap_or(0);
    }

    /// Goes behind the next structural byte.
    #[inline(always)]
    fn bump(&mut self) {
        self.position = self.next_at + 1;
        self.advance();
    }

    /// What stands between the bytes read so far and the next structural byte.
    #[inline]
    fn gap(&self) -> &'a [u8] {
        self.line.get(self.position..self.next_at).unwrap_or_default()
    }

    /// Whether nothing but white space stands there.
    #[inline(always)]
    fn is_close(&self) -> bool {
        self.next_at == self.position || self.is_spaced()
    }

    /// Whether white space stands before the next structural byte, and nothing else.
    #[inline(always)]
    fn skip_space(&mut self) -> bool {
        let starts_with_space = self.line.get(self.position).is_some_and(|&byte| byte <= b' ');
        if starts_with_space && self.is_spaced() {
            self.position = self.next_at;
            return true;
        }
        false
    }

    #[cold]
    #[inline(never)]
    fn is_spaced(&self) -> bool {
        is_space(self.gap())
    }

    /// Takes `byte`, which must be next but for white space, and returns where it stands.
    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Result<usize, Rejected> {
        if !self.at(byte) {
            return Err(Rejected::Malformed);
        }
        let at = self.next_at;
        self.bump();
        Ok(at)
    }

    /// Whether `byte` is next but for white space.
    #[inline(always)]
    fn at(&self, byte: u8) -> bool {
        self.next == byte && self.is_close()
    }

    fn end(&self) -> Result<(), Rejected> {
        if self.next_at == self.line.len() && self.is_close() && self.structurals.is_sound() {
            Ok(())
        } else {
            Err(Rejected::Malformed)
        }
    }

    /// Reads a string and returns it with its quotes.
    #[inline(always)]
    fn string(&mut self) -> Result<Span, Rejected> {
        let start = self.expect(b'"')?;
        // Inside a string nothing is structural, so the next one is the quote that ends it.
        if self.next != b'"' {
            return Err(Rejected::Malformed);
        }
        self.bump();
        Ok(Span::new(start, self.position))
    }

    /// Reads an object: `field` is called with each key, must read its value, and must reject a key with
    /// an escape, which is beyond the walk.
    #[inline]
    fn object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Rejected>) -> Result<Span, Rejected> {
        let start = self.expect(b'{')?;
        if self.at(b'}') {
            return Ok(Span::new(start, self.expect(b'}')? + 1));
        }
        loop {
            let key = self.string()?.string(self.line).ok_or(Rejected::Malformed)?;
            self.expect(b':')?;
            field(self, key)?;
            if self.at(b'}') {
                return Ok(Span::new(start, self.expect(b'}')? + 1));
            }
            self.expect(b',')?;
        }
    }

    /// Reads an array: `element` must read each value.
    #[inline]
    fn array(&mut self, mut element: impl FnMut(&mut Self) -> Result<(), Rejected>) -> Result<Span, Rejected> {
        let start = self.expect(b'[')?;
        if self.at(b']') {
            return Ok(Span::new(start, self.expect(b']')? + 1));
        }
        loop {
            element(self)?;
            if self.at(b']') {
                return Ok(Span::new(start, self.expect(b']')? + 1));
            }
            self.expect(b',')?;
        }
    }

    /// Reads any value. Nesting costs one bit of memory a level, and no stack.
    #[inline(always)]
    fn value(&mut self) -> Result<Span, Rejected> {
        if self.next_at != self.position {
            return self.apart();
        }
        match self.next {
            b'"' => self.string(),
            b'{' | b'[' => self.container(),
            _ => Err(Rejected::Malformed),
        }
    }

    /// Reads a value that does not start with the next structural byte, or does so only behind white space: a
    /// number, `true`, `false` or `null`, or anything.
    fn apart(&mut self) -> Result<Span, Rejected> {
        let gap = self.gap();
        if is_scalar(gap) {
            let start = self.position;
            self.position = self.next_at;
            return Ok(Span::new(start, self.position));
        }
        self.apart_by_space()
    }

    #[cold]
    #[inline(never)]
    fn apart_by_space(&mut self) -> Result<Span, Rejected> {
        let gap = self.gap();
        if is_space(gap) {
            self.position = self.next_at;
            return self.value();
        }
        let text = gap.trim_ascii();
        let n_before = gap.len() - gap.trim_ascii_start().len();
        if !is_scalar(text) || !is_space(gap.get(..n_before).unwrap_or_default()) {
            return Err(Rejected::Malformed);
        }
        let start = self.position + n_before;
        self.position = start + text.len();
        Ok(Span::new(start, self.position))
    }

    fn container(&mut self) -> Result<Span, Rejected> {
        let start = self.next_at;
        let mut nest = Nest::default();
        loop {
            // A value, of which a container has only its head read here.
            if self.next_at != self.position && !self.skip_space() {
                self.apart()?;
            } else {
                match self.next {
                    b'"' => {
                        self.string()?;
                    }
                    b'{' => {
                        self.bump();
                        nest.open(Container::Object);
                        if !self.at(b'}') {
                            self.key()?;
                            continue;
                        }
                    }
                    b'[' => {
                        self.bump();
                        nest.open(Container::Array);
                        if !self.at(b']') {
                            continue;
                        }
                    }
                    _ => return Err(Rejected::Malformed),
                }
            }
            // What follows a value: the ends of containers, then a comma.
            loop {
                if !self.is_close() {
                    return Err(Rejected::Malformed);
                }
                match (self.next, nest.innermost()) {
                    (b',', Container::Object) => {
                        self.bump();
                        self.key()?;
                        break;
                    }
                    (b',', Container::Array) => {
                        self.bump();
                        break;
                    }
                    (b'}', Container::Object) | (b']', Container::Array) => {
                        self.bump();
                        if nest.close().is_none() {
                            return Ok(Span::new(start, self.position));
                        }
                    }
                    _ => return Err(Rejected::Malformed),
                }
            }
        }
    }

    #[inline(always)]
    fn key(&mut self) -> Result<(), Rejected> {
        self.string()?;
        self.expect(b':')?;
        Ok(())
    }

    fn message(&mut self, scan: &mut Scan) -> Result<(), Rejected> {
        let line = self.line;
        let mut message = Message::default();
        self.object(|walk, key| {
            let value = if key == b"content" {
                scan.blocks.clear();
                if walk.at(b'[') { walk.blocks(&mut scan.blocks)? } else { walk.value()? }
            } else if key == b"usage" {
                message.counts = Usage::default();
                if walk.at(b'{') { walk.usage(&mut message.counts)? } else { walk.value()? }
            } else {
                walk.value()?
            };
            known(key, message.set(line, key, value))
        })?;
        scan.message = Some(message);
        Ok(())
    }

    fn usage(&mut self, usage: &mut Usage) -> Result<Span, Rejected> {
        let line = self.line;
        self.object(|walk, key| {
            let value = walk.value()?;
            known(key, usage.set(key, value.of(line)))
        })
    }

    fn blocks(&mut self, blocks: &mut Vec<Block>) -> Result<Span, Rejected> {
        self.array(|walk| walk.block(blocks, false))
    }

    /// Reads one element of a content array. Only those of the message itself may hold further ones.
    fn block(&mut self, blocks: &mut Vec<Block>, is_nested: bool) -> Result<(), Rejected> {
        let at = blocks.len();
        let mut block = Block { is_nested, ..Block::default() };
        blocks.push(block);
        let line = self.line;
        let span = if self.at(b'{') {
            self.object(|walk, key| {
                let value = if key == b"content" && !is_nested && walk.at(b'[') {
                    blocks.truncate(at + 1);
                    walk.array(|walk| walk.block(blocks, true))?
                } else {
                    walk.value()?
                };
                if key == b"content" && line.get(value.start as usize) != Some(&b'[') {
                    blocks.truncate(at + 1);
                }
                known(key, block.set(line, key, value))
            })?
        } else {
            self.value()?
        };
        block.span = Some(span);
        if block.kind != BlockKind::ToolResult {
            blocks.truncate(at + 1);
        }
        if let Some(place) = blocks.get_mut(at) {
            *place = block;
        }
        Ok(())
    }

    fn strings(
        &mut self,
        key: Option<&[u8]>,
        each: &mut impl FnMut(Option<&[u8]>, &[u8]),
        depth: u32,
    ) -> Result<(), Rejected> {
        let line = self.line;
        if depth == 0 {
            self.value().map(drop)
        } else if self.at(b'{') {
            self.object(|walk, key| {
                known(key, Known::No)?;
                walk.strings(Some(key), each, depth - 1)
            })
            .map(drop)
        } else if self.at(b'[') {
            self.array(|walk| walk.strings(key, each, depth - 1)).map(drop)
        } else {
            let value = self.value()?;
            if let Some(string) = value.string(line) {
                each(key, string);
            }
            Ok(())
        }
    }
}

#[inline]
fn is_space(gap: &[u8]) -> bool {
    gap.is_empty() || gap.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}
