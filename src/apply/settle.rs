//! A session in the middle of a tool call, made one that can be resumed: what its client has added since is put behind
//! a result of it, and calls that have no result yet get one (M-03).
//!
//! The client that runs the session goes on in its own file. What is made here is a draft, of which a new session is
//! written; nothing here touches either file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use uuid::Uuid;

use super::close_loop::ANSWER;
use super::entry_fields::{envelope, field};
use super::new_session::is_own_title;
use super::pairing::check_pairs;
use super::pointers::uuid_of;
use super::problem::ProblemKind;
use super::unnamed_file;
use crate::text::json_string;
use crate::transcript::scan::{BlockKind, Kind, Scan};
use crate::transcript::{Chain, IdHash, Index, LineNo, LineReader, read_line};

/// What stands in the place of a result that is still to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopgap {
    /// The call did what it was to do: this is what it has to say.
    Done(String),
    /// What the call was to do was under way: this says so.
    Pending(String),
}

/// A copy of the session in `file` in which every call at its end that has no result gets the one that `stopgap` has
/// for its tool, in entries of their own behind the last. `None` where there is no such call.
///
/// # Errors
/// When the session cannot be read, or the copy not be written.
pub fn answered(
    file: &File,
    index: &Index,
    chain: &Chain,
    stopgap: &dyn Fn(&str) -> Stopgap,
) -> io::Result<Option<File>> {
    let entries = answers(file, index, chain, stopgap)?;
    if entries.is_empty() {
        return Ok(None);
    }
    let mut copy = unnamed_file().map_err(io::Error::other)?;
    let mut source = file;
    source.rewind()?;
    let n_copied = io::copy(&mut source.take(index.fingerprint.len), &mut copy)?;
    end_line(&mut copy, n_copied)?;
    for entry in entries {
        writeln!(copy, "{entry}")?;
    }
    Ok(Some(copy))
}

/// The entries that answer the calls that `chain` ends in.
fn answers(file: &File, index: &Index, chain: &Chain, stopgap: &dyn Fn(&str) -> Stopgap) -> io::Result<Vec<String>> {
    let Some(tip) = chain.lines.last().copied() else { return Ok(Vec::new()) };
    let mut problems = Vec::new();
    check_pairs(index, chain, &mut problems);
    let open = problems.iter().filter(|problem| problem.kind == ProblemKind::InterruptedCall);
    let open: HashSet<(LineNo, IdHash)> = open.map(|problem| (problem.line, problem.subject)).collect();
    let mut parent = uuid_of(file, index, tip)?;
    let mut buffer = Vec::new();
    let mut entries = Vec::new();
    let mut lines: Vec<LineNo> = open.iter().map(|(line, _)| *line).collect();
    lines.sort_unstable();
    lines.dedup();
    for line in lines {
        let bytes = read_line(file, index, line, &mut buffer)?;
        let scan = Scan::of(bytes);
        for block in scan.outer_blocks().filter(|block| block.kind == BlockKind::ToolUse) {
            let raw =
                |span: Option<crate::transcript::Span>| span.and_then(|span| span.string(bytes)).unwrap_or_default();
            let id = raw(block.tool_id);
            if !open.contains(&(line, IdHash::of(id))) {
                continue;
            }
            let id = json_string::decode(id);
            let stopgap = stopgap(&json_string::decode(raw(block.name)));
            let uuid = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("ctxc answer {id}").as_bytes()).to_string();
            entries.push(entry(bytes, &parent, &uuid, &id, &stopgap));
            parent = uuid;
        }
    }
    Ok(entries)
}

