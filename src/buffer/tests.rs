//! The tests of seed 002 by their names, and what it leaves open, each on every backend.

use std::cell::RefCell;
use std::ops::ControlFlow;

use jiff::{SignedDuration, Timestamp};

use super::{
    BufferError, Change, Contents, Deleted, Due, Name, Pushed, Settled, Speaker, Spoken, contents, delete, delete_all,
    names, push, search, settle,
};
use crate::archive::suite::samples::on_each_backend;
use crate::archive::{Archive, ArchiveUrl, Kind, Query, RecordFilter, copy, open};
use crate::engine::{Engine, Extract, Scripted};
use crate::run::{FoldFailure, Folding, Terms, fold_at_once};
use crate::text::{Tokens, chars4};

use Speaker::{Assistant, System, User};

/// Why a settlement failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Buffer(#[from] BufferError),
    #[error(transparent)]
    Fold(#[from] FoldFailure),
}

fn name() -> Name {
    "talk".parse().unwrap()
}

fn now() -> Timestamp {
    "2026-03-02T09:00:00.123456789Z".parse().unwrap()
}

fn said(speaker: Speaker, text: &str) -> Spoken {
    Spoken { speaker, turn: None, time: None, text: text.to_owned() }
}

fn size(size: u32) -> Change {
    Change { size: Some(size), ..Change::default() }
}

fn put(archive: &mut dyn Archive, spoken: Vec<Spoken>, change: Change) -> Pushed {
    push(archive, &name(), spoken, change, now()).unwrap()
}

/// Pushes each of `texts` by itself, and has what is evicted summarised.
fn write(archive: &mut dyn Archive, texts: &[&str], change: Change) {
    for text in texts {
        put(archive, vec![said(User, text)], change);
        summarise(archive, &Extract).unwrap();
    }
}

fn summarise(archive: &mut dyn Archive, engine: &dyn Engine) -> Result<Settled, Failure> {
    settle(archive, &name(), now, |due| fold(due, engine))
}

fn fold(due: &Due, engine: &dyn Engine) -> Result<String, Failure> {
    let folding = Folding { engine, terms: &Terms::AT_ONCE, limit: due.limit, persona: "", prompt: None };
    let folded = fold_at_once(&due.chunks, &due.existing, &folding, |_| ControlFlow::Continue(()))?;
    Ok(folded.summaries.last().cloned().unwrap_or_default())
}

fn held(archive: &dyn Archive) -> Contents {
    contents(archive, &name()).unwrap()
}

fn texts(archive: &dyn Archive) -> Vec<String> {
    held(archive).utterances.into_iter().map(|utterance| utterance.text).collect()
}

fn last(archive: &dyn Archive, n: usize) -> Vec<String> {
    held(archive).last(n, None).into_iter().map(|utterance| utterance.text.clone()).collect()
}

fn found(archive: &dyn Archive, query: &str, speaker: Option<Speaker>) -> Vec<String> {
    let contents = held(archive);
    let found = search(&contents, &name(), query, speaker, 10).unwrap();
    found.into_iter().map(|utterance| utterance.text.clone()).collect()
}

fn numbers(archive: &dyn Archive) -> Vec<u64> {
    held(archive).utterances.iter().map(|utterance| utterance.sequence).collect()
}

/// What a search of the whole archive finds among utterances.
fn found_in_archive(archive: &mut dyn Archive, query: &str) -> Vec<String> {
    archive.index(&|_| None, &mut |_, _| ControlFlow::Continue(())).unwrap();
    let query = Query { text: query, kind: Some(Kind::Utterance), speaker: None, sessions: &[], limit: 10 };
    archive.search(&query, &|_| None).unwrap().into_iter().map(|hit| hit.document.text).collect()
}

// H-02
#[test]
fn test_7_1_the_buffer_keeps_the_last_utterances() {
    on_each_backend(|archive| {
        write(archive, &["1", "2", "3", "4", "5", "6", "7"], size(5));
        assert_eq!(last(archive, 5), ["3", "4", "5", "6", "7"]);
        assert_eq!(held(archive).state.n_held(), 5);
        assert_eq!(numbers(archive), [3, 4, 5, 6, 7]);
    });
}

