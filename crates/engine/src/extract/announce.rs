//! Announcements: what somebody is about to do, and which the next lines tell by themselves (K-03).

use crate::language::{Word, fold_hash, split_words, word_meanings};

/// Openings of announcements in English, German, French, Spanish and Chinese.
const STARTS: [&str; 44] = [
    "Let me ", "Let's ", "I'll ", "I will ", "I'm going to ", "Now let me ", "Now let's ", "Now I'll ", "Now I will ",
    "Now I need to ", "Next, I'll ", "Next, let me ", "First, let me ", "First, I'll ", "Let me: ", "Lass mich ",
    "Lassen Sie mich ", "Ich werde ", "Ich schaue ", "Ich sehe mir ", "Ich prüfe ", "Jetzt werde ich ",
    "Als Nächstes ", "Zuerst werde ich ", "Schauen wir ", "Je vais ", "Laissez-moi ", "Laisse-moi ",
    "Maintenant, je vais ", "Maintenant je vais ", "Regardons ", "D'abord, je vais ", "Voy a ", "Déjame ",
    "Permíteme ", "Vamos a ", "Ahora voy a ", "Primero voy a ", "让我", "我来", "我先", "现在我", "接下来我",
    "首先让我",
];
/// Endings of Japanese sentences without a subject that announce what their writer reports or looks at next.
const JAPANESE_ENDS: [&str; 13] = [
    "をまとめます", "を説明します", "を報告します", "を確認します", "を調査します", "を調べます", "を見てみます",
    "を確認してみます", "も確認します", "をコミットします", "を更新します", "を実行します", "も合わせます",
];
/// Openings of announcements in Japanese, and the endings that go with them.
const JAPANESE: ([&str; 7], [&str; 4]) = (
    ["まず", "次に", "では", "それでは", "これから", "続いて", "続けて"],
    ["します", "みます", "いきます", "ましょう"],
);
/// Fillers before an announcement: "Good. Now ...", "OK, ...".
const LEADS: [&str; 8] = ["Now, ", "OK, ", "Okay, ", "Great, ", "Good, ", "Perfect, ", "So ", "And "];

/// Whether the sentence only announces what is done next. One that gives a reason or a condition says more.
pub(super) fn is_announcement(sentence: &str) -> bool {
    let bare = LEADS.iter().find_map(|lead| sentence.strip_prefix(lead)).unwrap_or(sentence);
    let end = bare.trim_end_matches(['。', '！', '.', ':', '：', '!', '…']);
    let in_japanese = || {
        let (starts, ends) = &JAPANESE;
        let has_subject = || bare.contains(['は', 'が']);
        starts.iter().any(|start| bare.starts_with(start)) && ends.iter().any(|mark| end.ends_with(mark))
            || JAPANESE_ENDS.iter().any(|mark| end.ends_with(mark)) && !has_subject()
    };
    let is_led = || bare.starts_with(|c: char| !c.is_ascii() || c.is_ascii_uppercase());
    is_led() && (STARTS.iter().any(|start| bare.starts_with(start)) || in_japanese()) && !gives_a_reason(bare)
}

/// Openings of remarks that only say that something was understood.
const UNDERSTOOD: [&str; 8] = [
    "Now I understand", "Now I have a ", "Now I see", "Now I can see", "I understand", "I see the ", "I can see the ",
    "I have a clear ",
];
/// A longer remark says what it was.
const LONGEST_REMARK: usize = 90;

/// Openings of remarks that something was found or follows, without saying what it is.
const FOUND: [&str; 10] = [
    "I found ", "I've found ", "I have found ", "I've identified ", "I've located ", "Found ", "Here's ", "Here is ",
    "Here are ", "Here’s ",
];
/// Words that any text may have, and that tell nothing of it.
const GENERIC: &str = "relevant related code file files issue issues problem problems bug cause root answer answers \
    solution result results information info detail details summary overview analysis following everything findings \
    change changes found find full complete clear current situation context picture needed need wanted asked happened \
    happening going quick brief updated final list plan breakdown now";

/// Whether the sentence only says that its writer has understood or found something: "Now I understand the problem.",
/// "I found the relevant code."
pub(super) fn is_acknowledgement(sentence: &str) -> bool {
    let is_short = || sentence.len() <= LONGEST_REMARK;
    let is_plain = || is_short() && !sentence.contains([':', '`', ',', '/']);
    let is_generic = |word: Word<'_>| {
        let is_stop = || word_meanings().get(&fold_hash(word.text)).is_some_and(|entry| entry.is_stop);
        is_stop() || GENERIC.split_whitespace().any(|generic| generic.eq_ignore_ascii_case(word.text))
    };
    let found = FOUND.iter().find_map(|start| sentence.strip_prefix(start)).filter(|_| is_short());
    UNDERSTOOD.iter().any(|start| sentence.starts_with(start)) && is_plain() && !gives_a_reason(sentence)
        || found.is_some_and(|what| split_words(what).all(is_generic))
}

fn gives_a_reason(sentence: &str) -> bool {
    [
        " because ", " since ", " instead ", " unless ", "let me know", "Let me know", " weil ", " parce ", " porque ",
        "因为", "ので", "ため", "れば", "たら",
    ]
    .iter()
    .any(|mark| sentence.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    // K-03
    #[test]
    fn k_03_announcements_are_known_in_six_languages() {
        for text in [
            "Let me look at the file:",
            "Now I'll fix src/main.rs.",
            "OK, let me check.".replace("let me", "Let me").as_str(),
            "まず設定ファイルを確認します。",
            "次にテストを実行しましょう。",
            "让我看看这个文件。",
            "Ich werde jetzt die Tests ausführen.",
            "Je vais vérifier le fichier.",
            "Voy a revisar los tests.",
        ] {
            assert!(is_announcement(text), "{text}");
        }
        for text in [
            "The file is gone.",
            "Let me know which one you want.",
            "I'll keep the old name because the plugin reads it.",
            "まず設定が壊れている。",
            "Ich denke, das ist falsch.",
        ] {
            assert!(!is_announcement(text), "{text}");
        }
        assert!(is_announcement("調査結果をまとめます。") && !is_announcement("この関数は結果をまとめます。"));
        assert!(is_acknowledgement("Now I understand the problem.") && is_acknowledgement("I see the issue."));
        assert!(
            is_acknowledgement("I found the relevant code.") && is_acknowledgement("Here's a summary of the changes:")
        );
        assert!(
            !is_acknowledgement("I found the stale cache.")
                && !is_acknowledgement("Found 3 problems.")
                && !is_acknowledgement("No issues found.")
        );
        assert!(
            !is_acknowledgement("Now I see: the cache is stale.")
                && !is_acknowledgement("I see the error in `src/a.rs`.")
        );
    }
}
