//! Small entries for tests. A `parent` of nothing is `null`; content is JSON.

const TIME: &str = "2026-03-02T09:00:00.000Z";

/// A user entry.
pub(super) fn user(uuid: &str, parent: &str, content: &str) -> String {
    format!(
        r#"{{"parentUuid":{},"type":"user","message":{{"role":"user","content":{content}}},"uuid":"{uuid}","timestamp":"{TIME}"}}"#,
        id(parent)
    )
}

/// An assistant entry of `message`.
pub(super) fn assistant(uuid: &str, parent: &str, message: &str, content: &str) -> String {
    format!(
        r#"{{"parentUuid":{},"type":"assistant","message":{{"id":"{message}","role":"assistant","content":{content}}},"uuid":"{uuid}","timestamp":"{TIME}"}}"#,
        id(parent)
    )
}

fn id(uuid: &str) -> String {
    if uuid.is_empty() { "null".to_owned() } else { format!("\"{uuid}\"") }
}

/// One text block.
pub(super) fn text(text: &str) -> String {
    format!(r#"[{{"type":"text","text":"{text}"}}]"#)
}

/// Tool calls.
pub(super) fn calls(ids: &[&str]) -> String {
    let blocks = ids.iter().map(|id| format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}"#));
    format!("[{}]", blocks.collect::<Vec<_>>().join(","))
}

/// Empty tool results.
pub(super) fn results(ids: &[&str]) -> String {
    let blocks = ids.iter().map(|id| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":""}}"#));
    format!("[{}]", blocks.collect::<Vec<_>>().join(","))
}