// H-02
#[test]
fn test_7_2_the_oldest_are_evicted_first() {
    on_each_backend(|archive| {
        write(archive, &["A", "B", "C", "D", "E"], size(3));
        assert_eq!(last(archive, 3), ["C", "D", "E"]);
    });
}

// H-03
#[test]
fn test_7_3_utterances_have_their_places() {
    on_each_backend(|archive| {
        write(archive, &["1", "2", "3", "4", "5"], Change::default());
        let places = |archive: &dyn Archive| -> Vec<usize> {
            held(archive).utterances.iter().map(|utterance| utterance.utterance_index).collect()
        };
        assert_eq!(places(archive), [0, 1, 2, 3, 4]);
        let pushed = put(archive, vec![said(User, "6"), said(User, "7")], size(5));
        assert_eq!(places(archive), [0, 1, 2, 3, 4]);
        assert_eq!(numbers(archive), [3, 4, 5, 6, 7], "numbers stay");
        assert_eq!(pushed.held, held(archive).utterances[3..]);
        assert_eq!((pushed.numbers, pushed.evicted), (Some((6, 7)), vec![1, 2]));
    });
}

// H-03
#[test]
fn test_7_4_the_speaker_is_recorded() {
    on_each_backend(|archive| {
        for speaker in Speaker::ALL {
            put(archive, vec![said(speaker, "words")], Change::default());
        }
        let speakers: Vec<&str> = held(archive).utterances.iter().map(|it| it.speaker.name()).collect();
        assert_eq!(speakers, ["user", "assistant", "system"]);
    });
}

// H-03
#[test]
fn test_7_5_the_turn_is_recorded() {
    on_each_backend(|archive| {
        for turn in [1, 1, 2, 2, 3, 3] {
            put(archive, vec![Spoken { turn: Some(turn), ..said(User, "words") }], Change::default());
        }
        let turns = |archive: &dyn Archive| -> Vec<u64> {
            held(archive).utterances.iter().map(|utterance| utterance.turn_number).collect()
        };
        assert_eq!(turns(archive), [1, 1, 2, 2, 3, 3]);
        // Who names none goes on counting: a user opens a turn.
        delete_all(archive, &name()).unwrap();
        for speaker in [System, User, Assistant, Assistant, User, System] {
            put(archive, vec![said(speaker, "words")], Change::default());
        }
        assert_eq!(turns(archive), [1, 2, 2, 2, 3, 3]);
    });
}

// H-04
#[test]
fn test_7_6_what_is_evicted_is_summarised() {
    on_each_backend(|archive| {
        let texts = ["The port is 8443.", "Use the blue theme.", "three", "four", "five"];
        write(archive, &texts[..3], size(3));
        assert_eq!(held(archive).state.summary, "");
        write(archive, &texts[3..], size(3));
        let state = held(archive).state;
        assert!(state.summary.contains("8443") && state.summary.contains("blue theme"), "{}", state.summary);
        assert!(!state.summary.contains("three"), "{}", state.summary);
        assert_eq!((state.n_summarised, state.n_waiting()), (2, 0));
        // What was evicted is in the archive still, word for word.
        assert_eq!(found_in_archive(archive, "port"), ["The port is 8443."]);
    });
}

// H-04
#[test]
fn test_7_7_the_summary_keeps_to_its_limit() {
    on_each_backend(|archive| {
        let change = Change { summary_tokens: Some(Tokens(100)), ..size(2) };
        for n in 0..30 {
            let text = format!("Step {n} moved the file src/part_{n}.rs, and the test case_{n} failed with code {n}. ");
            write(archive, &[&text.repeat(3)], change);
            let tokens = held(archive).state.summary_tokens();
            assert!(tokens <= Tokens(100), "{tokens:?} after {n}");
        }
        let state = held(archive).state;
        assert_eq!(state.n_summarised, 28);
        assert!(!state.summary.is_empty());
        // A lower limit is kept to as well, without anything new to summarise.
        put(archive, Vec::new(), Change { summary_tokens: Some(Tokens(30)), ..Change::default() });
        let settled = summarise(archive, &Extract).unwrap();
        assert!(settled.state.summary_tokens() <= Tokens(30), "{:?}", settled.state.summary_tokens());
        assert_eq!(settled.n_folded, 0);
    });
}

