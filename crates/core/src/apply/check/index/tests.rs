use super::*;
use crate::apply::check::problem::{Severity, new_problems};
use crate::apply::samples::{assistant, calls, results, text, user};
use ctxc_transcript::LineNo;
use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

/// Lines, and the problems that they have.
type Case<'a> = (Vec<String>, &'a [(u32, ProblemKind)]);

/// Line number and kind of each problem.
fn found(index: &Index) -> Vec<(u32, ProblemKind)> {
    let problems = check(index, &Chain::find(index));
    problems.iter().map(|problem| (problem.line.number(), problem.kind)).collect()
}

fn expect(lines: &[String], problems: &[(u32, ProblemKind)]) {
    let file = lines.join("\n");
    let index = Index::build(std::io::Cursor::new(file.as_bytes())).unwrap();
    assert_eq!(found(&index), problems, "\n{file}");
}

// V-01
#[test]
fn a_sound_transcript_has_no_problems() {
    expect(
        &[
            user("u1", "", "\"Fix it\""),
            assistant("a1", "u1", "m1", &text("Yes")),
            assistant("a2", "a1", "m1", &calls(&["t1"])),
            assistant("a3", "a2", "m1", &calls(&["t2"])),
            user("r1", "a2", &results(&["t1"])),
            user("r2", "a3", &results(&["t2"])),
            assistant("a4", "r2", "m2", &text("Done")),
        ],
        &[],
    );
}

// V-01: pairing.
#[test]
fn calls_and_results_are_paired() {
    let start = || user("u1", "", "\"Fix it\"");
    let end = |parent: &str| assistant("z", parent, "end", &text("Done"));
    let cases: Vec<Case<'_>> = vec![
        (
            vec![start(), assistant("a", "u1", "m1", &calls(&["t1"])), user("u2", "a", "\"Go on\""), end("u2")],
            &[(2, ProblemKind::CallWithoutResult)],
        ),
        (vec![start(), assistant("a", "u1", "m1", &calls(&["t1"]))], &[(2, ProblemKind::InterruptedCall)]),
        (
            // One of two parallel calls came back before the end.
            vec![start(), assistant("a", "u1", "m1", &calls(&["t1", "t2"])), user("r", "a", &results(&["t2"]))],
            &[(2, ProblemKind::InterruptedCall)],
        ),
        (vec![start(), user("r", "u1", &results(&["t1"])), end("r")], &[(2, ProblemKind::ResultWithoutCall)]),
        (
            vec![
                start(),
                assistant("a", "u1", "m1", &calls(&["t1"])),
                user("u2", "a", "\"Wait\""),
                assistant("b", "u2", "m2", &text("Yes")),
                user("r", "b", &results(&["t1"])),
                end("r"),
            ],
            &[(5, ProblemKind::MisplacedResult)],
        ),
        (
            // The lines of one message around a result are one message all the same.
            vec![
                start(),
                assistant("a", "u1", "m1", &calls(&["t1"])),
                user("r1", "a", &results(&["t1"])),
                assistant("b", "r1", "m1", &calls(&["t2"])),
                user("r2", "b", &results(&["t2"])),
                end("r2"),
            ],
            &[],
        ),
        (
            // For the API so are two messages with nothing between them; the client sends only the results of the second.
            vec![
                start(),
                assistant("a", "u1", "m1", &calls(&["t1"])),
                assistant("b", "a", "m2", &calls(&["t2"])),
                user("r2", "b", &results(&["t2"])),
                user("r1", "r2", &results(&["t1"])),
                end("r1"),
            ],
            &[(5, ProblemKind::SeparatedResult)],
        ),
        (
            vec![
                start(),
                assistant("a", "u1", "m1", &calls(&["t1"])),
                user("r1", "a", &results(&["t1"])),
                user("r2", "r1", &results(&["t1"])),
                end("r2"),
            ],
            &[(4, ProblemKind::DuplicateResult)],
        ),
        (
            vec![
                start(),
                assistant("a", "u1", "m1", &calls(&["t1", "t1"])),
                user("r1", "a", &results(&["t1"])),
                end("r1"),
            ],
            &[(2, ProblemKind::DuplicateCall)],
        ),
    ];
    for (lines, problems) in cases {
        expect(&lines, problems);
    }
}

// V-01: dangling and cyclic parents, first role.
#[test]
fn the_chain_starts_soundly() {
    let answer = |uuid: &str, parent: &str| assistant(uuid, parent, uuid, &text("Yes"));
    let cases: Vec<Case<'_>> = vec![
        (vec![user("u1", "gone", "\"Fix it\"")], &[(1, ProblemKind::DanglingHead)]),
        (vec![answer("a", "")], &[(1, ProblemKind::AssistantFirst)]),
        (
            vec![user("u1", "", "\"Fix it\"").replace("T09:", "T08:"), answer("a", "gone")],
            &[(2, ProblemKind::DanglingParent), (2, ProblemKind::AssistantAfterCut)],
        ),
        // L-02
        (vec![user("u1", "", "\"Fix it\""), answer("a", "gone")], &[(2, ProblemKind::HealedParent)]),
        (vec![user("u1", "", "\"Fix it\""), answer("a", "a")], &[(2, ProblemKind::HealedCycle)]),
        (vec![user("u1", "a", "\"Fix it\""), answer("a", "u1")], &[(1, ProblemKind::Cycle)]),
        // A dead branch may dangle.
        (vec![user("u1", "gone", "\"No\""), user("u2", "", "\"Fix it\""), answer("a", "u2")], &[]),
        (vec![], &[(1, ProblemKind::NoMessages)]),
    ];
    for (lines, problems) in cases {
        expect(&lines, problems);
    }
}

