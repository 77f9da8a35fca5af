//! The second stage of the walk: the grammar of JSON over the structural bytes, and the fields on the way.
#![expect(clippy::inline_always, reason = "these run for each token")]

use super::bits::{Rejected, Structurals};
use super::known::{Known, known};
use super::nest::{Container, Nest};
use super::number::scalar_len;
use super::table::FieldTable;
use super::usage::Usage;
use super::{Block, BlockKind, Form, Message, Scan};
use crate::Span;
use crate::text::simd::Level;

/// Fills `scan` from the JSON object that stands in `line` from `start` on.
pub(super) fn walk<T: FieldTable>(level: Level, line: &[u8], start: usize, scan: &mut Scan) -> Result<(), Rejected> {
    let mut walk = Walk::new(level, line, start);
    walk.object(|walk, key| {
        if key != T::MESSAGE {
            let value = walk.value()?;
            return known(key, T::set_entry(scan, line, key, value));
        }
        scan.message = None;
        scan.blocks.clear();
        if walk.peek() == b'{' { walk.message::<T>(scan) } else { walk.value().map(drop) }
    })?;
    walk.end()?;
    scan.form = Form::Entry;
    T::finish(scan, line);
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

/// Calls `each` with every element of the JSON array `text`; spans count from its start.
pub fn each_element(text: &[u8], mut each: impl FnMut(Span)) {
    let _ = Walk::new(Level::best(), text, 0).array(|walk| {
        each(walk.value()?);
        Ok(())
    });
}

/// Calls `each` with every string that is a value, at any depth, of the JSON value `text`: with the key that
/// it stands under, or that its array does, and the inside of the string.
pub fn each_string(text: &[u8], mut each: impl FnMut(Option<&[u8]>, &[u8])) {
    each_string_place(text, |key, place| each(key, place.string(text).unwrap_or_default()));
}

/// As [`each_string`], with the place of the string and its quotes, counted from the start of `text`.
pub fn each_string_place(text: &[u8], mut each: impl FnMut(Option<&[u8]>, Span)) {
    // Attachments nest a few levels deep; what nests deeper than this is no text of theirs.
    let _ = Walk::new(Level::best(), text, 0).strings(None, &mut each, 64);
}

/// Goes from byte to byte outside of strings, and over strings by the structurals; both always stand at the same
/// place.
struct Walk<'a> {
    line: &'a [u8],
    structurals: Structurals<'a>,
    /// Everything before it has been read.
    position: usize,
}

impl<'a> Walk<'a> {
    fn new(level: Level, line: &'a [u8], start: usize) -> Self {
        Self { line, structurals: Structurals::new(level, line, start), position: start }
    }

    /// The next byte, white space aside; 0 at the end of the line.
    #[inline(always)]
    fn peek(&mut self) -> u8 {
        match self.line.get(self.position) {
            Some(&byte) if byte > b' ' => byte,
            _ => self.peek_behind_space(),
        }
    }

    #[cold]
    #[inline(never)]
    fn peek_behind_space(&mut self) -> u8 {
        let rest = self.line.get(self.position..).unwrap_or_default();
        let n_spaces = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
        self.position += n_spaces;
        rest.get(n_spaces).copied().unwrap_or(0)
    }

    /// Goes behind the structural byte that `peek` gave.
    #[inline(always)]
    const fn bump(&mut self) {
        self.position += 1;
        self.structurals.skip();
    }

    /// Takes `byte`, a structural one, which must be next.
    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Result<(), Rejected> {
        if self.peek() != byte {
            return Err(Rejected::Malformed);
        }
        self.bump();
        Ok(())
    }

    fn end(&mut self) -> Result<(), Rejected> {
        self.peek();
        if self.position == self.line.len() { Ok(()) } else { Err(Rejected::Malformed) }
    }

    /// Reads a string and returns it with its quotes. One that is torn, or holds what JSON forbids, takes the rest
    /// of the line and one byte more, so that whatever must follow is missed.
    #[inline(always)]
    fn string(&mut self) -> Result<Span, Rejected> {
        if self.peek() != b'"' {
            return Err(Rejected::Malformed);
        }
        let start = self.position;
        self.position = self.structurals.string_end() + 1;
        Ok(Span::new(start, self.position))
    }