// H-04: an engine that says more than it was asked for.
#[test]
fn h_04_a_long_reply_is_shortened() {
    on_each_backend(|archive| {
        let long = "A word and another one, so that there is something to read here. ".repeat(40);
        put(archive, vec![said(User, "a"), said(User, "b")], Change { summary_tokens: Some(Tokens(50)), ..size(1) });
        let settled = summarise(archive, &Scripted::new([Ok(long.as_str())])).unwrap();
        let tokens = settled.state.summary_tokens();
        assert!(tokens <= Tokens(50) && tokens > Tokens(0), "{tokens:?}");
    });
}

// H-04
#[test]
fn test_7_8_summaries_are_merged() {
    on_each_backend(|archive| {
        let texts = ["alpha is one", "beta is two", "gamma is three", "delta is four", "epsilon", "zeta"];
        write(archive, &texts, size(2));
        let state = held(archive).state;
        for word in ["alpha", "beta", "gamma", "delta"] {
            assert!(state.summary.contains(word), "{word}: {}", state.summary);
        }
        assert_eq!(state.n_summarised, 4);
    });
}

// H-04: each summary gets the one before, and what was evicted since.
#[test]
fn h_04_the_summary_so_far_is_folded_in() {
    on_each_backend(|archive| {
        let engine = Scripted::new([Ok("one"), Ok("one and two")]);
        for text in ["1", "2", "3"] {
            put(archive, vec![said(Assistant, text)], size(1));
            summarise(archive, &engine).unwrap();
        }
        let folds = engine.folds();
        let asked: Vec<(&str, &str, &str)> = folds
            .iter()
            .map(|fold| (fold.existing.as_str(), fold.messages[0].speaker.as_str(), fold.messages[0].text.as_str()))
            .collect();
        assert_eq!(asked, [("", "assistant", "1"), ("one", "assistant", "2")]);
        assert_eq!(held(archive).state.summary, "one and two");
    });
}

// H-04: what many utterances at once evict comes in chunks that an engine can take.
#[test]
fn h_04_many_evicted_ones_come_in_chunks() {
    on_each_backend(|archive| {
        let mut spoken: Vec<Spoken> = (1..=45).map(|n| said(User, &n.to_string())).collect();
        spoken.extend((0..3).map(|_| said(User, &"x".repeat(4 * 10_000))));
        spoken.push(said(User, "last"));
        let pushed = put(archive, spoken, size(1));
        assert_eq!((pushed.numbers, pushed.evicted.len(), pushed.held.len()), (Some((1, 49)), 48, 1));
        let chunks: RefCell<Vec<usize>> = RefCell::default();
        let settled = settle(archive, &name(), now, |due| {
            chunks.replace(due.chunks.iter().map(Vec::len).collect());
            Ok::<_, BufferError>("all".to_owned())
        });
        assert_eq!(settled.unwrap().n_folded, 48);
        assert_eq!(chunks.into_inner(), [20, 20, 6, 1, 1], "by their number, then by their tokens");
    });
}

// H-04: nothing is lost when the engine fails, and it is made up for the next time.
#[test]
fn h_04_what_an_engine_fails_on_waits() {
    on_each_backend(|archive| {
        let engine = Scripted::new([Err("no reply"), Err("no reply"), Ok("1, 2 and 3")]);
        for text in ["1", "2", "3", "4"] {
            put(archive, vec![said(User, text)], size(1));
            let settled = summarise(archive, &engine);
            assert_eq!(settled.is_err(), ["2", "3"].contains(&text), "{text}");
        }
        let state = held(archive).state;
        assert_eq!((state.summary.as_str(), state.n_summarised, state.n_waiting()), ("1, 2 and 3", 3, 0));
        let last = engine.folds().pop().unwrap();
        let said: Vec<&str> = last.messages.iter().map(|said| said.text.as_str()).collect();
        assert_eq!((last.existing.as_str(), said), ("", vec!["1", "2", "3"]));
        assert_eq!(engine.n_left(), 0);
    });
}

