//! The formats of session files that are read, and which one a file has.

use crate::foreign::{self, Foreign};

/// The format of a session file. It is chosen once for a file, by its head, and holds for each of its lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Claude Code's transcripts, and whatever belongs to nobody else.
    #[default]
    Claude,
}

impl Format {
    /// The format of the file that begins with `head`, of which [`foreign::HEAD`] bytes are enough.
    ///
    /// # Errors
    /// When it is the session of an agent whose sessions are not read.
    pub fn of(head: &[u8]) -> Result<Self, Foreign> {
        foreign::recognise(head).map_or(Ok(Self::Claude), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Index;
    use std::io::Cursor;

    // O-01
    #[test]
    fn o_01_a_file_has_one_format_from_its_head_to_its_last_line() {
        let claude = r#"{"parentUuid":null,"type":"user","uuid":"u","message":{"role":"user","content":"a"}}"#;
        assert_eq!(Format::of(claude.as_bytes()), Ok(Format::Claude));
        assert_eq!(Format::of(b""), Ok(Format::Claude));
        assert_eq!(Format::of(br#"{"id":"ses_1","projectID":"p"}"#), Err(Foreign::OpenCode));
        // A line of another format further down does not change the file's.
        let other = r#"{"id":"ses_1","projectID":"p","directory":"/p"}"#;
        let file = format!("{claude}\n{other}\n{claude}\n");
        let index = Index::build(Cursor::new(&file)).unwrap();
        assert_eq!((index.format, index.new_scan().format), (Format::Claude, Format::Claude));
        assert_eq!(index.n_lines(), 3);
    }
}
