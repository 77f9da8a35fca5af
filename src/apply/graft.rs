//! What was cut out of a line, put back into it: blocks of the original in the place of those that stand there now.
//!
//! All else of the line stays as it is: its links, its session, its usage, and what else was cut. Thinking does not
//! come back, for it would be bound to what came before it then.

use std::collections::BTreeMap;

use crate::text::json_string;
use crate::transcript::edit::Splice;
use crate::transcript::scan::{Block, BlockKind, Scan};

/// A line as the archive has it, scanned.
#[derive(Debug)]
pub(super) struct Original {
    bytes: Vec<u8>,
    scan: Scan,
}

impl Original {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let scan = Scan::of(&bytes);
        Self { bytes, scan }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) const fn scan(&self) -> &Scan {
        &self.scan
    }

    fn side(&self) -> Side<'_> {
        Side { bytes: &self.bytes, scan: &self.scan }
    }
}

/// A line, and what stands where in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) scan: &'a Scan,
}

impl<'a> Side<'a> {
    /// The call or the result with the id `call`: its bytes.
    fn block_of(self, kind: BlockKind, call: &str) -> Option<&'a Block> {
        self.scan.outer_blocks().find(|block| block.kind == kind && self.call_of(block) == call)
    }

    pub(super) fn call_of(self, block: &Block) -> String {
        let raw = block.tool_id.and_then(|span| span.string(self.bytes)).unwrap_or_default();
        json_string::decode(raw).into_owned()
    }

    fn bytes_of(self, block: &Block) -> &'a [u8] {
        block.span.map(|span| span.of(self.bytes)).unwrap_or_default()
    }
}

/// The splices that give `now` back the result, or the input, of `call`; `None` where one of both does not have it.
pub(super) fn graft_call(now: Side<'_>, original: &Original, call: &str) -> Option<Vec<Splice>> {
    let graft = |kind| {
        let block = now.block_of(kind, call)?;
        Some(Splice::new(block.span?, original.side().bytes_of(original.side().block_of(kind, call)?)))
    };
    let splices: Vec<Splice> = [BlockKind::ToolResult, BlockKind::ToolUse].into_iter().filter_map(graft).collect();
    (!splices.is_empty()).then_some(splices)
}

/// The splices that give `now` back the text of its message, and its images, from `original`, and with them those of
/// `calls`, each from an original of its own. `None` where `now` has calls or results that the original does not have.
pub(super) fn graft_text(now: Side<'_>, original: &Original, calls: &BTreeMap<&str, &Original>) -> Option<Vec<Splice>> {
    let (now_content, content) = (now.scan.message?.content?, original.scan.message?.content?);
    let was = original.side();
    if was.scan.string_content(was.bytes).is_some() || !now_content.of(now.bytes).starts_with(b"[") {
        return Some(vec![Splice::new(now_content, content.of(was.bytes))]);
    }
    let is_of_call = |block: &&Block| matches!(block.kind, BlockKind::ToolUse | BlockKind::ToolResult);
    let known = |block: &Block| was.block_of(block.kind, &now.call_of(block)).is_some();
    if !now.scan.outer_blocks().filter(is_of_call).all(known) {
        return None;
    }
    let mut blocks: Vec<&[u8]> = Vec::new();
    for block in was.scan.outer_blocks() {
        match block.kind {
            BlockKind::ToolUse | BlockKind::ToolResult => {
                let call = was.call_of(block);
                let source = calls.get(call.as_str()).map_or(now, |original| original.side());
                blocks.push(source.bytes_of(source.block_of(block.kind, &call)?));
            }
            BlockKind::Thinking => {
                let bytes = was.bytes_of(block);
                let is_there = now.scan.outer_blocks().any(|block| now.bytes_of(block) == bytes);
                blocks.extend(is_there.then_some(bytes));
            }
            BlockKind::Text | BlockKind::Image | BlockKind::Document | BlockKind::Known | BlockKind::Unknown => {
                blocks.push(was.bytes_of(block));
            }
        }
    }
    let is_whole = was.scan.outer_blocks().map(|block| was.bytes_of(block)).eq(blocks.iter().copied());
    let array =
        if is_whole { content.of(was.bytes).to_vec() } else { [&b"["[..], &blocks.join(&b","[..]), b"]"].concat() };
    Some(vec![Splice::new(now_content, array)])
}

