//! A text as the pieces that a person would quote whole: sentences, list items, log and code lines.
//!
//! Pieces are slices of the text, in order and without overlap; between them lies only white space. What
//! kind of line it is shows in its looks alone: Markdown marks, indentation, time stamps.

use super::sentence::{fragments, sentences};

/// What a piece is.
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
    /// The byte after the piece.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.at + self.text.len()
    }
}

/// The pieces of `text`. A text with more than white space has at least one.
#[must_use]
pub fn segment(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::with_capacity(text.len() / 60 + 1);
    let mut fence: Option<&str> = None;
    let mut prose: Option<Prose> = None;
    let mut at = 0;
    for full_line in text.split_inclusive('\n') {
        let start = at;
        at += full_line.len();
        let line = full_line.trim_end();
        let body = line.trim_start();
        let here = Line { line, body, start, body_at: start + (line.len() - body.len()), indent: indent(line, body) };
        if let Some(mark) = fence {
            let closes = body.starts_with(mark) && body.trim_end_matches(['`', '~']).is_empty();
            if closes {
                fence = None;
            }
            here.push(&mut pieces, if closes { PieceKind::FenceClose } else { PieceKind::Code });
            continue;
        }
        let kind = here.kind(prose.is_some());
        if let (Some(open), Looks::Prose) = (prose.as_mut(), kind) {
            if open.goes_on_in(text, body) {
                open.end = here.body_at + body.len();
                continue;
            }
        }
        if let Some(done) = prose.take() {
            done.push(text, &mut pieces);
        }
        match kind {
            Looks::Blank => {}
            Looks::Fence => {
                fence = body.get(..3);
                here.push(&mut pieces, PieceKind::FenceOpen);
            }
            Looks::Item => {
                prose =
                    Some(Prose { start, end: here.body_at + body.len(), kind: PieceKind::Item, indent: here.indent })
            }
            Looks::Prose => {
                prose = Some(Prose {
                    start: here.body_at,
                    end: here.body_at + body.len(),
                    kind: PieceKind::Sentence,
                    indent: here.indent,
                });
            }
            Looks::Line(kind) => here.push(&mut pieces, kind),
        }
    }
    if let Some(done) = prose {
        done.push(text, &mut pieces);
    }
    pieces
}

/// What a line looks like.
#[derive(Clone, Copy)]
enum Looks {
    Blank,
    Fence,
    Item,
    Prose,
    Line(PieceKind),
}

struct Line<'t> {
    line: &'t str,
    body: &'t str,
    start: usize,
    body_at: usize,
    indent: usize,
}

impl<'t> Line<'t> {
    fn kind(&self, in_prose: bool) -> Looks {
        let body = self.body;
        let Some(first) = body.chars().next() else { return Looks::Blank };
        if body.starts_with("```") || body.starts_with("~~~") {
            return Looks::Fence;
        }
        if !body.bytes().take(400).any(|byte| byte.is_ascii_alphanumeric() || byte >= 128) {
            return Looks::Line(PieceKind::Ornament);
        }
        if first == '|' {
            return Looks::Line(PieceKind::Row);
        }
        if is_heading(body) {
            return Looks::Line(PieceKind::Heading);
        }
        if is_log(body) {
            return Looks::Line(PieceKind::Log);
        }
        if marker(body) > 0 {
            return Looks::Item;
        }
        if is_code(body) || (self.indent >= 4 && !in_prose && first.is_ascii() && !reads_as_prose(body)) {
            return Looks::Line(PieceKind::Code);
        }
        Looks::Prose
    }

    /// Pushes the line as one piece, or as fragments when it is overlong. Indentation counts as code does.
    fn push(&self, pieces: &mut Vec<Piece<'t>>, kind: PieceKind) {
        if self.body.is_empty() {
            return;
        }
        let kind = if kind == PieceKind::Code && !self.body.contains(|c: char| c.is_alphanumeric()) {
            PieceKind::Ornament
        } else {
            kind
        };
        for (n, (offset, part)) in fragments(self.line).enumerate() {
            let join = if n == 0 { Join::Line } else { Join::Fragment };
            pieces.push(Piece { text: part, at: self.start + offset, kind, join, indent: self.indent });
        }
    }
}

/// Lines of prose that are being put together.
struct Prose {
    start: usize,
    end: usize,
    kind: PieceKind,
    indent: usize,
}

