//! The lines of messages that the agent may need later (K-10).

use std::collections::HashMap;
use std::fs::File;
use std::io;

use super::describe::Described;
use super::input::CallInput;
use super::lines::each_line;
use super::typed::{extract_typed, is_request};
use crate::apply::read::page::ScannedLine;
use crate::plan::split_leading_cd;
use ctxc_engine::language::without_envelopes;
use ctxc_engine::needs::{Needs, TextSource};
use ctxc_transcript::scan::{BlockKind, EntryKind, each_string};
use ctxc_transcript::text::{json_string, strip_colors};
use ctxc_transcript::{Index, LineNo, entry};

/// The most characters of a title.
const TITLE: usize = 80;

/// Reads `lines`, which are in the order of the conversation.
///
/// # Errors
/// When the source cannot be read.
pub fn read_needs(file: &File, index: &Index, lines: &[LineNo]) -> io::Result<Needs> {
    let mut needs = Needs::default();
    let mut titles: HashMap<String, String> = HashMap::new();
    each_line(file, index, lines, |page| {
        match page.scan.kind {
            EntryKind::Assistant if !page.scan.is_api_error => read_answer(page, &mut titles, &mut needs),
            EntryKind::User if !page.scan.is_compact_summary => read_user(page, &titles, &mut needs),
            _ => return,
        }
        needs.next_message();
    })?;
    Ok(needs)
}

fn read_answer(page: ScannedLine<'_>, titles: &mut HashMap<String, String>, needs: &mut Needs) {
    needs.read(TextSource::Answer, None, &entry::message_text(page.scan, page.bytes));
    for block in page.scan.outer_blocks().filter(|block| block.kind == BlockKind::ToolUse) {
        let raw = &*page.scan.call_input(block, page.bytes);
        let tool = page.scan.tool_name(block, page.bytes);
        let title = call_title(&tool, CallInput(raw));
        let source = input_source(&tool);
        let holds = |key: Option<&[u8]>| source != TextSource::Edit || key != Some(b"old_string");
        if !tool.starts_with("Todo") && !tool.starts_with("TaskUpdate") {
            each_string(raw, |key, string| {
                if holds(key) {
                    needs.read(source, Some(&title), &json_string::decode(string));
                }
            });
        }
        titles.insert(page.decode_string(block.tool_id), title);
    }
}

fn read_user(page: ScannedLine<'_>, titles: &HashMap<String, String>, needs: &mut Needs) {
    for (at, text) in entry::tool_result_texts(page.scan, page.bytes) {
        let title = page.result_call_id(at).and_then(|id| titles.get(&id));
        let text = strip_colors(&text);
        needs.read(TextSource::Result, Some(title.map_or("result", String::as_str)), &without_envelopes(&text));
    }
    let prompt = extract_typed(&entry::message_text(page.scan, page.bytes));
    if page.scan.is_meta {
        // The instructions of a command or a skill stand nowhere else.
        let title: String = prompt.lines().next().unwrap_or_default().chars().take(TITLE).collect();
        needs.read(TextSource::Instructions, Some(&title), &without_templates(without_caveat(&prompt)));
    } else if is_request(&prompt) {
        // Prompts are shown whole.
        needs.read(TextSource::Prompt, None, &prompt);
    }
}

/// The text of the client's own, but for its remark on local commands as older versions wrote it.
fn without_caveat(text: &str) -> &str {
    if text.starts_with("Caveat: ") { "" } else { text }
}

/// `text` without fenced blocks that are not of a shell: forms and examples, which are no facts of the session.
fn without_templates(text: &str) -> String {
    const SHELLS: [&str; 5] = ["bash", "sh", "shell", "zsh", "console"];
    let mut fence: Option<bool> = None;
    let is_shown = |line: &&str| {
        let Some(language) = line.trim_start().strip_prefix("```") else { return fence.unwrap_or(true) };
        fence = if fence.is_some() { None } else { Some(SHELLS.contains(&language.trim())) };
        false
    };
    text.lines().filter(is_shown).collect::<Vec<_>>().join("\n")
}

/// The file of a call that works on one, as the model wrote it, else the tool and its argument.
fn call_title(tool: &str, input: CallInput<'_>) -> String {
    let path = [&b"file_path"[..], b"notebook_path"].iter().find_map(|key| input.string_value(key));
    let brief = || {
        let argument = input.key_argument(None);
        Described { tool: tool.into(), id: Box::default(), argument: split_leading_cd(&argument).1.into() }
            .short_label(TITLE)
    };
    path.filter(|path| !path.is_empty() && !path.contains('\n')).unwrap_or_else(brief)
}

/// The source that the input of a call of `tool` is.
pub(in crate::apply) fn input_source(tool: &str) -> TextSource {
    match tool {
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "apply_patch" => TextSource::Edit,
        "Bash" | "PowerShell" => TextSource::Command,
        _ => TextSource::Input,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::read::lines::file_of;

    // K-10
    #[test]
    fn k_10_what_a_command_tells_to_do_is_read_and_the_remark_of_the_client_is_not() {
        let line = |id: &str, parent: &str, text: &str| {
            format!(
                r#"{{"type":"user","isMeta":true,"uuid":"{id}","parentUuid":{parent},"message":{{"role":"user","content":"{text}"}}}}"#
            )
        };
        let text = r"# /ship\n\nRun `erk upload-session --session-file PATH`.\n\n```\n| 4 | impl_x.py:40 |\n```\n\n```bash\nerk ship-now\n```";
        let steps = line("a", "null", text);
        let caveat = line("b", r#""a""#, "Caveat: The messages below are of `local_command_run`.");
        let (file, index, lines) = file_of(&format!("{steps}\n{caveat}\n"));
        let shown = read_needs(&file, &index, &lines).unwrap().render("", 1000);
        assert!(shown.contains("# /ship") && shown.contains("--session-file") && shown.contains("ship-now"), "{shown}");
        assert!(!shown.contains("impl_x.py"), "{shown}");
        assert!(!shown.contains("local_command_run"), "{shown}");
    }
}
