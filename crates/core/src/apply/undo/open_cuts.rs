//! What is cut in a transcript: every cut of its lineage that no later operation has taken back (P-05).

use std::collections::{HashMap, HashSet};

use ctxc_store::{Cut, Operation};
use ctxc_transcript::text::Tokens;

/// An item that is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCut {
    /// The uuid of the entry.
    pub uuid: String,
    /// The id of the tool call whose result or input it is; `None` for the text of the message.
    pub call: Option<String>,
    /// What people call it: the handle, or the start of the text.
    pub name: String,
    /// The rule or verb that cut it last.
    pub rule: String,
    /// The operation that cut it first: what it took out is what the item was.
    pub first: String,
    /// The operation that removed it last.
    pub last: String,
    /// What it was before it was cut first, in `chars4` tokens.
    pub before: Tokens,
    /// What stands there since, in `chars4` tokens.
    pub after: Tokens,
}

/// The cuts of `lineage`, whose newest operation comes first, that are still open; the first that was made comes first.
#[must_use]
pub fn open_cuts(lineage: &[Operation]) -> Vec<OpenCut> {
    let mut open: Vec<Option<OpenCut>> = Vec::new();
    let mut places: HashMap<(&str, Option<&str>), usize> = HashMap::new();
    for operation in lineage.iter().rev() {
        for cut in &operation.cuts {
            let key = (cut.uuid.as_str(), cut.call.as_deref());
            let known = places.get(&key).and_then(|at| open.get_mut(*at));
            match (known, cut.rule.as_str()) {
                (Some(place), Cut::RESTORE) => {
                    *place = None;
                    places.remove(&key);
                }
                // What is given back was never cut: it may have been by something that the lineage does not have.
                (None, Cut::RESTORE) => {}
                (Some(Some(before)), rule) => {
                    rule.clone_into(&mut before.rule);
                    operation.id.clone_into(&mut before.last);
                    before.after = cut.after;
                }
                (Some(None) | None, _) => {
                    places.insert(key, open.len());
                    open.push(Some(first_cut(cut, operation)));
                }
            }
        }
    }
    open.into_iter().flatten().collect()
}

/// What is noted of the way from a transcript in which `now` is cut to one in which `then` is: what is given back, and
/// what is cut again.
#[must_use]
pub fn turned(now: &[OpenCut], then: &[OpenCut]) -> Vec<Cut> {
    fn key(cut: &OpenCut) -> (&str, Option<&str>) {
        (&cut.uuid, cut.call.as_deref())
    }
    let noted = |cut: &OpenCut, rule: &str, before, after| Cut {
        uuid: cut.uuid.clone(),
        call: cut.call.clone(),
        name: cut.name.clone(),
        rule: rule.to_owned(),
        before,
        after,
    };
    let are_open: HashMap<_, _> = now.iter().map(|cut| (key(cut), cut)).collect();
    let will_be_open: HashSet<_> = then.iter().map(key).collect();
    let closed = now.iter().filter(|cut| !will_be_open.contains(&key(cut)));
    let closed = closed.map(|cut| noted(cut, Cut::RESTORE, cut.after, cut.before));
    let opened = then.iter().filter(|cut| !are_open.contains_key(&key(cut)));
    let opened = opened.map(|cut| noted(cut, &cut.rule, cut.before, cut.after));
    // What was cut twice is as the first of both left it.
    let again = then.iter().filter_map(|cut| {
        let other = are_open.get(&key(cut)).filter(|other| other.last != cut.last)?;
        Some(noted(cut, &cut.rule, other.after, cut.after))
    });
    closed.chain(opened).chain(again).collect()
}

fn first_cut(cut: &Cut, operation: &Operation) -> OpenCut {
    let Cut { uuid, call, name, rule, before, after } = cut.clone();
    OpenCut { uuid, call, name, rule, first: operation.id.clone(), last: operation.id.clone(), before, after }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctxc_store::FileRef;
    use ctxc_transcript::text::Digest;
    use jiff::Timestamp;

    fn operation(id: &str, cuts: &[(&str, Option<&str>, &str)]) -> Operation {
        let file = FileRef { path: None, digest: Digest::of(b""), bytes: 0 };
        let cut = |&(uuid, call, rule): &(&str, Option<&str>, &str)| Cut {
            uuid: uuid.to_owned(),
            call: call.map(str::to_owned),
            name: "name".to_owned(),
            rule: rule.to_owned(),
            before: Tokens(9),
            after: Tokens(1),
        };
        Operation {
            id: id.to_owned(),
            verb: "discard".to_owned(),
            command: String::new(),
            session: String::new(),
            time: Timestamp::UNIX_EPOCH,
            source: file.clone(),
            output: file,
            session_ids: Vec::new(),
            cuts: cuts.iter().map(cut).collect(),
            tokens: None,
            report: None,
        }
    }

    // P-05: an item that is cut twice comes back as it was at first; one that came back is open no more.
    #[test]
    fn p_05_cuts_are_open_until_they_are_taken_back() {
        let lineage = [
            operation("4", &[("a", None, "restore"), ("c", None, "discard"), ("z", None, "restore")]),
            operation("3", &[("a", None, "compress"), ("a", Some("t"), "restore")]),
            operation("2", &[("a", Some("t"), "mask"), ("b", Some("t"), "discard")]),
            operation("1", &[("a", None, "discard"), ("a", Some("t"), "hash"), ("c", None, "distill")]),
        ];
        let of = |lineage: &[Operation]| {
            let open = open_cuts(lineage).into_iter();
            open.map(|cut| (cut.uuid, cut.call, cut.rule, cut.first, cut.last)).collect::<Vec<_>>()
        };
        let row = |uuid: &str, call: Option<&str>, rule: &str, first: &str, last: &str| {
            (uuid.to_owned(), call.map(str::to_owned), rule.to_owned(), first.to_owned(), last.to_owned())
        };
        let c = row("c", None, "discard", "1", "4");
        assert_eq!(of(&lineage), [c, row("b", Some("t"), "discard", "2", "2")]);
        assert_eq!(
            of(&lineage[1..]),
            [
                row("a", None, "compress", "1", "3"),
                row("c", None, "distill", "1", "1"),
                row("b", Some("t"), "discard", "2", "2")
            ]
        );
    }
}
