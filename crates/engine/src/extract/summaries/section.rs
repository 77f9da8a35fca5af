//! The headings of a summary, and which of them a statement belongs under.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::bonds::is_question;
use crate::language::{self, Classes, Shape, Word, label, pairs, reports_error, segment, words};

/// The section of a summary that an item belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    /// The task, as last stated.
    Goal,
    /// A rule, limit, preference or state that somebody laid down.
    Constraints,
    /// The work at hand when the summary was made.
    Now,
    /// A prompt of the person.
    Asked,
    /// A decision, with the rejected options.
    Decided,
    /// A finished step.
    Done,
    /// A failed attempt.
    Failed,
    /// A finding.
    Found,
    /// A remaining step.
    Open,
    /// Any other statement.
    Also,
}

/// The author of a statement, as far as its section depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    /// Lays down rules.
    Person,
    /// Decides, finds and acts.
    Model,
    /// Reports errors, whatever other words are in its output; code too.
    Tool,
}

impl Section {
    /// All of them, in the order in which a summary has them.
    pub(super) const ALL: [Self; 10] = [
        Self::Goal,
        Self::Constraints,
        Self::Now,
        Self::Asked,
        Self::Decided,
        Self::Done,
        Self::Failed,
        Self::Found,
        Self::Open,
        Self::Also,
    ];

    /// The line above its items.
    pub(super) const fn heading(self) -> &'static str {
        match self {
            Self::Goal => "Goal:",
            Self::Constraints => "Constraints:",
            Self::Now => "Now:",
            Self::Asked => "Asked:",
            Self::Decided => "Decided:",
            Self::Done => "Done:",
            Self::Failed => "Failed:",
            Self::Found => "Found:",
            Self::Open => "Open:",
            Self::Also => "Also:",
        }
    }

    /// The section that `line` is the heading of.
    pub(super) fn with_heading(line: &str) -> Option<Self> {
        // Summaries of the first version.
        let line = if line == "Rules:" { "Constraints:" } else { line };
        Self::ALL.into_iter().find(|section| section.heading() == line)
    }

    /// The section of the statements under `heading` in a summary by a client; `None` if each has to say it itself.
    pub(super) fn of_client_heading(heading: &str) -> Option<Self> {
        let heading = heading.to_lowercase();
        let sections = [
            ("primary request", Self::Goal),
            ("user messages", Self::Asked),
            ("pending tasks", Self::Open),
            ("next step", Self::Open),
            ("current work", Self::Now),
            ("problem solving", Self::Found),
        ];
        sections.into_iter().find(|(words, _)| heading.contains(words)).map(|(_, section)| section)
    }

    /// The section of a statement of these classes: the one that its outcome earns. What a program reports as an error is
    /// one, whatever else its words say.
    pub(super) fn of(text: &str, classes: Classes, author: Speaker) -> Self {
        match author {
            Speaker::Person => Self::of_person(text, classes),
            Speaker::Tool if reports_error(text) && !Marks::of(text).succeeds => Self::Failed,
            Speaker::Tool => Self::Also,
            Speaker::Model => Self::of_model(text, classes),
        }
    }

    fn of_person(text: &str, classes: Classes) -> Self {
        let marks = Marks::of(text);
        if marks.demands && !marks.asks || lays_down(text, classes, marks.asks) || label(text).is_some() {
            Self::Constraints
        } else if marks.decides {
            Self::Decided
        } else if classes.has(Classes::TODO) && !marks.asks {
            Self::Open
        } else {
            Self::Asked
        }
    }

    fn of_model(text: &str, classes: Classes) -> Self {
        let marks = Marks::of(text);
        match () {
            () if marks.is_option => Self::Also,
            () if marks.is_open => Self::Open,
            () if marks.succeeds && !marks.requests => Self::Done,
            () if marks.decides && !marks.asks => Self::Decided,
            () if marks.opens_with_deed => Self::Done,
            () if marks.fails && !marks.asks => Self::Failed,
            () if marks.has_done && !marks.asks && !marks.supposes => Self::Done,
            () if marks.requests => Self::Also,
            () if marks.states || classes.has(Classes::FINDING) => Self::Found,
            () if marks.informs => Self::Found,
            () => Self::Also,
        }
    }
}

