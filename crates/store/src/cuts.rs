//! The cuts of an operation as a database stores them: JSON, compressed because it is repetitive.

use std::io;

use super::Cut;

/// Cuts are read about as often as written, so a higher level does not pay.
const ZSTD_LEVEL: i32 = 3;

/// The cuts as compressed JSON; `None` if there are none.
pub(super) fn pack_cuts(cuts: &[Cut]) -> io::Result<Option<Vec<u8>>> {
    if cuts.is_empty() {
        return Ok(None);
    }
    let json = serde_json::to_vec(cuts)?;
    zstd::stream::encode_all(json.as_slice(), ZSTD_LEVEL).map(Some)
}

/// The cuts that [`pack_cuts`] packed.
pub(super) fn unpack_cuts(packed: Option<&[u8]>) -> io::Result<Vec<Cut>> {
    let Some(packed) = packed else { return Ok(Vec::new()) };
    Ok(serde_json::from_slice(&zstd::stream::decode_all(packed)?)?)
}
