//! The second stage of the walk: the grammar of JSON over the structural bytes, and the fields on the way.

use super::bits::{Rejected, Structurals};
use super::{Block, BlockKind, Form, Message, Scan};
use crate::transcript::Span;

/// Fills `scan` from the JSON object that stands in `line` from `start` on.
pub(super) fn walk(line: &[u8], start: usize, scan: &mut Scan) -> Result<(), Rejected> {
    let mut walk = Walk::new(line, start)?;
    walk.object(|walk, key| {
        if key != b"message" {
            let value = walk.value()?;
            scan.set(line, key, value);
            return Ok(());
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
    let _ = Walk::new(text, 0).and_then(|mut walk| {
        walk.object(|walk, key| {
            each(key, walk.value()?);
            Ok(())
        })
    });
}

/// Calls `each` with every string that is a value, at any depth, of the JSON value `text`: with the key that
/// it stands under, or that its array does, and the inside of the string.
pub fn each_string(text: &[u8], mut each: impl FnMut(Option<&[u8]>, &[u8])) {
    // Attachments nest a few levels deep; what nests deeper than this is no text of theirs.
    let _ = Walk::new(text, 0).and_then(|mut walk| walk.strings(None, &mut each, 64));
}

struct Walk<'a> {
    line: &'a [u8],
    /// Where the structurals count from.
    offset: usize,
    structurals: Structurals<'a>,
    /// Where the next structural byte stands, and what it is: the length of the line and 0 when there is none.
    next_at: usize,
    next: u8,
    /// What is behind: everything before it has been read.
    position: usize,
}

impl<'a> Walk<'a> {
    fn new(line: &'a [u8], start: usize) -> Result<Self, Rejected> {
        let structurals = Structurals::new(line.get(start..).unwrap_or_default());
        let mut walk = Self { line, offset: start, structurals, next_at: start, next: 0, position: start };
        walk.advance()?;
        Ok(walk)
    }

    #[inline]
    fn advance(&mut self) -> Result<(), Rejected> {
        self.next_at = self.offset + self.structurals.advance()?;
        self.next = self.line.get(self.next_at).copied().unwrap_or(0);
        Ok(())
    }

    /// Goes behind the next structural byte.
    #[inline]
    fn bump(&mut self) -> Result<(), Rejected> {
        self.position = self.next_at + 1;
        self.advance()
    }

    /// What stands between the bytes read so far and the next structural byte.
    #[inline]
    fn gap(&self) -> &'a [u8] {
        self.line.get(self.position..self.next_at).unwrap_or_default()
    }

    /// Takes `byte`, which must be next but for white space, and returns where it stands.
    #[inline]
    fn expect(&mut self, byte: u8) -> Result<usize, Rejected> {
        if !self.at(byte) {
            return Err(Rejected);
        }
        let at = self.next_at;
        self.bump()?;
        Ok(at)
    }

    /// Whether `byte` is next but for white space.
    #[inline]
    fn at(&self, byte: u8) -> bool {
        self.next == byte && is_space(self.gap())
    }

    fn end(&self) -> Result<(), Rejected> {
        if self.next_at == self.line.len() && is_space(self.gap()) { Ok(()) } else { Err(Rejected) }
    }

    /// Reads a string and returns it with its quotes.
    #[inline]
    fn string(&mut self) -> Result<Span, Rejected> {
        let start = self.expect(b'"')?;
        // Inside a string nothing is structural, so the next one is the quote that ends it.
        if self.next != b'"' {
            return Err(Rejected);
        }
        self.bump()?;
        Ok(Span::new(start, self.position))
    }

    /// Reads an object: `field` is called with each key and must read its value. A key with an escape is
    /// beyond the walk.
    #[inline]
    fn object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Rejected>) -> Result<Span, Rejected> {
        let start = self.expect(b'{')?;
        if self.at(b'}') {
            return Ok(Span::new(start, self.expect(b'}')? + 1));
        }
        loop {
            let key = self.string()?.string(self.line).ok_or(Rejected)?;
            if key.contains(&b'\\') {
                return Err(Rejected);
            }
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

    /// Reads a number, `true`, `false` or `null`.
    #[inline]
    fn scalar(&mut self) -> Result<Span, Rejected> {
        let gap = self.gap();
        let text = gap.trim_ascii();
        if !is_scalar(text) || !is_space(gap.get(..gap.len() - gap.trim_ascii_start().len()).unwrap_or_default()) {
            return Err(Rejected);
        }
        let start = self.position + (gap.len() - gap.trim_ascii_start().len());
        self.position = start + text.len();
        Ok(Span::new(start, self.position))
    }

    /// Reads any value. Nesting costs one byte of memory a level, and no stack.
    #[inline]
    fn value(&mut self) -> Result<Span, Rejected> {
        if !is_space(self.gap()) {
            return self.scalar();
        }
        match self.next {
            b'"' => self.string(),
            b'{' | b'[' => self.container(),
            _ => Err(Rejected),
        }
    }

    fn container(&mut self) -> Result<Span, Rejected> {
        let mut closers: Vec<u8> = Vec::new();
        let start = self.next_at;
        loop {
            // A value, of which a container has only its head read here.
            let found = self.next;
            let is_complete = if !is_space(self.gap()) {
                self.scalar()?;
                true
            } else if found == b'"' {
                self.string()?;
                true
            } else if found == b'{' || found == b'[' {
                self.bump()?;
                let closer = if found == b'{' { b'}' } else { b']' };
                let is_empty = self.at(closer);
                closers.push(closer);
                if found == b'{' && !is_empty {
                    self.key()?;
                }
                is_empty
            } else {
                return Err(Rejected);
            };
            if !is_complete {
                continue;
            }
            // What follows a value: the ends of containers, then a comma.
            loop {
                let Some(&closer) = closers.last() else {
                    return Ok(Span::new(start, self.position));
                };
                if !is_space(self.gap()) {
                    return Err(Rejected);
                }
                let found = self.next;
                self.bump()?;
                if found == closer {
                    closers.pop();
                } else if found == b',' {
                    if closer == b'}' {
                        self.key()?;
                    }
                    break;
                } else {
                    return Err(Rejected);
                }
            }
        }
    }

    #[inline]
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
            } else {
                walk.value()?
            };
            message.set(line, key, value);
            Ok(())
        })?;
        scan.message = Some(message);
        Ok(())
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
                block.set(line, key, value);
                Ok(())
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
            self.object(|walk, key| walk.strings(Some(key), each, depth - 1)).map(drop)
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

/// Whether `text` is a JSON number, `true`, `false` or `null`.
fn is_scalar(text: &[u8]) -> bool {
    match text {
        b"true" | b"false" | b"null" => true,
        _ => is_number(text),
    }
}

fn is_number(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let after_integer = match unsigned {
        [b'0', rest @ ..] => rest,
        [b'1'..=b'9', ..] => after_digits(unsigned),
        _ => return false,
    };
    let after_fraction = match after_integer {
        [b'.', rest @ ..] if rest.first().is_some_and(u8::is_ascii_digit) => after_digits(rest),
        [b'.', ..] => return false,
        rest => rest,
    };
    match after_fraction {
        [] => true,
        [b'e' | b'E', b'+' | b'-', digits @ ..] | [b'e' | b'E', digits @ ..] => {
            !digits.is_empty() && after_digits(digits).is_empty()
        }
        _ => false,
    }
}

fn after_digits(text: &[u8]) -> &[u8] {
    let n_digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.get(n_digits..).unwrap_or_default()
}
