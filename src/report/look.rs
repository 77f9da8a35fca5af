//! How text is laid out: in full for a pipe or a file, or for a terminal of some width, with styles and short paths (W-09).
//!
//! A style is a pair of marks around a text, which the program replaces by what its terminal understands once the text has
//! been made printable. So no text of a transcript can bring an escape sequence along.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How text is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// How many columns a line may have on a terminal; `None` where it is none.
    pub width: Option<usize>,
    /// Whether text is styled.
    pub is_styled: bool,
    /// The home folder, for which `~` stands; `None` where paths are told in full.
    pub home: Option<&'static str>,
}

/// What a text is, by which it is styled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The heading of a table or of a message.
    Heading,
    /// What was added.
    Added,
    /// What was removed.
    Removed,
    /// What was changed.
    Changed,
    /// What matters less.
    Dim,
}

const STYLES: [Style; 5] = [Style::Heading, Style::Added, Style::Removed, Style::Changed, Style::Dim];

impl Style {
    /// The mark before a text of this style: a character that Unicode keeps for use within a program.
    const fn mark(self) -> char {
        match self {
            Self::Heading => '\u{fdd0}',
            Self::Added => '\u{fdd1}',
            Self::Removed => '\u{fdd2}',
            Self::Changed => '\u{fdd3}',
            Self::Dim => '\u{fdd4}',
        }
    }
}

/// The mark behind a styled text.
const END: char = '\u{fdd5}';

impl Look {
    /// For a pipe or a file.
    pub const PLAIN: Self = Self { width: None, is_styled: false, home: None };

    /// `text` between marks of `style`, where text is styled.
    #[must_use]
    pub fn style(self, style: Style, text: &str) -> String {
        if self.is_styled { format!("{}{text}{END}", style.mark()) } else { text.to_owned() }
    }

    /// `line`, shortened to the width of the terminal, with blanks for tabs, whose width depends on the terminal.
    #[must_use]
    pub fn line(self, line: &str) -> Cow<'_, str> {
        self.width.map_or(Cow::Borrowed(line), |width| clip(&line.replace('\t', "    "), width).into_owned().into())
    }

    /// `text` with `~` for the home folder, where a word begins with it.
    #[must_use]
    pub fn paths(self, text: &str) -> Cow<'_, str> {
        let Some(home) = self.home.filter(|home| home.len() > 1 && text.contains(home)) else {
            return Cow::Borrowed(text);
        };
        let mut short = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once(home) {
            short += before;
            let begins = short.chars().next_back().is_none_or(|c| c.is_whitespace() || c == '(');
            let ends = behind.chars().next().is_none_or(|c| !c.is_alphanumeric() && !"-_.".contains(c));
            short += if begins && ends { "~" } else { home };
            rest = behind;
        }
        Cow::Owned(short + rest)
    }
}

/// `text` with `begin(style)` for each mark before a styled text, and `end` for the one behind it. A style ends with its line.
#[must_use]
pub fn painted(text: &str, begin: impl Fn(Style) -> String, end: &str) -> String {
    let mut painted = String::with_capacity(text.len());
    let mut is_open = false;
    for c in text.chars() {
        if let Some(style) = STYLES.into_iter().find(|style| style.mark() == c) {
            painted += &begin(style);
            is_open = true;
        } else if c == END || c == '\n' && is_open {
            painted += end;
            is_open = false;
            painted.extend((c == '\n').then_some(c));
        } else {
            painted.push(c);
        }
    }
    painted
}

/// `text` in at most `width` columns of a terminal, with an `…` for what is left out: the end, of a path the beginning.
#[must_use]
pub fn clip(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return Cow::Borrowed(text);
    }
    let room = width.saturating_sub(1);
    let fits = |chars: &mut dyn Iterator<Item = char>| -> usize {
        let mut used = 0;
        let fitting = chars.take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= room
        });
        fitting.map(char::len_utf8).sum()
    };
    let is_path = text.starts_with(['/', '~']) && text.matches('/').count() > 1 && !text.contains(' ');
    if is_path {
        let n_bytes = fits(&mut text.chars().rev());
        return Cow::Owned(format!("…{}", text.split_at(text.len() - n_bytes).1));
    }
    let n_bytes = fits(&mut text.chars());
    Cow::Owned(format!("{}…", text.split_at(n_bytes).0))
}