// H-05
#[test]
fn test_7_9_the_last_come_in_their_order() {
    on_each_backend(|archive| {
        write(archive, &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"], Change::default());
        assert_eq!(last(archive, 5), ["6", "7", "8", "9", "10"]);
        assert_eq!(last(archive, 50).len(), 10);
        assert_eq!(last(archive, 0), [""; 0]);
    });
}

// H-05: also where clocks say otherwise.
#[test]
fn test_7_10_reading_is_chronological() {
    on_each_backend(|archive| {
        for (text, hours) in [("first", 5), ("second", 3), ("third", 4)] {
            let time = now().checked_add(SignedDuration::from_hours(hours)).unwrap();
            put(archive, vec![Spoken { time: Some(time), ..said(User, text) }], Change::default());
        }
        put(archive, vec![said(User, "fourth"), said(Assistant, "fifth")], Change::default());
        assert_eq!(texts(archive), ["first", "second", "third", "fourth", "fifth"]);
    });
}

// H-05
#[test]
fn test_7_11_a_search_finds_what_was_said() {
    on_each_backend(|archive| {
        let texts = [
            "Shall we talk about the weather?",
            "The parser fails on empty input; the parser is src/parse.rs.",
            "Somewhere among many other words of a long sentence there stands a parser too.",
            "会議は3時です",
        ];
        write(archive, &texts, Change::default());
        assert_eq!(found(archive, "parser", None), [texts[1], texts[2]], "the best first");
        assert_eq!(found(archive, "SRC/PARSE", None), [texts[1]]);
        assert_eq!(found(archive, "会議", None), [texts[3]]);
        assert_eq!(found(archive, "absent", None), [""; 0]);
        assert_eq!(found(archive, "", None), [""; 0]);
        // What has left the buffer is no longer found in it.
        put(archive, Vec::new(), size(2));
        assert_eq!(found(archive, "parser", None), [texts[2]]);
        assert_eq!(found_in_archive(archive, "parser").len(), 2);
    });
}

// H-05
#[test]
fn test_7_12_all_reads_filter_by_speaker() {
    on_each_backend(|archive| {
        for (speaker, text) in
            [(User, "u1"), (Assistant, "a1"), (System, "s1"), (User, "u2 word"), (Assistant, "a2 word")]
        {
            put(archive, vec![said(speaker, text)], Change::default());
        }
        let contents = held(archive);
        let texts = |said: Vec<&super::Utterance>| -> Vec<String> { said.iter().map(|it| it.text.clone()).collect() };
        assert_eq!(texts(contents.read(Some(User))), ["u1", "u2 word"]);
        assert_eq!(texts(contents.last(1, Some(User))), ["u2 word"]);
        assert_eq!(texts(contents.read(Some(System))), ["s1"]);
        assert_eq!(found(archive, "word", Some(User)), ["u2 word"]);
        let places: Vec<usize> = contents.read(Some(User)).iter().map(|it| it.utterance_index).collect();
        assert_eq!(places, [0, 3], "places are those in the buffer");
    });
}

// H-08
#[test]
fn test_7_13_the_backend_in_memory_works() {
    let mut archive = open(&ArchiveUrl::Memory).unwrap();
    write(&mut *archive, &["1", "2", "3"], size(2));
    assert_eq!(texts(&*archive), ["2", "3"]);
    assert!(held(&*archive).state.summary.contains('1'));
}

// H-08: what one process leaves another one finds; `tests/it/buffer.rs` has it with processes.
#[test]
fn test_7_14_a_durable_backend_keeps_what_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let url = ArchiveUrl::Sqlite(folder.path().join("a.sqlite"));
    write(&mut *open(&url).unwrap(), &["1", "2", "3"], size(2));
    let mut archive = open(&url).unwrap();
    assert_eq!(texts(&*archive), ["2", "3"]);
    assert!(held(&*archive).state.summary.contains('1'));
    write(&mut *archive, &["4"], Change::default());
    assert_eq!(numbers(&*open(&url).unwrap()), [3, 4], "the size is remembered");
}

