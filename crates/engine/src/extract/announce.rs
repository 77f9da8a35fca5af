//! Announcements: what somebody is about to do, and which the next lines tell by themselves (K-03).

/// How announcements begin in English, German, French, Spanish and Chinese.
const STARTS: [&str; 44] = [
    "Let me ", "Let's ", "I'll ", "I will ", "I'm going to ", "Now let me ", "Now let's ", "Now I'll ", "Now I will ",
    "Now I need to ", "Next, I'll ", "Next, let me ", "First, let me ", "First, I'll ", "Let me: ", "Lass mich ",
    "Lassen Sie mich ", "Ich werde ", "Ich schaue ", "Ich sehe mir ", "Ich prüfe ", "Jetzt werde ich ",
    "Als Nächstes ", "Zuerst werde ich ", "Schauen wir ", "Je vais ", "Laissez-moi ", "Laisse-moi ",
    "Maintenant, je vais ", "Maintenant je vais ", "Regardons ", "D'abord, je vais ", "Voy a ", "Déjame ",
    "Permíteme ", "Vamos a ", "Ahora voy a ", "Primero voy a ", "让我", "我来", "我先", "现在我", "接下来我",
    "首先让我",
];
/// How announcements begin in Japanese, and how they then end.
const JAPANESE: ([&str; 7], [&str; 4]) = (
    ["まず", "次に", "では", "それでは", "これから", "続いて", "続けて"],
    ["します", "みます", "いきます", "ましょう"],
);
/// What stands before an announcement and says nothing: "Good. Now ...", "OK, ...".
const LEADS: [&str; 8] = ["Now, ", "OK, ", "Okay, ", "Great, ", "Good, ", "Perfect, ", "So ", "And "];

/// Whether the sentence only announces what is done next. One that gives a reason or a condition says more.
pub(super) fn announces(sentence: &str) -> bool {
    let bare = LEADS.iter().find_map(|lead| sentence.strip_prefix(lead)).unwrap_or(sentence);
    let end = bare.trim_end_matches(['。', '！', '.', ':', '：', '!', '…']);
    let in_japanese = || {
        let (starts, ends) = &JAPANESE;
        starts.iter().any(|start| bare.starts_with(start)) && ends.iter().any(|mark| end.ends_with(mark))
    };
    let is_led = || bare.starts_with(|c: char| !c.is_ascii() || c.is_ascii_uppercase());
    is_led() && (STARTS.iter().any(|start| bare.starts_with(start)) || in_japanese()) && !gives_a_reason(bare)
}

/// How a remark begins that only says that something was understood.
const UNDERSTOOD: [&str; 8] = [
    "Now I understand", "Now I have a ", "Now I see", "Now I can see", "I understand", "I see the ", "I can see the ",
    "I have a clear ",
];
/// A longer remark says what it was.
const LONGEST_REMARK: usize = 90;

/// Whether the sentence only says that its writer has understood: "Now I understand the problem."
pub(super) fn nods(sentence: &str) -> bool {
    let is_plain = || sentence.len() <= LONGEST_REMARK && !sentence.contains([':', '`', ',', '/']);
    UNDERSTOOD.iter().any(|start| sentence.starts_with(start)) && is_plain() && !gives_a_reason(sentence)
}

fn gives_a_reason(sentence: &str) -> bool {
    [
        " because ", " since ", " instead ", " unless ", "let me know", "Let me know", " weil ", " parce ", " porque ",
        "因为",
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
            assert!(announces(text), "{text}");
        }
        for text in [
            "The file is gone.",
            "Let me know which one you want.",
            "I'll keep the old name because the plugin reads it.",
            "まず設定が壊れている。",
            "Ich denke, das ist falsch.",
        ] {
            assert!(!announces(text), "{text}");
        }
        assert!(nods("Now I understand the problem.") && nods("I see the issue."));
        assert!(!nods("Now I see: the cache is stale.") && !nods("I see the error in `src/a.rs`."));
    }
}