/// Whether the text has words of rules, and not in a question about one alone: "do we require a type?". What somebody is asked
/// to do is a rule: "can you never push?".
fn lays_down(text: &str, classes: Classes, asks: bool) -> bool {
    if !asks {
        return classes.has(Classes::RULE);
    }
    let asks_about = |piece: &str| {
        let piece = piece.to_lowercase();
        is_question(&piece)
            && !ASKS_FOR.iter().any(|start| piece.starts_with(start) || piece.contains(&format!(", {start}")))
    };
    segment(text).iter().any(|piece| !asks_about(piece.text) && language::classes(piece.text).has(Classes::RULE))
}

/// Openings of questions that ask for something to be done.
const ASKS_FOR: [&str; 10] = [
    "can you", "could you", "would you", "will you", "please", "kannst du", "können sie", "peux-tu", "pouvez-vous",
    "puedes",
];
/// Words that lay down a rule or a preference, beside those of [`Classes::RULE`].
const DEMANDS: &str = "prefer prefers preferred preference preferences want wants owner owns owned reviews reviewer until convention \
    agreed policy embargo freeze \
    muss müssen darf dürfen soll höchstens mindestens niemals immer bevorzugt \
    doit doivent jamais toujours préfère préfèrent \
    debe deben nunca siempre prefiere \
    必须 必須 必ず 禁止 不要 只能 不得 最多 至少 截止 期限 上限 だけ 好み 希望";
/// Words of limits and states: they lay something down where they stand with a value.
const LIMITS: &str = "cap capped limit limits limited deadline due budget quota currently most least under maximum minimum max min \
    approves approval timezone codename region weekday style \
    frist grenze limite échéance límite plazo máximo mínimo";
/// Words that lay something down where a command begins with them.
const COMMANDS: &str = "only keep leave nur seulement solo sólo";
/// Words that may precede a command.
const BEFORE_COMMANDS: &str = "please but and or then also just so always bitte aber und mais et pero y";
/// Words with which something is decided.
const DECIDES: &str = "decided chose chosen picked settled agreed opted rejected dropped switched \
    entschieden verworfen gewählt décidé choisi rejeté decidido elegido descartado \
    决定 決定 採用 采用 选择 选定 改用 却下 方針";
/// Words with which something that was done is reported.
const DONE: &str = "fixed resolved implemented added changed created completed finished done updated removed renamed merged committed pushed \
    succeeded deployed migrated refactored installed verified green successfully \
    behoben erledigt fertig hinzugefügt erstellt corrigé terminé ajouté créé corregido terminado añadido creado \
    完成 修复 修正 追加 解决 完了 成功 通过";
/// Phrases of the same: what works may do so at times.
const DONE_PHRASES: [&str; 9] = [
    "[x]", "is complete", "✅ complete", "works since", "works now", "now works", "works correctly",
    "works as expected", "now working",
];
const PASSES: [&str; 4] = ["pass", "passed", "passes", "passing"];
/// The things that pass when all is well.
const CHECKED: [&str; 11] =
    ["test", "tests", "check", "checks", "suite", "build", "ci", "lint", "linter", "specs", "typescript"];
/// Words of what is left to do.
const OPEN: &str = "todo fixme remaining remains pending later tbd blocked outstanding unresolved awaiting \
    offen ausstehend nächster verbleibend restant prochaine pendiente próximo siguiente 待办 下一 接下 今後 残り 未完 残る";
/// Phrases of what comes next: "the next line" is none.
const NEXT: [&str; 9] =
    ["next step", "next up", "next:", "next i ", "next we ", "next, ", "what's next", "次のステップ", "次は"];
/// Words that turn what is said behind them into its opposite.
const NEGATIONS: [&str; 9] = ["not", "never", "cannot", "nicht", "nie", "kein", "ohne", "pas", "sin"];
/// Forms by which a Japanese sentence says that something was done: the words alone may name it, or ask for it.
const JAPANESE_PAST: [&str; 3] = ["した", "完了", "済"];

/// Words with which something that failed is reported.
const FAILURES: &str = "failed fails failing crashed crashes broke breaks broken panicked errored hangs corrupted \
    fehlgeschlagen gescheitert scheitert échoué échoue falló falla 失败 失敗";