/// The splice that gives `now` back the copy of its results that the client draws, once all of them are what they were:
/// those of `calls` come back. `None` where there is nothing to do.
pub(super) fn graft_copy(now: Side<'_>, original: &Original, calls: &BTreeMap<&str, &Original>) -> Option<Splice> {
    let was = original.side();
    let (place, copy) = (now.scan.tool_use_result?, was.scan.tool_use_result?.of(was.bytes));
    let is_whole = |block: &Block| {
        let call = now.call_of(block);
        let before = was.block_of(BlockKind::ToolResult, &call).map(|block| was.bytes_of(block));
        calls.contains_key(call.as_str()) || before == Some(now.bytes_of(block))
    };
    let mut results = now.scan.outer_blocks().filter(|block| block.kind == BlockKind::ToolResult);
    (results.all(is_whole) && place.of(now.bytes) != copy).then(|| Splice::new(place, copy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::edit::render;

    const USE: &str = r#"{"type":"tool_use","id":"t","name":"Bash","input":{}}"#;
    const THOUGHT: &str = r#"{"type":"thinking","thinking":"Hm.","signature":"x"}"#;

    fn line(content: &str) -> String {
        format!(r#"{{"type":"assistant","message":{{"content":{content}}},"uuid":"u"}}"#)
    }

    fn text(text: &str) -> String {
        format!(r#"{{"type":"text","text":"{text}"}}"#)
    }

    fn array(blocks: &[&str]) -> String {
        format!("[{}]", blocks.join(","))
    }

    fn grafted(now: &str, was: &str) -> Option<String> {
        let (now, was) = (line(now), Original::new(line(was).into_bytes()));
        let scan = Scan::of(now.as_bytes());
        let splices = graft_text(Side { bytes: now.as_bytes(), scan: &scan }, &was, &BTreeMap::new())?;
        Some(String::from_utf8(render(now.as_bytes(), &splices).unwrap()).unwrap())
    }

    // P-05
    #[test]
    fn p_05_the_text_of_a_message_comes_back_byte_for_byte() {
        let (a, b, cut) = (text(r"a\u0062"), text("b"), text("[ctxc ...]"));
        let image = r#"{"type":"image","source":{}}"#;
        let cases = [
            (r#""[ctxc ...]""#.to_owned(), r#""as it \u0077as""#.to_owned(), r#""as it \u0077as""#.to_owned()),
            // Nothing else has changed: the spacing comes back too.
            (array(&[&cut]), format!("[ {a} , {b} ]"), format!("[ {a} , {b} ]")),
            // Thinking that went stays away, thinking that is there stays.
            (array(&[&cut, USE]), array(&[THOUGHT, &a, USE, &b]), array(&[&a, USE, &b])),
            (array(&[THOUGHT, &cut, USE]), array(&[THOUGHT, &a, USE]), array(&[THOUGHT, &a, USE])),
            // An input that was shortened stays so.
            (array(&[&cut, &USE.replace("{}", "1")]), array(&[&a, USE]), array(&[&a, &USE.replace("{}", "1")])),
            (array(&[&cut]), array(&[&a, image, &b]), array(&[&a, image, &b])),
        ];
        for (now, was, expected) in cases {
            assert_eq!(grafted(&now, &was), Some(line(&expected)), "{now} {was}");
        }
        assert_eq!(grafted(&array(&[&cut, USE]), &array(&[&a])), None);
    }

    // P-05
    #[test]
    fn p_05_a_result_comes_back_byte_for_byte_and_alone() {
        let result = |id: &str, rest: &str| format!(r#"{{"tool_use_id":"{id}","type":"tool_result"{rest}}}"#);
        let line = |first: &str, second: &str, copy: &str| {
            format!(r#"{{"type":"user","message":{{"content":[{first},{second}]}},"toolUseResult":{copy},"uuid":"u"}}"#)
        };
        let whole = [r#","content" : "l\u006fng""#, r#","content":[{"type":"text","text":"b"}],"is_error":true"#, ""];
        for content in whole {
            let was = Original::new(line(&result("t", content), &result("s", ""), r#"{"stdout":"long"}"#).into_bytes());
            let now = line(&result("t", r#","content":"[ctxc]""#), &result("s", r#","content":"[ctxc]""#), "{}");
            let scan = Scan::of(now.as_bytes());
            let now = Side { bytes: now.as_bytes(), scan: &scan };
            let mut splices = graft_call(now, &was, "t").unwrap();
            // The copy waits for the other result.
            assert_eq!(graft_copy(now, &was, &BTreeMap::from([("t", &was)])), None);
            let expected = line(&result("t", content), &result("s", r#","content":"[ctxc]""#), "{}");
            assert_eq!(String::from_utf8(render(now.bytes, &splices).unwrap()).unwrap(), expected);
            splices.extend(graft_call(now, &was, "s").unwrap());
            splices.extend(graft_copy(now, &was, &BTreeMap::from([("t", &was), ("s", &was)])));
            let expected = line(&result("t", content), &result("s", ""), r#"{"stdout":"long"}"#);
            assert_eq!(String::from_utf8(render(now.bytes, &splices).unwrap()).unwrap(), expected);
            assert_eq!(graft_call(now, &was, "x"), None);
        }
    }
}
