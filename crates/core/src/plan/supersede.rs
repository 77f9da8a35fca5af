//! Detection of tool calls that later ones supersede, and the rules for it (P-07, P-08).

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::str::FromStr;

use super::{Answer, Call, Horizon, LineRange, Repeat, Subject};
use ctxc_transcript::IdHash;

/// The reason why a call is superseded. A call is claimed by the first rule that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", try_from = "String")]
pub enum Rule {
    /// The same call was made again, or a newer read shows at least the same lines.
    Hash,
    /// The file was written or edited later.
    File,
    /// The list of tasks was written or read again.
    Todo,
    /// The same address was fetched again.
    Url,
    /// The call failed, and the same call succeeded later.
    Error,
}

impl Rule {
    /// All rules, in the order in which they claim calls.
    pub const ALL: [Self; 5] = [Self::Hash, Self::File, Self::Todo, Self::Url, Self::Error];
    /// The rules that apply unless others are named.
    pub const DEFAULT: [Self; 3] = [Self::Hash, Self::File, Self::Todo];

    /// The name of the rule.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::File => "file",
            Self::Todo => "todo",
            Self::Url => "url",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An unknown name of a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use the rule `{0}`: the rules are hash, file, todo, url and error")]
pub struct NotARule(pub String);

impl FromStr for Rule {
    type Err = NotARule;
    fn from_str(name: &str) -> Result<Self, NotARule> {
        Self::ALL.into_iter().find(|rule| rule.name() == name.trim()).ok_or_else(|| NotARule(name.trim().to_owned()))
    }
}

impl TryFrom<String> for Rule {
    /// A message for a person.
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse().map_err(|error: NotARule| format!("cannot {error}"))
    }
}

/// A superseded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superseded {
    /// The index of the call.
    pub call_idx: usize,
    /// The index of the newest call that supersedes it.
    pub by_idx: usize,
    /// The first rule that claims it.
    pub rule: Rule,
}

/// The superseded calls, in order. `calls` must be in the order of their steps.
///
/// Calls that failed, were denied, have no result or only point back supersede nothing. A call supersedes only calls of earlier
/// steps.
#[must_use]
pub fn supersede(calls: &[Call], rules: &[Rule], horizon: Horizon) -> Vec<Superseded> {
    let mut newer = Newer::default();
    let mut superseded = Vec::new();
    let mut end = calls.len();
    for step in calls.chunk_by(|a, b| a.step == b.step).rev() {
        let start = end - step.len();
        for (call_idx, call) in (start..end).zip(step).rev().filter(|(_, call)| horizon.opens(call)) {
            let claim = |&rule: &Rule| newer.by(rule, call).filter(|_| rules.contains(&rule)).map(|by| (rule, by));
            if let Some((rule, by_idx)) = Rule::ALL.iter().find_map(claim) {
                superseded.push(Superseded { call_idx, by_idx, rule });
            }
        }
        for (call_idx, call) in (start..end).zip(step).rev().filter(|(_, call)| call.is_good()) {
            newer.add(call_idx, call);
        }
        end = start;
    }
    superseded.reverse();
    superseded
}

/// The newest good calls of later steps, by the calls that they supersede.
#[derive(Default)]
struct Newer {
    by_params: HashMap<u64, usize>,
    by_output: HashMap<(u64, u64), usize>,
    reads: HashMap<IdHash, Reads>,
    /// Calls that write, fetch, or use a task list.
    by_subject: HashMap<Subject, usize>,
}