/// Words of what may be, and was not.
const HYPOTHETICAL: &str = "if could would should may might unless whether else fast gracefully \
    wenn falls könnte würde pourrait podría";

/// The signs in the words of a statement.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself, and any may go with any")]
struct Marks {
    demands: bool,
    decides: bool,
    has_done: bool,
    /// It opens with what was done: `Fixed the failing test`.
    opens_with_deed: bool,
    /// It is about what would be.
    supposes: bool,
    is_open: bool,
    succeeds: bool,
    /// It reports a failure that there was.
    fails: bool,
    states: bool,
    /// It is a whole sentence that gives a value, and announces nothing.
    informs: bool,
    /// It is a question.
    asks: bool,
    /// It asks the person to do something.
    requests: bool,
    /// It stands for choice, and was not chosen.
    is_option: bool,
}

/// The lists of words that a text in lower case has one of, as bits.
fn lists_in(lower: &str) -> u16 {
    words(lower).fold(0, |found, word| found | lists_of(word))
}

/// The lists that have the word, or where no space parts words, any two characters of it.
fn lists_of(word: Word<'_>) -> u16 {
    static LISTED: LazyLock<HashMap<&'static str, u16>> = LazyLock::new(|| {
        let mut listed = HashMap::new();
        for (list, bit) in LISTS {
            list.split_whitespace().for_each(|word| *listed.entry(word).or_default() |= bit);
        }
        listed
    });
    let of = |word: &str| LISTED.get(word).copied().unwrap_or_default();
    let parts = if word.shape == Shape::Ideographs { pairs(word.text).fold(0, |all, pair| all | of(pair)) } else { 0 };
    parts | of(word.text)
}

/// Whether `text`, or a part of it behind a comma, begins with a word that makes it a command.
fn commands(lower: &str) -> bool {
    lower.split([',', ';', ':', '.']).any(|part| {
        let mut lists = words(part).map(lists_of).skip_while(|lists| lists & BEFORE_COMMAND != 0);
        lists.next().is_some_and(|lists| lists & COMMAND != 0)
    })
}

/// Whether the text gives a value: a number, a name, a path, an address, a code.
fn has_value(text: &str) -> bool {
    words(text).any(|word| match word.shape {
        Shape::Ideographs => false,
        Shape::Plain => {
            let is_name = word.at > 0 && word.text.starts_with(char::is_uppercase);
            is_name && word.text.contains(char::is_lowercase) || word.text.contains(|c: char| c.is_ascii_digit())
        }
        _ => true,
    })
}

/// The lists of words that `lower` has one of, apart from those behind a negation: "hasn't been merged".
fn lists_affirmed(lower: &str) -> u16 {
    let mut n_negated = 0u8;
    words(lower).fold(0, |found, word| {
        let is_negation = word.text.ends_with("n't") || NEGATIONS.contains(&word.text);
        n_negated = if is_negation { 3 } else { n_negated.saturating_sub(1) };
        if n_negated == 0 { found | lists_of(word) } else { found }
    })
}

/// Whether the statement holds only for the moment at which it was made: what comes next, a list with open boxes.
pub(super) fn is_of_moment(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.contains("[ ]") || NEXT.iter().any(|phrase| lower.contains(phrase))
}

/// `text` without what stands between `marks`, and what a link shows: such words are said of something else.
fn without_quoted(text: &str, mark: char) -> String {
    let unquoted = text.split(mark).step_by(2).collect::<Vec<_>>().join(" ");
    let Some((before, rest)) = unquoted.split_once('[') else { return unquoted };
    match rest.split_once("](") {
        Some((_, behind)) => format!("{before} {behind}"),
        None => unquoted,
    }
}

/// Whether tests or their kin pass, two words away at most: `passes` alone may be what a function does with a value.
fn passes_checks(lower: &str) -> bool {
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_beside =
        |pair: &[&str]| pair.iter().any(|word| PASSES.contains(word)) && pair.iter().any(|word| CHECKED.contains(word));
    words.windows(3).any(is_beside) || is_beside(&words) && words.len() < 3
}