// H-08: from memory into every backend, and back.
#[test]
fn test_7_15_the_backend_is_switched_with_the_data() {
    on_each_backend(|to| {
        let mut from = open(&ArchiveUrl::Memory).unwrap();
        write(&mut *from, &["1", "2", "3"], size(2));
        copy(&*from, to, &mut |_, _| ControlFlow::Continue(())).unwrap();
        assert_eq!(held(to), held(&*from));
        write(to, &["4"], Change::default());
        assert_eq!(texts(to), ["3", "4"]);
        // The older state does not set the newer one back.
        copy(&*from, to, &mut |_, _| ControlFlow::Continue(())).unwrap();
        assert_eq!(texts(to), ["3", "4"]);
        copy(to, &mut *from, &mut |_, _| ControlFlow::Continue(())).unwrap();
        assert_eq!(held(&*from), held(to));
    });
}

// H-08: two buffers of one name that went on apart lose nothing when one is copied onto the other.
#[test]
fn h_08_a_copy_takes_no_utterance_away() {
    on_each_backend(|to| {
        let mut from = open(&ArchiveUrl::Memory).unwrap();
        write(&mut *from, &["from one", "from two"], Change::default());
        write(to, &["to one"], Change::default());
        copy(&*from, to, &mut |_, _| ControlFlow::Continue(())).unwrap();
        for text in ["from one", "from two", "to one"] {
            assert_eq!(found_in_archive(to, text).first().map(String::as_str), Some(text));
        }
        assert_eq!(held(to).utterances.len() as u64, held(to).state.n_held());
    });
}

// H-06
#[test]
fn test_7_16_the_token_budget_is_kept_to() {
    on_each_backend(|archive| {
        let change = Change { max_tokens: Some(Tokens(1000)), ..Change::default() };
        for n in 0..12 {
            write(archive, &[&format!("{n:03} ").repeat(300)], change);
            let state = held(archive).state;
            assert!(state.total_tokens() <= Tokens(1000), "{:?}", state.total_tokens());
            let counted: Tokens = texts(archive).iter().map(|text| chars4(text)).sum();
            assert_eq!(state.total_tokens(), counted, "the figure is what is there");
        }
        assert_eq!(numbers(archive), [10, 11, 12], "as many as fit");
    });
}

// H-06
#[test]
fn h_06_one_utterance_over_the_budget_stays() {
    on_each_backend(|archive| {
        let change = Change { max_tokens: Some(Tokens(100)), ..Change::default() };
        write(archive, &["small", &"long ".repeat(400)], change);
        let state = held(archive).state;
        assert_eq!((state.n_held(), state.total_tokens()), (1, Tokens(500)));
        write(archive, &["next"], Change::default());
        assert_eq!(texts(archive), ["next"]);
    });
}

// H-07, H-09
#[test]
fn test_7_17_an_empty_buffer_gives_empty_results() {
    on_each_backend(|archive| {
        assert_eq!(last(archive, 5), [""; 0]);
        assert_eq!(texts(archive), [""; 0]);
        assert_eq!(found(archive, "anything", None), [""; 0]);
        let state = held(archive).state;
        assert_eq!((state.summary.as_str(), state.summary_tokens()), ("", Tokens::ZERO));
        assert_eq!(state.total_tokens(), Tokens::ZERO);
        let settled = summarise(archive, &Scripted::new([])).unwrap();
        assert_eq!((settled.n_folded, settled.state), (0, state));
        assert_eq!(names(archive).unwrap(), []);
    });
}