impl Newer {
    /// The index of the newest call that supersedes `call` by `rule`.
    fn by(&self, rule: Rule, call: &Call) -> Option<usize> {
        match (rule, call.subject) {
            (Rule::Hash, Subject::Read(path, lines)) => {
                let wider = self.reads.get(&path).and_then(|reads| reads.around(lines?));
                self.equal(call).max(wider)
            }
            (Rule::Hash, _) => self.equal(call),
            // An edit that was refused or failed changed nothing, and its reason must be kept (K-01).
            (Rule::File, Subject::Write(_)) if !call.is_good() => None,
            (Rule::File, Subject::Read(path, _) | Subject::Write(path)) => {
                self.by_subject.get(&Subject::Write(path)).copied()
            }
            (Rule::Todo, Subject::TodoWrite(_) | Subject::TodoRead(_)) | (Rule::Url, Subject::Fetch(_)) => {
                self.by_subject.get(&call.subject).copied()
            }
            (Rule::Error, _) if call.answer == Answer::Failed => self.by_params.get(&call.params).copied(),
            (Rule::File | Rule::Todo | Rule::Url | Rule::Error, _) => None,
        }
    }

    fn equal(&self, call: &Call) -> Option<usize> {
        match call.repeat {
            Repeat::Same => self.by_params.get(&call.params).copied(),
            Repeat::Another => self.by_output.get(&(call.params, call.output)).copied(),
        }
    }

    /// Adds a good call, unless a newer one already supersedes the same calls.
    fn add(&mut self, call_idx: usize, call: &Call) {
        self.by_params.entry(call.params).or_insert(call_idx);
        if call.repeat == Repeat::Another {
            self.by_output.entry((call.params, call.output)).or_insert(call_idx);
        }
        match call.subject {
            Subject::Read(path, Some(lines)) => self.reads.entry(path).or_default().add(lines, call_idx),
            Subject::Read(_, None) | Subject::Other => {}
            subject => {
                self.by_subject.entry(subject).or_insert(call_idx);
            }
        }
    }
}

/// Reads of one file by first line. No read contains another, so the ends ascend with the starts.
#[derive(Default)]
struct Reads(BTreeMap<u32, (u32, usize)>);

impl Reads {
    /// The index of a read that contains all of `lines`.
    fn around(&self, lines: LineRange) -> Option<usize> {
        let (&start, &(end, call_idx)) = self.0.range(..=lines.start).next_back()?;
        lines.are_in(LineRange { start, end }).then_some(call_idx)
    }

    /// Adds a read that is older than all others, unless one of them contains it.
    fn add(&mut self, lines: LineRange, call_idx: usize) {
        if self.around(lines).is_some() {
            return;
        }
        let inside: Vec<u32> = self
            .0
            .range(lines.start..)
            .take_while(|(_, (end, _))| *end <= lines.end)
            .map(|(start, _)| *start)
            .collect();
        for start in inside {
            self.0.remove(&start);
        }
        self.0.insert(lines.start, (lines.end, call_idx));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Access, Place, TodoKind};
    use ctxc_transcript::LineNo;
    use ctxc_transcript::text::Tokens;
    use proptest::prelude::*;

    const OPEN: Horizon = Horizon::new(u32::MAX, 0, 0, 0);

    fn call(step: u32, params: u64, subject: Subject) -> Call {
        let place = |block| Place { line: LineNo(step), block };
        Call {
            call: place(0),
            result: Some(place(1)),
            step,
            turn: Some(step / 3),
            params,
            output: params,
            subject,
            repeat: Repeat::Same,
            answer: Answer::Good,
            access: Access::Open,
            tokens: Tokens(100),
        }
    }

    fn read(step: u32, path: u64, start: u32, end: u32) -> Call {
        let params = path << 40 | u64::from(start) << 20 | u64::from(end.min(99_999));
        call(step, params, Subject::Read(IdHash(path), Some(LineRange { start, end })))
    }

    fn write(step: u32, path: u64) -> Call {
        call(step, 1 << 60 | u64::from(step), Subject::Write(IdHash(path)))
    }

    fn bash(step: u32, command: u64, output: u64) -> Call {
        Call { repeat: Repeat::Another, output, ..call(step, command, Subject::Other) }
    }

    /// The superseded calls, as `call<-by rule`.
    fn found(calls: &[Call]) -> Vec<String> {
        let superseded = supersede(calls, &Rule::ALL, OPEN);
        superseded.iter().map(|it| format!("{}<-{} {}", it.call_idx, it.by_idx, it.rule)).collect()
    }

