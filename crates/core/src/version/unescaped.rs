//! Bytes without their escapes, with the place in the source of each.

/// Bytes with the place in the source that each comes from.
pub(super) struct UnescapedBytes {
    pub(super) bytes: Vec<u8>,
    /// One more than there are bytes; `None` where it is the source itself.
    pub(super) starts: Option<Vec<usize>>,
}

/// Decodes the beginning of bytes: the number of bytes taken, and the bytes that they encode; `None` if they encode
/// themselves.
pub(super) type Decode = fn(&[u8]) -> Option<(usize, Vec<u8>)>;

impl UnescapedBytes {
    pub(super) fn source_offset(&self, at: usize) -> usize {
        match &self.starts {
            Some(starts) => starts.get(at).copied().unwrap_or_default(),
            None => at,
        }
    }

    pub(super) fn decode_with(&self, decode: Decode) -> Self {
        let (mut bytes, mut starts) = (Vec::with_capacity(self.bytes.len()), Vec::with_capacity(self.bytes.len() + 1));
        let mut at = 0;
        while let Some((first, _)) = self.bytes.get(at..).and_then(<[u8]>::split_first) {
            let escaped = matches!(first, b'\\' | b'%').then(|| self.bytes.get(at..).and_then(decode)).flatten();
            if let Some((n_bytes, plain)) = escaped {
                starts.extend(std::iter::repeat_n(self.source_offset(at), plain.len()));
                bytes.extend(plain);
                at += n_bytes;
            } else {
                starts.push(self.source_offset(at));
                bytes.push(*first);
                at += 1;
            }
        }
        starts.push(self.source_offset(at));
        Self { bytes, starts: Some(starts) }
    }
}

/// An escape of JSON. Some writers escape more than they have to: `\/`, `\u003d`, all that is not ASCII.
pub(super) fn decode_json_escape(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let plain = match bytes.get(1)? {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        byte @ (b'"' | b'\\' | b'/') => *byte,
        b'u' if bytes.starts_with(b"\\u") => return decode_unicode_escape(bytes),
        _ => return None,
    };
    bytes.starts_with(b"\\").then(|| (2, vec![plain]))
}

fn decode_unicode_escape(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let units = [Some(unit(0)?), unit(6)];
    let mut chars = char::decode_utf16(units.into_iter().flatten());
    let first = chars.next()?.ok()?;
    Some((first.len_utf16() * 6, first.to_string().into_bytes()))
}

/// A percent-encoded byte.
pub(super) fn decode_percent(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let digits = std::str::from_utf8(bytes.strip_prefix(b"%")?.get(..2)?).ok()?;
    Some((3, vec![u8::from_str_radix(digits, 16).ok()?]))
}
