//! Checks of keys against those that the scan asks for.
#![expect(clippy::inline_always, reason = "it runs for each key")]

use super::bits::RejectReason;

/// Whether a key is one that the scan asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyMatch {
    Yes,
    No,
}

/// Rejects a key with an escape, which may spell any name; one that is known has none.
#[inline(always)]
pub(super) fn reject_escaped_key(key: &[u8], is_known: KeyMatch) -> Result<(), RejectReason> {
    // Keys are short: to look at all of it is faster than to stop.
    let has_escape = || key.iter().fold(0, |found, &byte| found | u8::from(byte == b'\\')) != 0;
    if is_known == KeyMatch::No && has_escape() { Err(RejectReason::EscapedKey) } else { Ok(()) }
}
