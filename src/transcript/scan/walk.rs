//! The second stage of the walk: the grammar of JSON over the structural bytes, and the fields on the way.

use super::bits::{Rejected, Structurals};
use super::{Block, BlockKind, Form, Message, Scan};
use crate::transcript::Span;

/// Fills `scan` from the JSON object that stands in `line` from `start` on.
pub(super) fn walk(line: &[u8], start: usize, scan: &mut Scan) -> Result<(), Rejected> {
    let mut walk = Walk::new(line, start);
    walk.object(|walk, key| {
        if key != b"message" {
            let value = walk.value()?;
            scan.set(line, key, value);
            return Ok(());
        }
        scan.message = None;
        scan.blocks.clear();
        if walk.at(b'{')? { walk.message(scan) } else { walk.value().map(drop) }
    })?;
    walk.end()?;
    scan.form = Form::Entry;
    Ok(())
}

/// Calls `each` for every string that is a value, at any depth, of the JSON value `text`.
pub(super) fn each_string(text: &[u8], mut each: impl FnMut(Option<&[u8]>, &[u8])) -> Result<(), Rejected> {
    Walk::new(text, 0).strings(None, &mut each)
}

struct Walk<'a> {
    line: &'a [u8],
    /// Where the structurals count from.
    offset: usize,
    structurals: Structurals<'a>,
    /// What is behind: everything before it has been read.
    position: usize,
}

impl<'a> Walk<'a> {
    fn new(line: &'a [u8], start: usize) -> Self {
        Self {
            line,
            offset: start,
            structurals: Structurals::new(line.get(start..).unwrap_or_default()),
            position: start,
        }
    }

    /// Where the next structural byte stands, and what it is; 0 at the end of the line.
    #[inline]
    fn peek(&mut self) -> Result<(usize, u8), Rejected> {
        let at = self.offset + self.structurals.peek()?;
        Ok((at, self.line.get(at).copied().unwrap_or(0)))
    }

    #[inline]
    fn bump(&mut self, at: usize) {
        self.structurals.bump();
        self.position = at + 1;
    }

    /// What stands between the bytes read so far and `to`.
    #[inline]
    fn gap(&self, to: usize) -> &'a [u8] {
        self.line.get(self.position..to).unwrap_or_default()
    }

    /// Takes `byte`, which must be next but for white space.
    #[inline]
    fn expect(&mut self, byte: u8) -> Result<usize, Rejected> {
        let (at, found) = self.peek()?;
        if found != byte || !is_space(self.gap(at)) {
            return Err(Rejected);
        }
        self.bump(at);
        Ok(at)
    }

    /// Whether the value that comes next starts with `byte`.
    #[inline]
    fn at(&mut self, byte: u8) -> Result<bool, Rejected> {
        let (at, found) = self.peek()?;
        Ok(found == byte && is_space(self.gap(at)))
    }

    fn end(&mut self) -> Result<(), Rejected> {
        let (at, _) = self.peek()?;
        if at == self.line.len() && is_space(self.gap(at)) { Ok(()) } else { Err(Rejected) }
    }

    /// Reads a string and returns it with its quotes.
    #[inline]
    fn string(&mut self) -> Result<Span, Rejected> {
        let start = self.expect(b'"')?;
        // Inside a string nothing is structural, so the next one is the quote that ends it.
        let (end, found) = self.peek()?;
        if found != b'"' {
            return Err(Rejected);
        }
        self.bump(end);
        Ok(Span::new(start, end + 1))
    }

    /// Reads an object: `field` is called with each key and must read its value. A key with an escape is
    /// beyond the walk.
    #[inline]
    fn object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Rejected>) -> Result<Span, Rejected> {
        let start = self.expect(b'{')?;
        if self.at(b'}')? {
            return Ok(Span::new(start, self.expect(b'}')? + 1));
        }
        loop {
            let key = self.string()?.string(self.line).ok_or(Rejected)?;
            if key.contains(&b'\\') {
                return Err(Rejected);
            }
            self.expect(b':')?;
            field(self, key)?;
            if self.at(b'}')? {
                return Ok(Span::new(start, self.expect(b'}')? + 1));
            }
            self.expect(b',')?;
        }
    }

    /// Reads an array: `element` must read each value.
    #[inline]
    fn array(&mut self, mut element: impl FnMut(&mut Self) -> Result<(), Rejected>) -> Result<Span, Rejected> {
        let start = self.expect(b'[')?;
        if self.at(b']')? {
            return Ok(Span::new(start, self.expect(b']')? + 1));
        }
        loop {
            element(self)?;
            if self.at(b']')? {
                return Ok(Span::new(start, self.expect(b']')? + 1));
            }
            self.expect(b',')?;
        }
    }

    /// Reads a number, `true`, `false` or `null`.
    #[inline]
    fn scalar(&mut self) -> Result<Span, Rejected> {
        let (at, _) = self.peek()?;
        let gap = self.gap(at);
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
        let (at, found) = self.peek()?;
        if !is_space(self.gap(at)) {
            return self.scalar();
        }
        match found {
            b'"' => self.string(),
            b'{' | b'[' => self.container(),
            _ => Err(Rejected),
        }
    }

    fn container(&mut self) -> Result<Span, Rejected> {
        let mut closers: Vec<u8> = Vec::new();
        let (start, _) = self.peek()?;
        loop {
            // A value, of which a container has only its head read here.
            let (at, found) = self.peek()?;
            let is_complete = if !is_space(self.gap(at)) {
                self.scalar()?;
                true
            } else if found == b'"' {
                self.string()?;
                true
            } else if found == b'{' || found == b'[' {
                self.bump(at);
                let closer = if found == b'{' { b'}' } else { b']' };
                let is_empty = self.at(closer)?;
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
                let (at, found) = self.peek()?;
                if !is_space(self.gap(at)) {
                    return Err(Rejected);
                }
                self.bump(at);
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
                if walk.at(b'[')? { walk.blocks(&mut scan.blocks)? } else { walk.value()? }
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
        let span = if self.at(b'{')? {
            self.object(|walk, key| {
                let value = if key == b"content" && !is_nested && walk.at(b'[')? {
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

    fn strings(&mut self, key: Option<&[u8]>, each: &mut impl FnMut(Option<&[u8]>, &[u8])) -> Result<(), Rejected> {
        // Attachments nest a few levels deep; what nests deeper than this is no text of theirs.
        self.strings_within(key, each, 64)
    }

    fn strings_within(
        &mut self,
        key: Option<&[u8]>,
        each: &mut impl FnMut(Option<&[u8]>, &[u8]),
        depth: u32,
    ) -> Result<(), Rejected> {
        let line = self.line;
        if depth == 0 {
            self.value().map(drop)
        } else if self.at(b'{')? {
            self.object(|walk, key| walk.strings_within(Some(key), each, depth - 1)).map(drop)
        } else if self.at(b'[')? {
            self.array(|walk| walk.strings_within(key, each, depth - 1)).map(drop)
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
    gap.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
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