// H-07
#[test]
fn test_7_18_a_single_utterance_works_and_can_be_deleted() {
    on_each_backend(|archive| {
        write(archive, &["only"], Change::default());
        assert_eq!(last(archive, 1), ["only"]);
        assert_eq!(texts(archive), ["only"]);
        let (place, state) = delete(archive, &name(), 1, now()).unwrap();
        assert_eq!((place, state.n_held()), (Deleted::Held, 0));
        assert_eq!(texts(archive), [""; 0]);
        assert_eq!(found_in_archive(archive, "only"), [""; 0], "it is gone for good");
        write(archive, &["next"], Change::default());
        assert_eq!(numbers(archive), [2], "no number is given twice");
    });
}

// H-01
#[test]
fn h_01_what_was_evicted_can_be_deleted_too() {
    on_each_backend(|archive| {
        write(archive, &["first", "second"], size(1));
        put(archive, vec![said(User, "third")], Change::default());
        assert_eq!(delete(archive, &name(), 2, now()).unwrap().0, Deleted::Waiting);
        assert_eq!(delete(archive, &name(), 1, now()).unwrap().0, Deleted::Summarised);
        for number in [0, 1, 2, 4] {
            let error = delete(archive, &name(), number, now()).unwrap_err();
            assert!(error.to_string().ends_with("it holds 3"), "{error}");
        }
        assert_eq!(summarise(archive, &Scripted::new([])).unwrap().n_folded, 0);
        assert_eq!(found_in_archive(archive, "first second"), [""; 0]);
        assert_eq!(texts(archive), ["third"]);
    });
}

// H-01
#[test]
fn h_01_a_deleted_buffer_leaves_nothing_and_no_other_one_changes() {
    on_each_backend(|archive| {
        let other: Name = "other".parse().unwrap();
        push(archive, &other, vec![said(User, "theirs")], size(7), now()).unwrap();
        write(archive, &["1", "2", "3"], size(1));
        assert_eq!(names(archive).unwrap(), [other.clone(), name()]);
        assert_eq!(delete_all(archive, &name()).unwrap(), 3);
        assert_eq!(held(archive), Contents::default());
        assert_eq!(names(archive).unwrap(), std::slice::from_ref(&other));
        assert_eq!(archive.records(&RecordFilter::default()).unwrap().len(), 2);
        let theirs = contents(archive, &other).unwrap();
        assert_eq!((theirs.utterances.len(), theirs.state.limits.size), (1, 7));
        assert_eq!(delete_all(archive, &name()).unwrap(), 0);
    });
}

// H-03
#[test]
fn test_7_19_large_utterances_come_back_byte_for_byte() {
    on_each_backend(|archive| {
        let odd = "\u{feff}\0 \r\n\ttail \u{1b}[31m e\u{301} \u{1f600}\u{200b} 会議\n\n".to_owned();
        let large = "Many words, and each of them counts: wörter 会議.\r\n".repeat(2_000);
        assert!(chars4(&large) > Tokens(10_000));
        for text in [large.as_str(), odd.as_str(), ""] {
            write(archive, &[text], Change { max_tokens: Some(Tokens(100_000)), ..Change::default() });
        }
        assert_eq!(texts(archive), [large, odd, String::new()]);
        let utterance = &held(archive).utterances[1];
        assert_eq!((utterance.time, utterance.sequence), (now(), 2));
    });
}

// H-01
#[test]
fn h_01_limits_are_remembered_until_they_are_set_anew() {
    on_each_backend(|archive| {
        write(archive, &["1", "2", "3"], size(2));
        write(archive, &["4"], Change { max_tokens: Some(Tokens(50)), ..Change::default() });
        let limits = held(archive).state.limits;
        assert_eq!((limits.size, limits.max_tokens, limits.summary_tokens), (2, Tokens(50), Tokens(1000)));
        write(archive, &["5"], size(3));
        assert_eq!(texts(archive), ["3", "4", "5"]);
        let pushed = put(archive, Vec::new(), size(0));
        assert_eq!((pushed.numbers, pushed.evicted), (None, vec![3, 4]), "the newest one always stays");
    });
}

