//! Searching a text for many others in one pass.

use std::collections::HashMap;

/// The length in bytes of the prefix by which a part is looked up.
const HEAD: usize = 24;

/// Whether `text` contains each of `parts`. Searching one after the other would take a pass for each part.
pub(crate) fn contains_all(text: &str, parts: &[String]) -> bool {
    let mut missing: HashMap<&[u8], Vec<&str>> = HashMap::new();
    for part in parts {
        match part.as_bytes().get(..HEAD) {
            Some(head) => missing.entry(head).or_default().push(part),
            None if text.contains(part.as_str()) => {}
            None => return false,
        }
    }
    for (at, window) in text.as_bytes().windows(HEAD).enumerate() {
        if missing.is_empty() {
            break;
        }
        let Some(of_head) = missing.get_mut(window) else { continue };
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        of_head.retain(|part| !rest.starts_with(part.as_bytes()));
        if of_head.is_empty() {
            missing.remove(window);
        }
    }
    missing.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_wherever_they_are() {
        let text =
            "Never push to the main branch. Never push to the main branch of a fork. Ja. 設定は変更しないでください。";
        let has = |parts: &[&str]| contains_all(text, &parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>());
        assert!(has(&[]));
        assert!(has(&["Ja.", "Never push to the main branch of a fork.", "Never push to the main branch."]));
        assert!(has(&["設定は変更しないでください。", "push to the main branch. Never"]));
        assert!(!has(&["Never push to the main branch of a friend."]));
        assert!(!has(&["Ja.", "Nein."]));
        assert!(!contains_all("", &["Ja.".to_owned()]));
    }
}
