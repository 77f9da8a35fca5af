//! What an engine is asked for: one text to shorten, or messages to summarize.

use std::borrow::Cow;

use crate::redact::{Redacted, Redactor};
use crate::run::Kept;
use ctxc_transcript::text::{Tokens, chars4};

/// What an engine is asked for.
#[derive(Clone, Debug)]
pub enum Request<'a> {
    /// A shorter text.
    Shorten(Shorten<'a>),
    /// A summary.
    Summarize(Summarize<'a>),
}

/// One text to shorten.
#[derive(Clone, Debug)]
pub struct Shorten<'a> {
    /// The text as its author wrote it.
    pub text: Cow<'a, str>,
    /// The size to come down to, in `chars4` tokens.
    pub target: Tokens,
    /// Where the text comes from.
    pub origin: Origin,
}

/// Messages to make one summary of.
#[derive(Clone, Debug, Default)]
pub struct Summarize<'a> {
    /// The summary so far, which the new one continues; empty where there is none.
    pub existing: Cow<'a, str>,
    /// The messages, oldest first.
    pub messages: Cow<'a, [Said]>,
    /// The most that the summary may have, in `chars4` tokens.
    pub limit: Tokens,
    /// Who summarizes, in the words of the user; may be empty. The built-in engine has no use for it.
    pub persona: &'a str,
    /// What becomes of what the person typed.
    pub prompts: Prompts,
    /// What a model is told instead of the default, with `{persona}`, `{existing_summary}` and `{messages}` (F-11).
    pub prompt: Option<&'a str>,
}

/// Where a text comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A person or a model wrote it.
    #[default]
    Message,
    /// A tool gave it back.
    Tool,
}

/// Whether a summary keeps prompts verbatim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prompts {
    /// They compete for the room with all else.
    #[default]
    Compete,
    /// They stand whole beside the limit; of one above 1,000 tokens the middle goes. The built-in engine alone can do so.
    Whole,
}

/// A message to summarize.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Said {
    /// Who: `user`, `assistant`, `system`, `tool`, or `summary` for an earlier summary.
    pub speaker: String,
    /// What.
    pub text: String,
}

/// Which call for a request this is.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// The number of the call, from 1.
    pub number: u32,
    /// Why the last reply was refused, where it was and the engine is to know.
    pub refused: Option<Kept>,
}

impl Attempt {
    /// The `number`-th call.
    #[must_use]
    pub const fn nth(number: u32) -> Self {
        Self { number, refused: None }
    }
}

impl Request<'_> {
    /// All texts that leave the machine for it: that of the message, or the summary so far and then the messages.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (first, rest): (&str, &[Said]) = match self {
            Self::Shorten(shorten) => (&shorten.text, &[]),
            Self::Summarize(summarize) => (&summarize.existing, &summarize.messages),
        };
        std::iter::once(first).chain(rest.iter().map(|said| said.text.as_str()))
    }

    /// The tokens of its texts.
    #[must_use]
    pub fn size(&self) -> Tokens {
        self.texts().map(chars4).sum()
    }

    /// The size that the reply is to have.
    #[must_use]
    pub const fn target(&self) -> Tokens {
        match self {
            Self::Shorten(shorten) => shorten.target,
            Self::Summarize(summarize) => summarize.limit,
        }
    }

    /// The request with placeholders for its secrets, and what they stand for.
    pub(crate) fn redacted(&self, redactor: &mut Redactor) -> (Self, Redacted) {
        match self {
            Self::Shorten(shorten) => {
                let mut redacted = redactor.redact(&shorten.text);
                let text = std::mem::take(&mut redacted.text).into();
                (Self::Shorten(Shorten { text, ..*shorten }), redacted)
            }
            Self::Summarize(summarize) => {
                let mut redacted = redactor.redact(&summarize.existing);
                let existing = std::mem::take(&mut redacted.text).into();
                let messages = summarize.messages.iter().map(|said| {
                    let of_one = redactor.redact(&said.text);
                    redacted.give(&of_one);
                    Said { speaker: said.speaker.clone(), text: of_one.text }
                });
                let messages = messages.collect::<Vec<_>>().into();
                (Self::Summarize(Summarize { existing, messages, ..*summarize }), redacted)
            }
        }
    }
}
