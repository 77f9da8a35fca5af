//! The fields of a line that fill those of the scan: all that a format says for its lines to be read.

use super::known::Known;
use super::{Block, Message, Scan};
use crate::Span;

/// The names of the fields of a format. The walk is compiled once for each, so that no key asks for the format.
///
/// The functions take the value of a key, of which the last of equal ones stands.
pub(super) trait FieldTable {
    /// The field of an entry that holds its message.
    const MESSAGE: &'static [u8];

    /// Takes a field of the entry itself, the message aside.
    fn set_entry(scan: &mut Scan, line: &[u8], key: &[u8], value: Span) -> Known;

    /// Takes a field of the message.
    fn fill_message(message: &mut Message, line: &[u8], key: &[u8], value: Span) -> Known;

    /// Takes a field of a content block.
    fn set_block(block: &mut Block, line: &[u8], key: &[u8], value: Span) -> Known;

    /// Completes the scan of a line of which all fields were taken.
    fn finish(scan: &mut Scan, line: &[u8]);
}