/// `text` with its lines broken between words so that they fit into `width` columns. Lines that go on are indented by
/// `indent` more than the line that they go on from. A command between backquotes is one word, and so is what has no space:
/// where that is longer than a line, it is left whole, so that it can be copied.
#[must_use]
pub fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (at, line) in text.split('\n').enumerate() {
        let own = line.len() - line.trim_start_matches(' ').len();
        // The prefix of the message is on its first line.
        let prefix = if at == 0 { indent } else { 0 };
        let mut current = " ".repeat(own);
        let mut used = prefix + own;
        let mut is_fresh = true;
        for word in words(line.trim_start_matches(' ')) {
            let gap = usize::from(!is_fresh);
            if !is_fresh && used + gap + word.width() > width {
                lines.push(std::mem::replace(&mut current, " ".repeat(indent + own)));
                used = indent + own;
            } else if !is_fresh {
                current.push(' ');
                used += 1;
            }
            current += word;
            used += word.width();
            is_fresh = false;
        }
        lines.push(current);
    }
    lines.join("\n")
}

/// The words of `line`, of which one between backquotes may have spaces.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    line.split(move |c| {
        is_quoted ^= c == '`';
        c == ' ' && !is_quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // W-09
    #[test]
    fn w_09_messages_are_wrapped_between_words_and_commands_stay_whole() {
        let cases = [
            (0, 20, "short enough", "short enough"),
            (6, 20, "a hint that is longer than that", "a hint that is\n      longer than\n      that"),
            (0, 16, "run `ctxc restore --op 1` now", "run\n`ctxc restore --op 1`\nnow"),
            (0, 12, "one of these:\n  line 9: Go on", "one of\nthese:\n  line 9: Go\n  on"),
            (0, 8, "日本語 日本語", "日本語\n日本語"),
            (0, 8, "/a/long/path/that/is/one word", "/a/long/path/that/is/one\nword"),
        ];
        for (indent, width, text, lines) in cases {
            assert_eq!(wrapped(text, indent, width), lines);
        }
    }

    // W-09
    #[test]
    fn w_09_texts_are_clipped_to_columns_of_a_terminal() {
        let cases = [
            ("short", 5, "short"),
            ("shorter", 5, "shor…"),
            ("日本語の題", 7, "日本語…"),
            ("日本語の題", 8, "日本語…"),
            ("~/code/shop/src/lib.rs", 12, "…/src/lib.rs"),
            ("/a path/with/blanks", 7, "/a pat…"),
            ("/plan-implement", 7, "/plan-…"),
        ];
        assert_eq!(Look { width: Some(6), ..Look::PLAIN }.line("\t日本"), "    …");
        for (text, width, clipped) in cases {
            assert_eq!(clip(text, width), clipped);
            assert!(clip(text, width).width() <= width);
        }
    }

    // W-09
    #[test]
    fn w_09_the_home_folder_is_short_where_a_word_begins_with_it() {
        let look = Look { home: Some("/home/ann"), ..Look::PLAIN };
        let cases = [
            ("/home/ann", "~"),
            ("wrote /home/ann/a.jsonl (/home/ann/b)", "wrote ~/a.jsonl (~/b)"),
            ("/home/annabel/a /home/ann.old", "/home/annabel/a /home/ann.old"),
            // What a shell does not expand is left as it is.
            ("cd '/home/ann/a b' sqlite:/home/ann/a", "cd '/home/ann/a b' sqlite:/home/ann/a"),
        ];
        for (text, short) in cases {
            assert_eq!(look.paths(text), short);
            assert_eq!(Look::PLAIN.paths(text), text);
        }
    }

    #[test]
    fn a_style_ends_with_its_line() {
        let look = Look { is_styled: true, ..Look::PLAIN };
        let begin = |style: Style| format!("<{style:?}>");
        let text =
            format!("{}\n{}", look.style(Style::Added, "+ new"), Style::Removed.mark().to_string() + "old\nplain");
        assert_eq!(painted(&text, begin, "</>"), "<Added>+ new</>\n<Removed>old</>\nplain");
        assert_eq!(Look::PLAIN.style(Style::Added, "new"), "new");
    }
}