impl Prose {
    /// Whether `body` is the rest of a sentence that was wrapped at the end of the line before.
    fn goes_on_in(&self, text: &str, body: &str) -> bool {
        let so_far = text.get(self.start..self.end).unwrap_or_default();
        let tail_from = so_far.len().saturating_sub(200);
        let last_line_len = memchr::memrchr(b'\n', so_far.as_bytes()).map_or(so_far.len(), |at| so_far.len() - at);
        let open_end =
            so_far.as_bytes().get(tail_from..).is_some_and(|tail| !tail.ends_with(b":") && !tail.ends_with(b"  "));
        let last_line = so_far.get(so_far.len() - last_line_len..).unwrap_or_default();
        let lower = body.starts_with(|c: char| c.is_lowercase() || matches!(c, '(' | '`'));
        open_end
            && lower
            && reads_as_prose(last_line)
            && reads_as_prose(body)
            && last_line_len >= 40
            && so_far.len() < 4000
    }

    fn push<'t>(&self, text: &'t str, pieces: &mut Vec<Piece<'t>>) {
        let whole = text.get(self.start..self.end).unwrap_or_default();
        for (n, (offset, sentence)) in sentences(whole).enumerate() {
            let kind = if n == 0 { self.kind } else { PieceKind::Sentence };
            for (part_idx, (part_at, part)) in fragments(sentence).enumerate() {
                let join = match (n, part_idx) {
                    (0, 0) => Join::Line,
                    (_, 0) => Join::Sentence,
                    _ => Join::Fragment,
                };
                pieces.push(Piece { text: part, at: self.start + offset + part_at, kind, join, indent: self.indent });
            }
        }
    }
}

fn indent(line: &str, body: &str) -> usize {
    let n_blanks = line.len() - body.len();
    line.bytes().take(n_blanks).map(|byte| if byte == b'\t' { 4 } else { 1 }).sum()
}

/// The length of a list marker with its space, or 0.
#[must_use]
pub fn marker(body: &str) -> usize {
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let bytes = body.as_bytes();
    match (digits, bytes.get(digits), bytes.get(digits + 1)) {
        (0, Some(b'-' | b'*' | b'+'), Some(b' ')) => 2,
        (1..=3, Some(b'.' | b')'), Some(b' ')) => digits + 2,
        _ if body.starts_with("• ") => "• ".len(),
        _ => 0,
    }
}

fn is_heading(body: &str) -> bool {
    let n_hashes = body.bytes().take(7).take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&n_hashes) && body.as_bytes().get(n_hashes) == Some(&b' ') {
        return true;
    }
    let bold = body.strip_prefix("**").and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    bold.is_some_and(|title| title.len() <= 80 && !title.contains("**") && !title.ends_with(['.', '!', '?']))
}

fn is_log(body: &str) -> bool {
    let head = body.as_bytes().get(..40.min(body.len())).unwrap_or_default();
    let Some(first) = head.first() else { return false };
    let n_digits = head.iter().take(16).filter(|byte| byte.is_ascii_digit()).count();
    let stamped =
        (first.is_ascii_digit() && n_digits >= 6 && head.iter().take(16).any(|byte| matches!(byte, b':' | b'-')))
            || (*first == b'[' && n_digits >= 4);
    stamped || has_level(head)
}

/// Whether a level such as `WARN` stands near the start.
fn has_level(head: &[u8]) -> bool {
    const LEVELS: [&str; 9] = ["INFO", "WARN", "ERROR", "DEBUG", "TRACE", "FATAL", "[info]", "[error]", "[warn]"];
    let starts = head
        .iter()
        .enumerate()
        .take(30)
        .filter(|(_, byte)| matches!(byte, b'I' | b'W' | b'E' | b'D' | b'T' | b'F' | b'['));
    starts
        .filter_map(|(at, _)| head.get(at..))
        .any(|rest| LEVELS.iter().any(|level| rest.len() > level.len() && rest.starts_with(level.as_bytes())))
}

fn is_code(body: &str) -> bool {
    let starts = [
        "import ",
        "from ",
        "def ",
        "fn ",
        "pub ",
        "const ",
        "let ",
        "var ",
        "func ",
        "function ",
        "class ",
        "return ",
        "#include",
        "export ",
        "async ",
        "package ",
        "$ ",
        "<",
        "//",
        "/*",
        "at ",
    ];
    if body.ends_with([';', '{', '}']) {
        return true;
    }
    let last_is_code = body.ends_with([')', ',', '>', ']']);
    last_is_code && starts.iter().any(|start| body.starts_with(start)) && !reads_as_prose(body)
}

/// Whether the line is mostly letters and spaces, as sentences are.
fn reads_as_prose(body: &str) -> bool {
    let head = body.as_bytes().get(..200.min(body.len())).unwrap_or_default();
    let n_plain = head.iter().filter(|byte| byte.is_ascii_alphabetic() || **byte == b' ' || **byte >= 128).count();
    let n_spaces = head.iter().filter(|byte| **byte == b' ').count();
    n_plain * 100 >= head.len() * 80 && n_spaces * 12 >= head.len()
}