const DEMAND: u16 = 1;
const DECISION: u16 = 2;
const DEED: u16 = 4;
const REMAINDER: u16 = 8;
const LIMIT: u16 = 16;
const COMMAND: u16 = 32;
const BEFORE_COMMAND: u16 = 64;
const FAILURE: u16 = 128;
const HYPOTHESIS: u16 = 256;
const LISTS: [(&str, u16); 9] = [
    (DEMANDS, DEMAND),
    (DECIDES, DECISION),
    (DONE, DEED),
    (OPEN, REMAINDER),
    (LIMITS, LIMIT),
    (COMMANDS, COMMAND),
    (BEFORE_COMMANDS, BEFORE_COMMAND),
    (FAILURES, FAILURE),
    (HYPOTHETICAL, HYPOTHESIS),
];

impl Marks {
    fn of(text: &str) -> Self {
        // Words in code spans are of the code.
        let lower = text.to_lowercase().split('`').step_by(2).collect::<Vec<_>>().join(" ");
        let lists = lists_in(&lower);
        let has = |list: u16| lists & list != 0;
        let any = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
        let affirmed = lists_affirmed(&without_quoted(&lower, '"'));
        let body = lower.trim_start_matches(|c: char| c.is_ascii_digit() || "-*+#. ".contains(c));
        // Words behind a check mark may be an advantage.
        let is_ticked = any(&["✅", "✓"]) && !body.starts_with(['✅', '✓']);
        let is_past = || !lower.contains(|c| ('\u{3040}'..='\u{309f}').contains(&c)) || any(&JAPANESE_PAST);
        let has_deed = affirmed & DEED != 0 && is_past() && !any(&[" still "]);
        let has_done = has_deed || is_ticked || passes_checks(&lower) || any(&DONE_PHRASES);
        let is_labelled =
            body.trim_start_matches(['*', '(']).split_once(')').is_some_and(|(label, _)| label.len() == 1);
        Self {
            demands: has(DEMAND)
                || has(LIMIT) && has_value(text)
                || has(COMMAND) && (has_value(text) || commands(&lower))
                || any(&["from now on", "no more than", "not more than", "ab jetzt", "désormais", "a partir de ahora"]),
            decides: has(DECISION)
                || any(&["decision: ", "decision is ", "will use", "we use ", "went with", "going with", "moved to "]),
            has_done,
            // Without spaces between words, the first is half a sentence.
            opens_with_deed: words(body)
                .next()
                .is_some_and(|word| word.shape != Shape::Ideographs && lists_of(word) & DEED != 0),
            informs: body.ends_with(['.', '。'])
                && !body.ends_with("..")
                && !["i ", "i'", "let ", "if ", "you "].iter().any(|start| body.starts_with(start))
                && has_value(text),
            supposes: body.starts_with("if ")
                || any(&[" would ", " could ", " might ", "れば", "たら", "場合", "できます", "ください"]),
            is_open: (has(REMAINDER)
                || is_of_moment(&lower)
                || any(&["still to do", "still need", "not yet", "has to be"]))
                && !any(&["✅", "[x]", "0 remaining", "no remaining", "nothing left"]),
            succeeds: has_done
                && any(&["pass", "fixed", "resolved", "works", "✅", "succe", "0 fail", "no error", "0 error"])
                || any(&[" 0 fail", "no failures", "without errors", "0 errors", "no errors"]),
            fails: !has(HYPOTHESIS)
                && !any(&["ではなく", "as expected", "no longer "])
                && (affirmed & FAILURE != 0
                    || reports_error(&without_quoted(text, '`')) && !any(&["❌", "exit code"])
                    || any(&["not work", "n't work", "got an error", "エラーが", "エラーで", "エラーにな"])),
            states: any(&[" currently ", " is now ", " now ", " are now "]),
            requests: any(&["ください", "please ", "let me know"]),
            asks: lower.trim_end().ends_with(['?', '？'])
                || any(&["wondering", "sounds like", "sound like", "not sure"]),
            is_option: is_labelled
                || [
                    "option", "approach ", "alternative", "choice ", "if you ", "would you", "pros", "cons", "**option",
                ]
                .iter()
                .any(|start| body.starts_with(start)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::classes;

    // K-05
    #[test]
    fn k_05_an_item_is_under_the_heading_that_its_outcome_earns() {
        let of = |text: &str, author| Section::of(text, classes(text), author);
        for (text, section) in [
            ("Tests passed: 43, 0 failures", Section::Done),
            ("Option 1: use Redis instead of a file.", Section::Also),
            ("We decided to use SQLite instead of Redis.", Section::Decided),
            ("Fixed the failing test in src/a.rs.", Section::Done),
            ("The build failed with exit code 2.", Section::Failed),
            // Of what may fail, or is about failures, nothing has failed.
            ("If the fetch fails, it falls back to a manual command.", Section::Also),
            ("Fails fast instead of silently corrupting", Section::Also),
            ("Error handling philosophy: log and continue", Section::Also),
            ("Added logging for chunking failures", Section::Done),
            ("2. Updated the tests to expect an error when the fetch fails", Section::Done),
            ("Returns `errors.New(\"failed to fetch\")` to its caller", Section::Also),
            ("If I reused it, it would replace what was created before.", Section::Also),
            ("The root cause is a stale cache.", Section::Found),
            ("TODO: write the docs", Section::Open),
            ("Next I have to move the parser.", Section::Open),
            ("All 32 tests pass and ruff is clean.", Section::Done),
            ("✅ **TypeScript passes**", Section::Done),
            ("- [x] Parser", Section::Done),
            ("Decision: keep the old reader.", Section::Decided),
            // Neither a test that is missing, nor an advantage, nor a chance is done.
            ("What's missing is a test of how `checkout` passes `commands` through", Section::Also),
            ("`_checkout_pr` passes `commands` when it is true", Section::Also),
            ("✅ Streaming", Section::Also),
            ("Simple enough to complete in ten steps", Section::Also),
            ("That gets passed to `reassemble`", Section::Also),
            ("Does the build still break?", Section::Also),
            ("It either works or it doesn't.", Section::Also),
            ("3. Decide what to try", Section::Also),
            ("[DNS resolution fails in the VM · Issue #14538](https://example.org/14538)", Section::Also),
            ("\"This looks weird\" vs. \"This is actually broken\"", Section::Also),
            // A thing that is asked for, may be, or is avoided is not there yet.
            ("修正点があれば指摘してください。", Section::Also),
            ("必要になったら後で追加できます。", Section::Also),
            ("エラーで止めるのではなく、常に動作する設計です。", Section::Also),
            ("出力スキーマ: 成功時は固有キー、エラー時は error フィールド", Section::Also),
            ("`slack-bot` only exists on its branch and hasn't been merged to master", Section::Also),
            ("**A) Start with scenarios** - \"Can an agent successfully complete one?\"", Section::Also),
            ("Partial success returns exit code 1", Section::Also),
            ("**Issue**: [#14538 - DNS resolution fails in the VM](https://example.org/14538)", Section::Also),
            ("4. Then the next hook has `go` on its PATH", Section::Also),
            ("The parser was created to break cycles, but `a.go` still has its own copy.", Section::Found),
            ("The fetch no longer fails in `src/a.rs`.", Section::Found),
            ("次のステップは設計です", Section::Open),
            ("テストの追加が完了しました。", Section::Done),
        ] {
            assert_eq!(of(text, Speaker::Model), section, "{text}");
        }
        for (text, section) in [
            ("Never push to main.", Section::Constraints),
            ("The cap is 500 rows.", Section::Constraints),
            ("I prefer tabs.", Section::Constraints),
            ("Nur im Testsystem ausrollen.", Section::Constraints),
            ("必ずテストを実行する", Section::Constraints),
            ("Please only edit the docs.", Section::Constraints),
            ("The deadline is 2031-02-03.", Section::Constraints),
            ("Do we want an agent for that?", Section::Asked),
            ("I'm wondering: the docs sound like only `export` lines are supported", Section::Asked),
            // A word of limits without a value lays nothing down.
            ("Retries back off with jitter, capped at thirty seconds.", Section::Asked),
            ("Writes go through a queue; the lock is only a backstop.", Section::Asked),
            ("Add a button to the page.", Section::Asked),
        ] {
            assert_eq!(of(text, Speaker::Person), section, "{text}");
        }
        assert_eq!(of("We decided to fail", Speaker::Tool), Section::Also);
        assert_eq!(of("Bash go test ./...: packages: 1 ok, 0 FAIL", Speaker::Tool), Section::Also);
        assert_eq!(of("error: it broke", Speaker::Tool), Section::Failed);
    }
}