// H-04: somebody else summarises the same utterances while this engine works.
#[test]
fn h_04_of_two_that_summarise_at_once_one_counts() {
    let folder = tempfile::tempdir().unwrap();
    let url = ArchiveUrl::Sqlite(folder.path().join("a.sqlite"));
    let mut ours = open(&url).unwrap();
    put(&mut *ours, vec![said(User, "1"), said(User, "2")], size(1));
    let settled = settle(&mut *ours, &name(), now, |due| {
        assert_eq!(due.chunks.len(), 1);
        let mut theirs = open(&url).unwrap();
        put(&mut *theirs, vec![said(User, "3")], Change::default());
        summarise(&mut *theirs, &Scripted::new([Ok("theirs")])).unwrap();
        Ok::<_, BufferError>("ours".to_owned())
    })
    .unwrap();
    assert_eq!((settled.n_folded, settled.state.summary.as_str(), settled.state.n_summarised), (0, "theirs", 2));
    assert_eq!(texts(&*ours), ["3"]);
}

// H-04: more is evicted while the engine works; that is folded behind it.
#[test]
fn h_04_what_is_evicted_meanwhile_is_folded_next() {
    let folder = tempfile::tempdir().unwrap();
    let url = ArchiveUrl::Sqlite(folder.path().join("a.sqlite"));
    let mut ours = open(&url).unwrap();
    put(&mut *ours, vec![said(User, "1"), said(User, "2")], size(1));
    let settled = settle(&mut *ours, &name(), now, |due| {
        let what = due.chunks.concat().iter().map(|said| said.text.as_str()).collect::<String>();
        if what == "1" {
            put(&mut *open(&url).unwrap(), vec![said(User, "3")], Change::default());
        }
        Ok::<_, BufferError>(format!("{}({what})", due.existing))
    })
    .unwrap();
    assert_eq!((settled.n_folded, settled.state.summary.as_str(), settled.state.n_summarised), (2, "(1)(2)", 2));
}

// H-03: two processes at once; here each has an archive of its own on one file.
#[test]
fn h_03_no_number_is_lost_or_doubled_by_pushes_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = ArchiveUrl::Sqlite(folder.path().join("a.sqlite"));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let url = &url;
            scope.spawn(move || {
                let mut archive = open(url).unwrap();
                for n in 0..10 {
                    put(&mut *archive, vec![said(User, &format!("{thread}-{n}"))], size(100));
                }
            });
        }
    });
    let archive = open(&url).unwrap();
    assert_eq!(numbers(&*archive), (1..=40).collect::<Vec<_>>());
    let mut all = texts(&*archive);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 40);
}

// H-03: a push that cannot be stored changes nothing.
#[test]
fn h_03_a_damaged_buffer_is_said_and_left_alone() {
    on_each_backend(|archive| {
        write(archive, &["1", "2"], Change::default());
        let utterance = held(archive).utterances[0].record(&name());
        archive.drop_record(Kind::Utterance, utterance.key).unwrap();
        archive.commit().unwrap();
        let error = contents(archive, &name()).unwrap_err().to_string();
        assert!(error.starts_with("read the buffer talk: utterance 1 is missing;"), "{error}");
        put(archive, Vec::new(), size(1));
        let error = summarise(archive, &Scripted::new([])).unwrap_err().to_string();
        assert!(error.contains("utterance 1 is missing"), "{error}");
        // It can be deleted, and then all is well.
        delete(archive, &name(), 1, now()).unwrap();
        summarise(archive, &Scripted::new([])).unwrap();
        assert_eq!(texts(archive), ["2"]);

        let mut state = archive.record(Kind::Summary, name().key()).unwrap().unwrap();
        state.meta = Some("{}".to_owned());
        archive.put_record(&state).unwrap();
        archive.commit().unwrap();
        let error = push(archive, &name(), vec![said(User, "3")], Change::default(), now()).unwrap_err();
        assert!(error.to_string().contains("its record makes no sense"), "{error}");
        assert_eq!(archive.record(Kind::Summary, name().key()).unwrap(), Some(state));
    });
}
