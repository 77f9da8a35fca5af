//! What an entry that ctxc writes takes over from one that stands beside it.

use ctxc_transcript::scan::each_field;
use ctxc_transcript::text::json_string;

/// The fields that clients write on every entry, in the order in which they do.
const FIELDS: [&str; 9] =
    ["isSidechain", "agentId", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug"];

/// The fields of `line` that an entry beside it has too, as they stand there, each with a comma behind it.
pub(in crate::apply) fn envelope(line: &[u8]) -> String {
    let mut envelope = String::new();
    for key in FIELDS {
        if let Some(value) = field(line, key) {
            envelope.extend([json_string::encode(key).as_str(), ":", &value, ","]);
        }
    }
    envelope
}

/// The raw value of a top-level field.
pub(in crate::apply) fn field(line: &[u8], name: &str) -> Option<String> {
    let mut found = None;
    each_field(line, |key, value| {
        if key == name.as_bytes() {
            found = Some(String::from_utf8_lossy(value.of(line)).into_owned());
        }
    });
    found
}
