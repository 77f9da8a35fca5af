//! Prefixes of ids and digests, as people type them.

use std::ops::RangeInclusive;

use super::{ArchiveError, Operation};
use ctxc_transcript::text::Digest;

/// The maximum number of matches of a prefix.
pub(super) const AT_MOST: usize = 8;

/// The range of digests that begin with the hexadecimal digits `prefix`; `None` unless it has 1 to 64 of them.
pub(super) fn digest_range(prefix: &str) -> Option<RangeInclusive<Digest>> {
    let is_hex = prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
    if prefix.is_empty() || !is_hex {
        return None;
    }
    let filled = |digit: &str| {
        let missing = 64_usize.checked_sub(prefix.len())?;
        format!("{prefix}{}", digit.repeat(missing)).to_ascii_lowercase().parse().ok()
    };
    Some(filled("0")?..=filled("f")?)
}

/// The operation of `found` that `given` denotes: the first one if `given` is its full id, else the only one.
pub(super) fn pick_operation(given: &str, mut found: Vec<Operation>) -> Result<Option<Operation>, ArchiveError> {
    if found.len() > 1 && found.first().is_some_and(|first| first.id != given) {
        let ids = found.into_iter().map(|operation| operation.id).collect();
        return Err(ArchiveError::AmbiguousOperation { given: given.to_owned(), ids });
    }
    found.truncate(1);
    Ok(found.pop())
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn a_04_a_prefix_is_a_range_of_digests() {
        let digest = Digest::of(b"a line");
        let text = digest.to_string();
        for end in 1..=64 {
            assert!(digest_range(&text[..end]).unwrap().contains(&digest), "{end} digits");
        }
        assert!(digest_range(&text[..9].to_uppercase()).unwrap().contains(&digest));
        let other = if text.starts_with('0') { "1" } else { "0" };
        assert!(!digest_range(other).unwrap().contains(&digest));
        for odd in ["", "xyz", "-1", &"0".repeat(65), "会"] {
            assert!(digest_range(odd).is_none(), "{odd}");
        }
    }
}
