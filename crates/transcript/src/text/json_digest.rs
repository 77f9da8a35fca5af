//! A digest by which equal JSON values are known, however they are written.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use xxhash_rust::xxh3::Xxh3Default;

use super::json_string;

/// The depth to which values are compared by content. Deeper ones are compared as they are written.
const DEPTH: u32 = 64;

/// The digest of the JSON value `raw`: keys sorted, the last of equal keys alone, no white space, strings decoded, and
/// numbers as they are written. What is no JSON is compared byte for byte. 64 bits tell apart the values of any
/// transcript that exists.
#[must_use]
pub fn json_digest(raw: &[u8]) -> u64 {
    let mut hasher = Xxh3Default::new();
    add_value(&mut hasher, raw, DEPTH);
    hasher.digest()
}

fn add_value(hasher: &mut Xxh3Default, raw: &[u8], depth: u32) {
    let raw = raw.trim_ascii();
    if depth > 0 && raw.starts_with(b"{") {
        if let Ok(fields) = serde_json::from_slice::<BTreeMap<String, &RawValue>>(raw) {
            hasher.update(b"{");
            for (key, value) in fields {
                add_string(hasher, &key);
                add_value(hasher, value.get().as_bytes(), depth - 1);
            }
            return hasher.update(b"}");
        }
    } else if depth > 0 && raw.starts_with(b"[") {
        if let Ok(elements) = serde_json::from_slice::<Vec<&RawValue>>(raw) {
            hasher.update(b"[");
            for element in elements {
                add_value(hasher, element.get().as_bytes(), depth - 1);
            }
            return hasher.update(b"]");
        }
    } else if let Some(string) = raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\"")) {
        return add_string(hasher, &json_string::decode(string));
    }
    add_sized(hasher, b'r', raw);
}

fn add_string(hasher: &mut Xxh3Default, string: &str) {
    add_sized(hasher, b's', string.as_bytes());
}

/// With its length in front, so that no two sequences of values look alike.
fn add_sized(hasher: &mut Xxh3Default, mark: u8, bytes: &[u8]) {
    hasher.update(&[mark]);
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_equal(left: &str, right: &str) -> bool {
        json_digest(left.as_bytes()) == json_digest(right.as_bytes())
    }

    // P-07
    #[test]
    fn equal_values_are_equal_however_they_are_written() {
        let equal = [
            (r#"{"a":1,"b":[true,null]}"#, r#" { "b" : [ true , null ], "a":1 } "#),
            (r#"{"a":{"c":2,"b":"é"}}"#, r#"{"a":{"b":"\u00e9","c":2}}"#),
            (r#"{"\u0061":1}"#, r#"{"a":1}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#""a\/b""#, r#""a/b""#),
        ];
        for (left, right) in equal {
            assert!(are_equal(left, right), "{left} {right}");
        }
        let different = [
            (r#"{"a":1}"#, r#"{"a":"1"}"#),
            (r#"{"a":1.0}"#, r#"{"a":1}"#),
            (r#"{"a":12345678901234567890}"#, r#"{"a":12345678901234567891}"#),
            (r#"["ab","c"]"#, r#"["a","bc"]"#),
            (r#"[["a"],"b"]"#, r#"[["a","b"]]"#),
            (r#"{"a":{}}"#, r#"{"a":[]}"#),
            ("{}", ""),
        ];
        for (left, right) in different {
            assert!(!are_equal(left, right), "{left} {right}");
        }
    }

    #[test]
    fn what_nests_too_deep_is_compared_as_it_is_written() {
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(5000), "]".repeat(5000));
        assert!(are_equal(&deep("1"), &deep("1")));
        assert!(!are_equal(&deep("1"), &deep("2")));
    }
}
