//! The tools, as an agent reads of them.

use serde_json::{Value, json};

use super::call::HITS;

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Context,
    CompactContext,
    MemoryRead,
    ContextStats,
    ContextRefs,
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It looks.
    Reads,
    /// It writes a session of its own beside the one that it is about, which stays as it is.
    Adds,
}

impl Tool {
    pub(super) const ALL: [Self; 5] =
        [Self::Context, Self::CompactContext, Self::MemoryRead, Self::ContextStats, Self::ContextRefs];

    /// The tool called `name`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The tool that a client calls so: it puts the name that it has for the server before that of the tool.
    pub(super) fn called(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("mcp__")?;
        Self::ALL.into_iter().find(|tool| rest.strip_suffix(tool.name()).is_some_and(|server| server.ends_with("__")))
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::CompactContext => "compact_context",
            Self::MemoryRead => "memory_read",
            Self::ContextStats => "context_stats",
            Self::ContextRefs => "context_refs",
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Context => "Discard, distill or restore parts of the context",
            Self::CompactContext => "Compact the context",
            Self::MemoryRead => "Search what was taken out of the context",
            Self::ContextStats => "Measure the context",
            Self::ContextRefs => "List what can be named",
        }
    }

    pub(super) const fn effect(self) -> Effect {
        match self {
            Self::Context | Self::CompactContext => Effect::Adds,
            Self::MemoryRead | Self::ContextStats | Self::ContextRefs => Effect::Reads,
        }
    }

    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Context => {
                "Take parts of this session's history out of the context, or bring them back. \
                 `discard` leaves a placeholder where a tool result or a message was, `distill` puts your summary there, \
                 `restore` brings the original back, byte for byte. A target is the handle of a tool call, such as \
                 \"r_3f9a1\" (context_refs lists them), or the start and the end of a message with an ellipsis between, such \
                 as \"Let me explain...edge cases\"; case, white space and punctuation at the end do not count. One action \
                 for all targets of a call, any mix and number of targets. Nothing is lost: originals are archived. \
                 The running session does not change: the result is a new session, whose id and resume command are \
                 returned; later calls go on from it."
            }
            Self::CompactContext => {
                "Compact this session: its older messages are summarised, and the summaries take their place in a new \
                 session, whose id and resume command are returned. The newest messages stay as they are. Call it when the \
                 context fills up; while it is within its budget nothing changes, and all figures are zero. Nothing is lost: \
                 memory_read finds what went. The running session does not change; later calls go on from the new one."
            }
            Self::MemoryRead => {
                "Search everything that was taken out of this session and of those it was made from: original messages and \
                 tool results, and summaries of compacted ones. Give a few words, a name or a path; there is no syntax. \
                 Returns the best matches with the text around them and the id that shows each whole."
            }
            Self::ContextStats => {
                "Measure this session's context: its size in tokens, estimated and as last recorded, and what takes the \
                 room, by kind of content and by tool. Use it before deciding what to discard or distill."
            }
            Self::ContextRefs => {
                "List what `context` can name in this session, newest first: tool calls by their handles, with what they \
                 were about, the tokens of their results and whether these are live or cut. With \"list\": \"messages\" the \
                 messages, with a pattern for each."
            }
        }
    }

    /// The names of its parameters.
    pub(super) const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Context => &["action", "targets"],
            Self::MemoryRead => &["query", "limit"],
            Self::CompactContext | Self::ContextStats => &[],
            Self::ContextRefs => &["list", "page"],
        }
    }

    /// The JSON schema of its parameters.
    pub(super) fn input(self) -> Value {
        let (properties, required) = match self {
            Self::Context => (
                json!({
                    "action": {
                        "type": "string",
                        "enum": ["discard", "distill", "restore"],
                        "description": "What to do with all of the targets"
                    },
                    "targets": {
                        "type": "array",
                        "minItems": 1,
                        "items": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 2 },
                        "description": "Pairs of [target] or [target, summary]; `distill` needs the summary. Such as \
                            [[\"r_3f9a1\"], [\"Let me explain...edge cases\"]]"
                    }
                }),
                json!(["action", "targets"]),
            ),
            Self::MemoryRead => (
                json!({
                    "query": { "type": "string", "description": "Words to look for, or parts of them" },
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": HITS.1,
                        "default": HITS.0,
                        "description": "How many entries to return at most"
                    }
                }),
                json!(["query"]),
            ),
            Self::CompactContext | Self::ContextStats => (json!({}), json!([])),
            Self::ContextRefs => (
                json!({
                    "list": {
                        "type": "string",
                        "enum": ["calls", "messages"],
                        "default": "calls",
                        "description": "What to list"
                    },
                    "page": {
                        "type": "integer",
                        "minimum": 1,
                        "default": 1,
                        "description": "Which page, the first being the newest"
                    }
                }),
                json!([]),
            ),
        };
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    }
}

impl Tool {
    /// The JSON schema of the data that it answers with, where it does.
    pub(super) fn output(self) -> Option<Value> {
        let count = |what: &str| json!({ "type": "integer", "minimum": 0, "description": what });
        match self {
            Self::CompactContext => Some(json!({
                "type": "object",
                "properties": {
                    "messagesCompressed": count("How many messages went"),
                    "batchesCreated": count("How many summaries were written"),
                    "tokensEstimateBefore": count("The size of the context before, in tokens"),
                    "tokensEstimateAfter": count("Its size after"),
                    "session": { "type": ["string", "null"], "description": "The id of the new session" },
                    "resume": { "type": "string", "description": "How the person goes on in it" },
                    "note": { "type": "string" },
                    "unchanged": { "type": "string", "description": "Why nothing changed, where nothing did" }
                },
                "required": ["messagesCompressed", "batchesCreated", "tokensEstimateBefore", "tokensEstimateAfter"]
            })),
            Self::Context | Self::MemoryRead | Self::ContextStats | Self::ContextRefs => None,
        }
    }
}

/// What the server says of itself when a client connects.
pub(super) const INSTRUCTIONS: &str = "\
These tools shrink the context of this session without losing anything. Look with context_stats and context_refs, take \
out what is not needed any more with context, compact the whole with compact_context, and find what was taken out with memory_read. The running \
session never changes: what is made is a new session, and the person goes on in it with the command that the result names.";

#[cfg(test)]
mod tests {
    use super::*;

    // M-01
    #[test]
    fn m_01_schemas_name_the_parameters_that_are_taken() {
        for tool in Tool::ALL {
            let schema = tool.input();
            let mut properties: Vec<&str> =
                schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            properties.sort_unstable();
            let mut parameters = tool.parameters().to_vec();
            parameters.sort_unstable();
            assert_eq!(properties, parameters, "{}", tool.name());
            assert_eq!(Tool::named(tool.name()), Some(tool));
        }
        assert_eq!(Tool::named("bash"), None);
        for (name, tool) in [
            ("mcp__ctxc__context", Some(Tool::Context)),
            ("mcp__plugin_a_ctxc__context_refs", Some(Tool::ContextRefs)),
            ("mcp__ctxc__other_context", None),
            ("mcp__other__read", None),
            ("context", None),
        ] {
            assert_eq!(Tool::called(name), tool, "{name}");
        }
    }
}
