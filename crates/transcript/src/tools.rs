//! Tool calls and their results, in file order.

use std::borrow::Cow;

use hashbrown::HashTable;

use super::record::{IdHash, LineNo};
use crate::text::json_string;

/// Tool calls and results, in file order.
#[derive(Clone, Debug, Default)]
pub struct ToolEnds {
    ids: Vec<IdHash>,
    lines: Vec<u32>,
    /// The tools of the calls, results left out.
    calls: Vec<ToolIdx>,
    names: ToolNames,
}

/// A tool, among those of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolIdx(pub u16);

/// One end of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolEnd {
    /// The digest of the id of the call.
    pub id: IdHash,
    /// The line that holds it.
    pub line: LineNo,
    /// Whether it is the result.
    pub is_result: bool,
    /// The tool that is called; `None` for a result, and where a file has more tools than can be numbered.
    pub tool: Option<ToolIdx>,
}

impl ToolEnds {
    /// The bit that marks a result; lines have lower numbers.
    pub(super) const RESULT: u32 = 1 << 31;

    /// Adds a call of the tool `name`, in its form between the quotes of a JSON string.
    pub(super) fn push_call(&mut self, id: IdHash, line: LineNo, name: &[u8]) {
        self.ids.push(id);
        self.lines.push(line.0);
        self.calls.push(self.names.intern_name(name));
    }

    pub(super) fn push_result(&mut self, id: IdHash, line: LineNo) {
        self.ids.push(id);
        self.lines.push(line.0 | Self::RESULT);
    }

    /// Every end, in file order.
    pub fn iter(&self) -> impl Iterator<Item = ToolEnd> {
        let mut calls = self.calls.iter();
        self.ids.iter().zip(&self.lines).map(move |(&id, &line)| {
            let is_result = line & Self::RESULT != 0;
            let tool = if is_result { None } else { calls.next().copied() };
            let tool = tool.filter(|tool| *tool != ToolNames::BEYOND);
            ToolEnd { id, line: LineNo(line & !Self::RESULT), is_result, tool }
        })
    }

    /// The name of `tool`; empty for one of another file.
    #[must_use]
    pub fn name(&self, tool: ToolIdx) -> Cow<'_, str> {
        self.names.raw.get(usize::from(tool.0)).map_or(Cow::Borrowed(""), |raw| json_string::decode(raw))
    }
}

/// The names of tools, each once.
#[derive(Clone, Debug, Default)]
struct ToolNames {
    raw: Vec<Box<[u8]>>,
    numbers: HashTable<u16>,
}

impl ToolNames {
    /// Stands for all names beyond the limit.
    const BEYOND: ToolIdx = ToolIdx(u16::MAX);

    fn intern_name(&mut self, name: &[u8]) -> ToolIdx {
        let Self { raw, numbers } = self;
        let hash = |name: &[u8]| IdHash::of(name).0;
        let name_of = |raw: &[Box<[u8]>], at: u16| raw.get(usize::from(at)).cloned().unwrap_or_default();
        let known = numbers.find(hash(name), |&at| raw.get(usize::from(at)).is_some_and(|it| **it == *name));
        if let Some(&known) = known {
            return ToolIdx(known);
        }
        let Some(at) = u16::try_from(raw.len()).ok().filter(|&at| at != Self::BEYOND.0) else { return Self::BEYOND };
        raw.push(name.into());
        numbers.insert_unique(hash(name), at, |&at| hash(&name_of(raw, at)));
        ToolIdx(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_keep_their_tools_among_results() {
        let mut tools = ToolEnds::default();
        tools.push_call(IdHash(1), LineNo(0), b"Read");
        tools.push_call(IdHash(2), LineNo(1), b"caf\\u00e9");
        tools.push_result(IdHash(1), LineNo(2));
        tools.push_call(IdHash(3), LineNo(3), b"Read");
        let found: Vec<_> =
            tools.iter().map(|end| (end.line.0, end.is_result, end.tool.map(|tool| tools.name(tool)))).collect();
        assert_eq!(
            found,
            [
                (0, false, Some("Read".into())),
                (1, false, Some("café".into())),
                (2, true, None),
                (3, false, Some("Read".into()))
            ]
        );
    }

    #[test]
    fn names_that_are_too_many_have_no_number() {
        let mut tools = ToolEnds::default();
        for n in 0..70_000u32 {
            tools.push_call(IdHash(1), LineNo(n), n.to_string().as_bytes());
        }
        let tool_of = |at: usize| tools.iter().nth(at).and_then(|end| end.tool);
        assert_eq!((tool_of(65_534), tool_of(65_535), tool_of(69_999)), (Some(ToolIdx(65_534)), None, None));
        assert_eq!(tools.name(ToolIdx(300)), "300");
    }
}