/// The user entry that answers the call `id` in `line`, as the client writes results: those of servers with a copy of
/// their content, failed ones with a copy of the message.
fn entry(line: &[u8], parent: &str, uuid: &str, id: &str, stopgap: &Stopgap) -> String {
    let (envelope, timestamp) = (envelope(line), field(line, "timestamp").unwrap_or_else(|| "null".to_owned()));
    let [parent, id] = [parent, id].map(json_string::encode);
    let (text, is_error) = match stopgap {
        Stopgap::Done(text) => (json_string::encode(text), ""),
        Stopgap::Pending(text) => (json_string::encode(text), r#","is_error":true"#),
    };
    let copy = match stopgap {
        Stopgap::Done(_) => format!(r#"[{{"type":"text","text":{text}}}]"#),
        Stopgap::Pending(message) => json_string::encode(&format!("Error: {message}")),
    };
    format!(
        r#"{{"parentUuid":{parent},{envelope}"type":"user","message":{{"role":"user","content":[{{"tool_use_id":{id},"type":"tool_result","content":{text}{is_error}}}]}},"uuid":"{uuid}","timestamp":{timestamp},"toolUseResult":{copy}}}"#
    )
}

/// A result, and what was added to its source since.
#[derive(Debug)]
pub struct Joined {
    /// Both in one, the end that the result had been given left out.
    pub file: File,
    /// The first line that was added since.
    pub first: LineNo,
    /// The length of the source that was read, in bytes.
    pub source_len: u64,
}

/// Puts what `source` has behind its first `from` bytes behind what `result` says, which was made of those. Only whole
/// lines are taken. `None` where what was added hangs on something that the result does not have.
///
/// # Errors
/// When one of both cannot be read, or the draft not be written.
pub fn joined(result: &File, source: &File, from: u64) -> io::Result<Option<Joined>> {
    let mut draft = unnamed_file().map_err(io::Error::other)?;
    let mut known: HashSet<IdHash> = HashSet::new();
    let n_kept = own_end(result)?;
    let mut lines = opened(result, 0)?;
    let mut n_lines = 0;
    let mut len = 0;
    while n_lines < n_kept
        && let Some(line) = lines.next_line()?
    {
        known.extend(uuid(&Scan::of(line), line));
        draft.write_all(line)?;
        len += line.len() as u64;
        n_lines += 1;
    }
    end_line(&mut draft, len)?;
    let mut source_len = from;
    let mut lines = opened(source, from)?;
    while let Some(line) = lines.next_line()? {
        // A line that is being written is one of the next time.
        if !line.ends_with(b"\n") {
            break;
        }
        let scan = Scan::of(line);
        let parent = scan.parent_uuid.and_then(|parent| parent.string(line)).map(IdHash::of);
        if parent.is_some_and(|parent| !known.contains(&parent)) {
            return Ok(None);
        }
        known.extend(uuid(&scan, line));
        draft.write_all(line)?;
        source_len += line.len() as u64;
    }
    Ok(Some(Joined { file: draft, first: LineNo(n_lines), source_len }))
}

/// How many lines of `result` stand before the end that it was given: results of calls, the answer that ends a tool
/// loop, a title.
fn own_end(result: &File) -> io::Result<u32> {
    let mut lines = opened(result, 0)?;
    let mut calls: HashSet<String> = HashSet::new();
    let (mut n_lines, mut n_kept) = (0, 0);
    while let Some(line) = lines.next_line()? {
        n_lines += 1;
        let scan = Scan::of(line);
        let is_ours = match scan.kind {
            Kind::CustomTitle => is_own_title(line),
            Kind::Assistant => scan
                .message
                .and_then(|message| message.id?.string(line))
                .is_some_and(|id| id.starts_with(ANSWER.as_bytes())),
            Kind::User => uuid_text(&scan, line).is_some_and(|uuid| calls.contains(&uuid)),
            _ => false,
        };
        if !is_ours {
            n_kept = n_lines;
        }
        for block in scan.outer_blocks().filter(|block| block.kind == BlockKind::ToolUse) {
            let id = block.tool_id.and_then(|id| id.string(line)).map(json_string::decode).unwrap_or_default();
            calls.insert(Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("ctxc answer {id}").as_bytes()).to_string());
        }
    }
    Ok(n_kept)
}

fn opened(mut file: &File, from: u64) -> io::Result<LineReader<&File>> {
    file.seek(SeekFrom::Start(from))?;
    Ok(LineReader::new(file))
}

fn uuid(scan: &Scan, line: &[u8]) -> Option<IdHash> {
    scan.uuid.and_then(|uuid| uuid.string(line)).map(IdHash::of)
}

fn uuid_text(scan: &Scan, line: &[u8]) -> Option<String> {
    Some(String::from_utf8_lossy(scan.uuid?.string(line)?).into_owned())
}

/// Ends the last line of `file`, which has `len` bytes, where that has no end.
fn end_line(file: &mut File, len: u64) -> io::Result<()> {
    let Some(last) = len.checked_sub(1) else { return Ok(()) };
    let mut byte = [0];
    file.seek(SeekFrom::Start(last))?;
    file.read_exact(&mut byte)?;
    file.seek(SeekFrom::Start(len))?;
    if byte == *b"\n" { Ok(()) } else { file.write_all(b"\n") }
}