    // P-07
    #[test]
    fn p_07_each_rule_claims_what_is_its_own() {
        let todo = |step, kind| call(step, step.into(), Subject::TodoWrite(kind));
        let list = |step, kind| call(step, 7, Subject::TodoRead(kind));
        let fetch = |step, params, url| call(step, params, Subject::Fetch(IdHash(url)));
        let failed = |call: Call| Call { answer: Answer::Failed, ..call };
        let cases: [(&str, Vec<Call>, &[&str]); 12] = [
            ("the same read twice", vec![read(0, 1, 1, 9), read(1, 1, 1, 9)], &["0<-1 hash"]),
            ("three times", vec![read(0, 1, 1, 9), read(1, 1, 1, 9), read(2, 1, 1, 9)], &["0<-2 hash", "1<-2 hash"]),
            ("lines inside newer ones", vec![read(0, 1, 5, 9), read(1, 1, 1, 99)], &["0<-1 hash"]),
            ("lines beyond newer ones", vec![read(0, 1, 5, 9), read(1, 1, 1, 8), read(2, 1, 6, 99)], &[]),
            ("all lines", vec![read(0, 1, 5, 9), read(1, 1, 1, u32::MAX)], &["0<-1 hash"]),
            ("all lines and then some", vec![read(0, 1, 1, u32::MAX), read(1, 1, 5, 9)], &[]),
            ("an edit", vec![read(0, 1, 1, 9), write(1, 2), write(2, 1)], &["0<-2 file"]),
            ("read, read, edit", vec![read(0, 1, 1, 9), read(1, 1, 1, 9), write(2, 1)], &["0<-1 hash", "1<-2 file"]),
            ("lists", vec![todo(0, TodoKind::Todo), todo(1, TodoKind::Task), todo(2, TodoKind::Todo)], &["0<-2 todo"]),
            ("looks at lists", vec![list(0, TodoKind::Task), list(1, TodoKind::Task)], &["0<-1 hash"]),
            ("addresses", vec![fetch(0, 1, 5), fetch(1, 2, 5), fetch(2, 3, 6)], &["0<-1 url"]),
            (
                "commands",
                vec![bash(0, 1, 1), bash(1, 1, 2), failed(bash(2, 1, 3)), bash(3, 1, 1)],
                &["0<-3 hash", "2<-3 error"],
            ),
        ];
        for (name, calls, expected) in cases {
            assert_eq!(found(&calls), expected, "{name}");
        }
    }

    // P-08
    #[test]
    fn p_08_what_has_no_answer_of_its_own_supersedes_nothing() {
        for answer in [Answer::Failed, Answer::Missing, Answer::PointsBack] {
            assert!(found(&[read(0, 1, 1, 9), Call { answer, ..read(1, 1, 1, 9) }]).is_empty());
            assert!(found(&[read(0, 1, 1, 9), Call { answer, ..write(1, 1) }]).is_empty());
        }
        assert!(found(&[read(3, 1, 1, 9), write(3, 1), read(3, 1, 1, 9)]).is_empty(), "one step");
        let no_result = Call { result: None, ..read(0, 1, 1, 9) };
        assert!(found(&[no_result, read(1, 1, 1, 9)]).is_empty(), "nothing to cut");
    }

    // K-01
    #[test]
    fn k_01_an_edit_that_failed_is_not_superseded_by_the_file_rule() {
        for answer in [Answer::Failed, Answer::Missing, Answer::PointsBack] {
            assert!(found(&[Call { answer, ..write(0, 1) }, write(1, 1)]).is_empty());
        }
        assert_eq!(found(&[write(0, 1), write(1, 1)]), ["0<-1 file"]);
    }

    // P-08, P-09
    #[test]
    fn p_09_what_is_protected_supersedes_all_the_same() {
        let protected = Call { access: Access::Protected, ..read(0, 1, 1, 9) };
        assert!(found(&[protected, read(1, 1, 1, 9)]).is_empty());
        assert_eq!(found(&[read(0, 1, 1, 9), Call { step: 1, ..protected }]), ["0<-1 hash"]);
        let calls = [read(0, 1, 1, 9), read(1, 1, 1, 9), read(2, 1, 1, 9)];
        assert_eq!(supersede(&calls, &Rule::ALL, Horizon::new(3, 2, 1, 0)).len(), 1);
        assert_eq!(supersede(&calls, &[Rule::File], OPEN), []);
    }