// V-01: content, ids, torn lines.
#[test]
fn each_entry_is_sound() {
    let one = |content: &str| vec![user("u1", "", content)];
    let cases: Vec<Case<'_>> = vec![
        (one("\" \\n\""), &[(1, ProblemKind::BlankPrompt)]),
        (one("[]"), &[(1, ProblemKind::BlankPrompt)]),
        (one("7"), &[(1, ProblemKind::BadContent)]),
        (one(r#"["x"]"#), &[(1, ProblemKind::BadContent)]),
        (one(r#"[{"type":"hologram"}]"#), &[(1, ProblemKind::UnknownBlock)]),
        (vec![user("u1", "", "\"Hi\""), assistant("a", "u1", "m1", &text("\\n\\n"))], &[(2, ProblemKind::BlankText)]),
        (
            vec![user("u1", "", "\"Hi\"").replace(r#""role":"user""#, r#""role":"assistant""#)],
            &[(1, ProblemKind::WrongRole)],
        ),
        (vec![user("u1", "", "\"Hi\"").replace("timestamp", "time")], &[(1, ProblemKind::NoTimestamp)]),
        (vec![user("u1", "", "\"Hi\""), user("u2", "u1", "\"Ho\"").replace("uuid", "id")], &[(2, ProblemKind::NoUuid)]),
        (vec![user("u1", "", "\"Hi\""), user("u1", "", "\"Ho\"")], &[(1, ProblemKind::DuplicateUuid)]),
        (
            vec!["{\"a\":".to_owned(), user("u1", "", "\"Hi\""), "{\"parentUuid\":\"u1\",\"ty".to_owned()],
            &[(1, ProblemKind::MalformedLine), (3, ProblemKind::TornLine)],
        ),
        (
            vec![
                r#"{"type":"summary","summary":"Fix","leafUuid":"gone"}"#.to_owned(),
                user("u1", "", "\"Hi\""),
                r#"{"type":"last-prompt","leafUuid":"u1"}"#.to_owned(),
            ],
            &[(1, ProblemKind::LostTarget)],
        ),
    ];
    for (lines, problems) in cases {
        expect(&lines, problems);
    }
}

// T-04: where the newest timestamp disagrees, that is reported.
#[test]
fn a_newer_message_off_the_chain_is_named() {
    let newer = user("u2", "u1", "\"Wait\"").replace("09:00", "10:00");
    let lines = [user("u1", "", "\"Hi\""), newer, assistant("a", "u1", "m1", &text("Yes"))];
    expect(&lines, &[(2, ProblemKind::NewestElsewhere)]);
}

// V-02: what an edit has removed is gone, and nothing may hang on it.
#[test]
fn dropped_entries_are_not_there() {
    let lines = [
        user("u1", "", "\"Hi\""),
        assistant("a", "u1", "m1", &calls(&["t1"])),
        user("r", "a", &results(&["t1"])),
        r#"{"type":"summary","summary":"Fix","leafUuid":"a"}"#.to_owned(),
        assistant("z", "r", "m2", &text("Done")),
    ];
    let mut index = Index::build(std::io::Cursor::new(lines.join("\n").as_bytes())).unwrap();
    index.record_mut(LineNo(1)).flags.set(Flags::DROPPED);
    assert_eq!(
        found(&index),
        [(3, ProblemKind::ResultWithoutCall), (3, ProblemKind::DanglingParent), (4, ProblemKind::LostTarget),]
    );
}

#[test]
fn severities_follow_the_place() {
    assert_eq!(ProblemKind::DanglingHead.severity(), Severity::Warning);
    assert_eq!(ProblemKind::DanglingParent.severity(), Severity::Error);
}

fn any_line() -> impl Strategy<Value = String> {
    let id = || prop::sample::select(vec!["", "a", "b", "c", "d", "e"]);
    let tool = || prop::sample::select(vec!["", "t1", "t2", "t3"]);
    prop_oneof![
        (id(), id(), tool()).prop_map(|(uuid, parent, text)| user(uuid, parent, &format!("\"{text}\""))),
        (id(), id(), tool(), tool()).prop_map(|(uuid, parent, one, two)| user(uuid, parent, &results(&[one, two]))),
        (id(), id(), tool(), tool())
            .prop_map(|(uuid, parent, message, one)| { assistant(uuid, parent, message, &calls(&[one])) }),
        (id(), id(), tool()).prop_map(|(uuid, parent, words)| assistant(uuid, parent, words, &text(words))),
        id().prop_map(|leaf| format!(r#"{{"type":"last-prompt","leafUuid":"{leaf}"}}"#)),
        Just("{\"uuid\":".to_owned()),
        Just(String::new()),
    ]
}

proptest! {
    // U-03, V-02: whatever the lines and whichever of them are dropped, and nothing is new beside itself.
    #[test]
    fn any_transcript_can_be_checked(
        lines in prop::collection::vec(any_line(), 0..12),
        dropped in prop::collection::vec(any::<bool>(), 12),
    ) {
        let mut index = Index::build(std::io::Cursor::new(lines.join("\n").as_bytes())).unwrap();
        let problems = check(&index, &Chain::find(&index));
        prop_assert!(problems.is_sorted_by_key(|problem| problem.line));
        prop_assert!(problems.iter().all(|problem| problem.line.0 < index.n_lines().max(1)));
        prop_assert_eq!(new_problems(&problems, problems.clone()), []);
        for (line, _) in index.lines().zip(dropped).filter(|(_, is_dropped)| *is_dropped) {
            index.record_mut(line).flags.set(Flags::DROPPED);
        }
        let left = check(&index, &Chain::find(&index));
        prop_assert!(left.iter().all(|problem| problem.line == LineNo(0) || !index.is_dropped(problem.line)));
    }
}