    /// Reads an object: `field` is called with each key, must read its value, and must reject a key with
    /// an escape, which is beyond the walk.
    #[inline(always)]
    fn object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Rejected>) -> Result<Span, Rejected> {
        self.expect(b'{')?;
        let start = self.position - 1;
        if self.peek() == b'}' {
            self.bump();
            return Ok(Span::new(start, self.position));
        }
        loop {
            let key = self.string()?.range();
            let key = self.line.get(key.start + 1..key.end - 1).ok_or(Rejected::Malformed)?;
            self.expect(b':')?;
            field(self, key)?;
            match self.peek() {
                b',' => self.bump(),
                b'}' => {
                    self.bump();
                    return Ok(Span::new(start, self.position));
                }
                _ => return Err(Rejected::Malformed),
            }
        }
    }

    /// Reads an array: `element` must read each value.
    #[inline(always)]
    fn array(&mut self, mut element: impl FnMut(&mut Self) -> Result<(), Rejected>) -> Result<Span, Rejected> {
        self.expect(b'[')?;
        let start = self.position - 1;
        if self.peek() == b']' {
            self.bump();
            return Ok(Span::new(start, self.position));
        }
        loop {
            element(self)?;
            match self.peek() {
                b',' => self.bump(),
                b']' => {
                    self.bump();
                    return Ok(Span::new(start, self.position));
                }
                _ => return Err(Rejected::Malformed),
            }
        }
    }

    /// Reads any value. Nesting costs one bit of memory a level, and no stack.
    #[inline(always)]
    fn value(&mut self) -> Result<Span, Rejected> {
        match self.peek() {
            b'"' => self.string(),
            b'{' | b'[' => self.container(),
            _ => self.scalar(),
        }
    }

    /// Reads a number, `true`, `false` or `null`.
    #[inline(always)]
    fn scalar(&mut self) -> Result<Span, Rejected> {
        let start = self.position;
        let len = self.line.get(start..).and_then(scalar_len).ok_or(Rejected::Malformed)?;
        self.position += len;
        Ok(Span::new(start, self.position))
    }

    fn container(&mut self) -> Result<Span, Rejected> {
        let start = self.position;
        let mut nest = Nest::default();
        loop {
            // A value, of which a container has only its head read here.
            match self.peek() {
                b'"' => {
                    self.string()?;
                }
                b'{' => {
                    self.bump();
                    nest.open(Container::Object);
                    if self.peek() != b'}' {
                        self.key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.bump();
                    nest.open(Container::Array);
                    if self.peek() != b']' {
                        continue;
                    }
                }
                _ => {
                    self.scalar()?;
                }
            }
            // Ends of containers may follow a value, then a comma.
            loop {
                match (self.peek(), nest.innermost()) {
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
        self.expect(b':')
    }

    fn message<T: FieldTable>(&mut self, scan: &mut Scan) -> Result<(), Rejected> {
        let line = self.line;
        let mut message = Message::default();
        let whole = self.object(|walk, key| {
            let value = if T::is_content(key) {
                if !T::HAS_SEVERAL_CONTENTS {
                    scan.blocks.clear();
                }
                if walk.peek() == b'[' { walk.blocks::<T>(&mut scan.blocks)? } else { walk.value()? }
            } else if key == b"usage" {
                message.counts = Usage::default();
                if walk.peek() == b'{' { walk.usage(&mut message.counts)? } else { walk.value()? }
            } else {
                walk.value()?
            };
            known(key, T::fill_message(&mut message, line, key, value))
        })?;
        scan.message = Some(Message { span: Some(whole), ..message });
        Ok(())
    }

    fn usage(&mut self, usage: &mut Usage) -> Result<Span, Rejected> {
        let line = self.line;
        self.object(|walk, key| {
            let value = walk.value()?;
            known(key, usage.set(key, value.of(line)))
        })
    }

    fn blocks<T: FieldTable>(&mut self, blocks: &mut Vec<Block>) -> Result<Span, Rejected> {
        self.array(|walk| walk.block::<T>(blocks, false))
    }

    /// Reads one element of a content array. Only those of the message itself may hold further ones.
    fn block<T: FieldTable>(&mut self, blocks: &mut Vec<Block>, is_nested: bool) -> Result<(), Rejected> {
        let at = blocks.len();
        let mut block = Block { is_nested, ..Block::default() };
        blocks.push(block);
        let line = self.line;
        let span = if self.peek() == b'{' {
            self.object(|walk, key| {
                let value = if T::is_content(key) && !is_nested && walk.peek() == b'[' {
                    if !T::HAS_SEVERAL_CONTENTS {
                        blocks.truncate(at + 1);
                    }
                    walk.array(|walk| walk.block::<T>(blocks, true))?
                } else {
                    walk.value()?
                };
                if !T::HAS_SEVERAL_CONTENTS && key == b"content" && line.get(value.start as usize) != Some(&b'[') {
                    blocks.truncate(at + 1);
                }
                known(key, T::set_block(&mut block, line, key, value))
            })?
        } else {
            self.value()?
        };
        block.span = Some(span);
        if !T::HAS_SEVERAL_CONTENTS && block.kind != BlockKind::ToolResult {
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
        each: &mut impl FnMut(Option<&[u8]>, Span),
        depth: u32,
    ) -> Result<(), Rejected> {
        let line = self.line;
        if depth == 0 {
            self.value().map(drop)
        } else if self.peek() == b'{' {
            self.object(|walk, key| {
                known(key, Known::No)?;
                walk.strings(Some(key), each, depth - 1)
            })
            .map(drop)
        } else if self.peek() == b'[' {
            self.array(|walk| walk.strings(key, each, depth - 1)).map(drop)
        } else {
            let value = self.value()?;
            if value.string(line).is_some() {
                each(key, value);
            }
            Ok(())
        }
    }
}
