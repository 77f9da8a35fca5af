//! The second job of an engine: folding messages into a summary.

use ctxc_transcript::text::Tokens;

/// Messages to fold into one summary.
#[derive(Clone, Copy, Debug)]
pub struct Fold<'a> {
    /// The summary so far, which the new one carries on; empty where there is none.
    pub existing: &'a str,
    /// The messages, oldest first.
    pub messages: &'a [Said],
    /// The most that the summary may have, in `chars4` tokens.
    pub limit: Tokens,
    /// Who summarises, in the words of the user; may be empty. The built-in engine has no use for it.
    pub persona: &'a str,
    /// What becomes of what the person typed.
    pub prompts: Prompts,
    /// What a model is told instead of the default, with `{persona}`, `{existing_summary}` and `{messages}` (F-11).
    pub prompt: Option<&'a str>,
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
