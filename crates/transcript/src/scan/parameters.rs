//! The parameters of Codex's calls, with the names that Claude Code has for them.

use serde_json::{Map, Value};

/// The beginnings of the lines of a patch that name a file.
const FILES: [&str; 3] = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];

/// The parameters of a call of `tool` that stand as `raw`: JSON in a string, free text, or an object. `None` where `raw` is no
/// JSON, or an object that needs no other names.
pub(super) fn rename_parameters(tool: &str, raw: &[u8]) -> Option<Vec<u8>> {
    let mut object = match serde_json::from_slice(raw).ok()? {
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => object,
            _ => Map::from_iter([("input".to_owned(), Value::String(text))]),
        },
        Value::Object(object) => object,
        _ => return None,
    };
    match tool {
        "Bash" => {
            let command = object.get("cmd").or_else(|| object.get("command")).and_then(command_text);
            object.remove("cmd");
            object.extend(command.map(|command| ("command".to_owned(), Value::String(command))));
        }
        "Edit" => {
            let file = object.get("input").and_then(Value::as_str).and_then(patched_file);
            object.extend(file.map(|file| ("file_path".to_owned(), Value::String(file))));
        }
        _ => {}
    }
    serde_json::to_vec(&object).ok()
}

/// A command as a person would type it: of a list of words the script, where a shell runs one.
fn command_text(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let words: Vec<&str> = value.as_array()?.iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [_, "-c" | "-lc" | "-Command", script] => Some((*script).to_owned()),
        words => Some(words.join(" ")),
    }
}

/// The first file that a patch of Codex names.
#[must_use]
pub fn patched_file(patch: &str) -> Option<String> {
    let named = |line: &str| FILES.iter().find_map(|start| line.strip_prefix(start)).map(|file| file.trim().to_owned());
    patch.lines().find_map(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    // O-03
    #[test]
    fn o_03_parameters_have_the_names_that_claude_code_has() {
        let cases = [
            ("Bash", r#""{\"cmd\":\"ls\",\"workdir\":\"/p\"}""#, r#"{"command":"ls","workdir":"/p"}"#),
            ("Bash", r#""{\"command\":[\"bash\",\"-lc\",\"ls -l\"]}""#, r#"{"command":"ls -l"}"#),
            ("Bash", r#"{"type":"exec","command":["ls","-l"]}"#, r#"{"command":"ls -l","type":"exec"}"#),
            (
                "Edit",
                r#""*** Begin Patch\n*** Update File: a.txt\n@@\n""#,
                r#"{"file_path":"a.txt","input":"*** Begin Patch\n*** Update File: a.txt\n@@\n"}"#,
            ),
            ("exec", r#""await x()""#, r#"{"input":"await x()"}"#),
        ];
        for (tool, raw, expected) in cases {
            let object: Value = serde_json::from_slice(&rename_parameters(tool, raw.as_bytes()).unwrap()).unwrap();
            assert_eq!(object, serde_json::from_str::<Value>(expected).unwrap(), "{raw}");
        }
        assert_eq!(rename_parameters("Bash", b"no json"), None);
        assert_eq!(rename_parameters("Bash", b"7"), None);
    }
}