    #[test]
    fn rules_are_known_by_name() {
        assert!(Rule::ALL.into_iter().all(|rule| rule.name().parse() == Ok(rule)));
        assert_eq!("hsah".parse::<Rule>(), Err(NotARule("hsah".to_owned())));
    }

    fn any_call() -> impl Strategy<Value = Call> {
        let subject = prop_oneof![
            (0..3u64, 1..6u32, 1..6u32).prop_map(|(path, start, n)| read(0, path, start, start + n)),
            (0..3u64).prop_map(|path| write(0, path)),
            (0..3u64, 0..2u64).prop_map(|(command, output)| bash(0, command, output)),
            Just(call(0, 50, Subject::TodoWrite(TodoKind::Todo))),
            (0..2u64).prop_map(|url| call(0, 60 + url, Subject::Fetch(IdHash(url)))),
        ];
        let answer = prop_oneof![4 => Just(Answer::Good), 1 => Just(Answer::Failed), 1 => Just(Answer::PointsBack)];
        let access = prop_oneof![5 => Just(Access::Open), 1 => Just(Access::Protected), 1 => Just(Access::Cut)];
        (subject, answer, access).prop_map(|(call, answer, access)| Call { answer, access, ..call })
    }

    /// Whether `by` shows, as far as a rule is concerned, what `call` did, by looking at these two alone.
    fn claims(rule: Rule, call: &Call, by: &Call) -> bool {
        let is_equal = call.params == by.params;
        match (rule, call.subject, by.subject) {
            (Rule::Hash, Subject::Read(path, Some(lines)), Subject::Read(other, Some(others))) if path == other => {
                is_equal || lines.are_in(others)
            }
            (Rule::Hash, _, _) => is_equal && (call.repeat == Repeat::Same || call.output == by.output),
            (Rule::File, Subject::Read(path, _), Subject::Write(other)) => path == other,
            (Rule::File, Subject::Write(path), Subject::Write(other)) => path == other && call.is_good(),
            (Rule::Todo, Subject::TodoWrite(kind), Subject::TodoWrite(other)) => kind == other,
            (Rule::Url, Subject::Fetch(url), Subject::Fetch(other)) => url == other,
            (Rule::Error, _, _) => call.answer == Answer::Failed && is_equal,
            _ => false,
        }
    }

    proptest! {
        // P-07, P-08: the rules as they read, tried on every pair of calls.
        #[test]
        fn p_08_what_is_superseded_is_what_the_rules_say(
            calls in prop::collection::vec((any_call(), 0..2u32), 0..24),
            n_protected in 0..6u32,
            rules in prop::sample::subsequence(Rule::ALL.to_vec(), 0..=5),
        ) {
            let mut step = 0;
            let calls: Vec<Call> = calls.into_iter().map(|(call, gap)| { step += gap; Call { step, ..call } }).collect();
            let horizon = Horizon::new(step + 1, n_protected, 0, 0);
            let superseded = supersede(&calls, &rules, horizon);
            for (call_idx, call) in calls.iter().enumerate() {
                let may_go = call.access == Access::Open && call.step + n_protected < step + 1;
                let newer = |rule| calls.iter().position(|by| by.step > call.step && by.is_good() && claims(rule, call, by));
                let expected = rules.iter().find(|rule| newer(**rule).is_some()).filter(|_| may_go);
                let found = superseded.iter().find(|it| it.call_idx == call_idx);
                prop_assert_eq!(found.map(|it| it.rule), expected.copied());
                if let Some(found) = found {
                    let by = &calls[found.by_idx];
                    prop_assert!(by.step > call.step && by.is_good() && claims(found.rule, call, by));
                }
            }
        }
    }
}
