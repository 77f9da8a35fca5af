//! A piece of a text: what a person would quote whole.

/// The kind of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// A heading, or a line that is nothing but a bold title.
    Heading,
    /// The first sentence of a list item, with its marker.
    Item,
    /// A sentence, or a line of prose without an end mark.
    Sentence,
    /// A line of code, indentation included.
    Code,
    /// A line of a log: it starts with a time, a bracket or a level.
    Log,
    /// A row of a table.
    Row,
    /// The line that opens a code fence.
    FenceOpen,
    /// The line that closes a code fence.
    FenceClose,
    /// A line without letters or digits: a rule, a lone bracket.
    Ornament,
}

/// How a piece hangs on the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// It starts a line.
    Line,
    /// It is the next sentence of the same paragraph.
    Sentence,
    /// It goes on within an overlong sentence or line.
    Fragment,
}

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'t> {
    /// The piece as it stands in the text, without line ends.
    pub text: &'t str,
    /// The byte at which it starts.
    pub at: usize,
    /// What it is.
    pub kind: PieceKind,
    /// How it hangs on the one before.
    pub join: Join,
    /// The columns that its line is indented by.
    pub indent: usize,
}

impl Piece<'_> {
    /// Whether it ends in a colon, so that it says what follows.
    #[must_use]
    pub fn introduces(&self) -> bool {
        self.text.trim_end_matches('*').ends_with([':', '：'])
    }

    /// The byte after the piece.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.at + self.text.len()
    }
}
