//! What a summary keeps, on fixed conversations and on random ones.

use insta::assert_snapshot;
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::summarize;
use crate::engine::{Fold, Said};
use crate::text::{Tokens, chars4};

fn said(speaker: &str, text: &str) -> Said {
    Said { speaker: speaker.to_owned(), text: text.to_owned() }
}

fn fold(existing: &str, messages: &[Said], limit: u64) -> String {
    summarize(&Fold { existing, messages, limit: Tokens(limit), persona: "", prompt: None })
}

fn conversation() -> Vec<Said> {
    vec![
        said(
            "user",
            "The parser drops the last line of files without a final newline.\n\nFix it, but keep CRLF as it is. You must never write to the source file.",
        ),
        said("assistant", "Great question! Let me look at the reader."),
        said(
            "tool",
            "Read src/parse/line.rs\n   40→fn read_line(&mut self) -> Option<&str> {\n   41→    if self.at == self.len {\n   42→        return None;",
        ),
        said(
            "assistant",
            "I found that `read_line` in src/parse/line.rs:42 returns early. I tried to pad the buffer first, and that failed because of the mmap.",
        ),
        said(
            "tool",
            "error[E0502]: cannot borrow `self.buf` as mutable\ntest parse::crlf ... ok\ntest parse::lone ... FAILED",
        ),
        said(
            "assistant",
            "We decided to keep the old reader instead of the new one, since it handles CRLF.\n\n- TODO: add a test for a file without a final newline\n- The weather was nice.",
        ),
        said("user", "ok"),
        said("assistant", "Done. The fix is in commit 4f2a91c, and `cargo test` passes: 212 tests in 3.4 s."),
    ]
}

// F-12
#[test]
fn f_12_prompts_stay_verbatim_then_decisions_rules_failures_and_findings() {
    assert_snapshot!(fold("", &conversation(), 1024));
    assert_snapshot!(fold("", &conversation(), 120));
}
