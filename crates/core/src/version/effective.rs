//! Which edits of a session hold, when later operations undid earlier ones.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::newest::Newest;
use super::{Address, Edit, Edits, ThinkingPolicy, VersionError};
use ctxc_store::Archive;
use ctxc_transcript::edit::Splice;

/// The operations of a version, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    operations: Vec<Edits>,
}

/// An edit that holds.
#[derive(Clone, Copy, Debug)]
pub struct Active<'a> {
    /// The operation that it is of.
    pub operation: &'a Edits,
    /// Its place among the edits of the operation.
    pub at: u32,
    /// The edit.
    pub edit: &'a Edit,
}

/// An operation that cannot be without another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The operation that stands on another.
    pub later: String,
    /// The one that it stands on.
    pub earlier: String,
}

impl History {
    /// The operations with these ids, oldest first.
    ///
    /// # Errors
    /// When the archive cannot be read, or lacks one of them.
    pub fn read(archive: &dyn Archive, ids: &[String]) -> Result<Self, VersionError> {
        let operations = ids.iter().map(|id| Edits::read(archive, id)).collect::<Result<_, _>>()?;
        Ok(Self { operations })
    }

    /// These operations and one more.
    #[must_use]
    pub fn with(&self, operation: Edits) -> Self {
        let mut operations = self.operations.clone();
        operations.push(operation);
        Self { operations }
    }

    /// The newest operation; `None` if there is none.
    pub fn newest_mut(&mut self) -> Option<&mut Edits> {
        self.operations.last_mut()
    }

    /// The operations, oldest first.
    #[must_use]
    pub fn operations(&self) -> &[Edits] {
        &self.operations
    }

    /// The ids of all operations, oldest first.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.operations.iter().map(|operation| operation.operation.clone()).collect()
    }

    /// The operation called `id`.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Edits> {
        self.operations.iter().find(|operation| operation.operation == id)
    }

    /// The operations that are undone: by one that is not undone itself.
    #[must_use]
    pub fn undone(&self) -> HashSet<&str> {
        self.undone_with(&[])
    }

    /// The operations that are undone once `ids` are undone too: what an undo among these took back holds again.
    fn undone_with<'a>(&'a self, ids: &'a [String]) -> HashSet<&'a str> {
        let mut undone: HashSet<&str> = ids.iter().map(String::as_str).collect();
        for operation in self.operations.iter().rev() {
            if !undone.contains(operation.operation.as_str()) {
                undone.extend(operation.undoes.iter().map(String::as_str));
            }
        }
        undone
    }

    /// The operations that hold, oldest first.
    #[must_use]
    pub fn standing(&self) -> impl DoubleEndedIterator<Item = &Edits> {
        let undone = self.undone();
        self.operations.iter().filter(move |operation| !undone.contains(operation.operation.as_str()))
    }

    /// The edits that hold, in order. Where two put something in the place of one value, both are among them.
    #[must_use]
    pub fn active(&self) -> Vec<Active<'_>> {
        let given: HashSet<(&str, u32)> = self
            .standing()
            .flat_map(|operation| &operation.gives_back)
            .flat_map(|back| back.edits.iter().map(|at| (back.operation.as_str(), *at)))
            .collect();
        let edits = self
            .standing()
            .flat_map(|operation| (0u32..).zip(&operation.edits).map(move |(at, edit)| Active { operation, at, edit }));
        edits.filter(|active| !given.contains(&(active.operation.operation.as_str(), active.at))).collect()
    }

    /// The splices that hold, by line: of those that overlap the newest.
    #[must_use]
    pub fn splices(&self) -> BTreeMap<Address, Vec<(Splice, bool)>> {
        let mut by_line: BTreeMap<&Address, Newest<bool>> = BTreeMap::new();
        let active = self.active();
        for active in active.iter().rev() {
            let Edit::Splice { line, splice, is_seen } = active.edit else { continue };
            by_line.entry(line).or_default().offer(splice, *is_seen);
        }
        by_line.into_iter().map(|(line, newest)| (line.clone(), newest.into_splices().collect())).collect()
    }

    /// Whether anything of the session is changed by the operations that hold.
    #[must_use]
    pub fn changes_something(&self) -> bool {
        !self.active().is_empty() || self.standing().any(|operation| operation.removes_all_thinking)
    }

    /// Whether the same edits hold in both, with the same wishes for what follows.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let edits = |history: &Self| {
            let active = history.active().into_iter();
            active.map(|it| (it.operation.operation.clone(), it.at)).collect::<Vec<_>>()
        };
        let wishes = |history: &Self| {
            let standing = history.standing().filter(|it| it.changes_something());
            standing.map(|it| (it.operation.clone(), it.thinking, it.removes_all_thinking)).collect::<Vec<_>>()
        };
        edits(self) == edits(other) && wishes(self) == wishes(other)
    }

    /// The strictest policy for thinking of the operations in effect that change something.
    #[must_use]
    pub fn thinking(&self) -> ThinkingPolicy {
        let changing = self.standing().filter(|operation| operation.changes_something());
        changing.map(|operation| operation.thinking).min().unwrap_or_default()
    }

    /// The operations after the earliest of `ids` that leave messages out, or put a summary in their place, and hold: oldest
    /// first. Without all of these and `ids`, the conversation starts as it did before `ids`.
    #[must_use]
    pub fn removing_after(&self, ids: &[String]) -> Vec<String> {
        let earliest = self.operations.iter().position(|operation| ids.contains(&operation.operation));
        let later: BTreeSet<&str> =
            self.operations.iter().skip(earliest.unwrap_or_default()).map(|it| it.operation.as_str()).collect();
        let is_removal = |edit: &Edit| matches!(edit, Edit::Insert { .. } | Edit::Drop(_));
        let removes = |operation: &Edits| operation.edits.iter().any(is_removal);
        self.standing()
            .filter(|it| later.contains(it.operation.as_str()) && !ids.contains(&it.operation) && removes(it))
            .map(|it| it.operation.clone())
            .collect()
    }

    /// The operations in effect that depend on `ids`, or on what an undo among these did again, directly or indirectly, oldest
    /// first. A compaction in a client depends on the undo of another one of the same messages: both would say them again.
    #[must_use]
    pub fn standing_on(&self, ids: &[String]) -> Vec<Dependency> {
        let mut gone = self.undone_with(ids);
        let undone = self.undone();
        let is_back = |it: &&Edits| undone.contains(it.operation.as_str()) && !gone.contains(it.operation.as_str());
        let said_again: HashSet<&Address> =
            self.operations.iter().filter(is_back).filter(|it| it.says_again()).flat_map(Edits::dropped).collect();
        let is_twice = |it: &Edits| it.says_again() && it.dropped().any(|line| said_again.contains(line));
        let mut found = Vec::new();
        // Later operations stand on earlier ones alone.
        for operation in self.standing() {
            if gone.contains(operation.operation.as_str()) {
                continue;
            }
            let mut earlier = operation.edits.iter().filter_map(|edit| edit.line().inserted_by());
            let twice = ids.first().map(String::as_str).filter(|_| is_twice(operation));
            if let Some(earlier) = earlier.find(|earlier| gone.contains(*earlier)).or(twice) {
                found.push(Dependency { later: operation.operation.clone(), earlier: earlier.to_owned() });
                gone.insert(&operation.operation);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctxc_transcript::{LineNo, Span};

    fn splice(line: u32, span: (usize, usize), bytes: &str) -> Edit {
        let splice = Splice::new(Span::new(span.0, span.1), bytes);
        Edit::Splice { line: Address::Stored(LineNo(line)), splice, is_seen: true }
    }

    fn operation(id: &str, edits: Vec<Edit>, undoes: &[&str]) -> Edits {
        let undoes = undoes.iter().map(|&id| id.to_owned()).collect();
        Edits { operation: id.to_owned(), edits, undoes, ..Edits::default() }
    }

    fn texts(history: &History) -> Vec<String> {
        let splices = history.splices().into_values().flatten();
        splices.map(|(splice, _)| String::from_utf8(splice.bytes).unwrap()).collect()
    }

    // N-02, N-11
    #[test]
    fn n_02_the_newest_edit_of_a_value_holds_and_undoing_it_shows_the_one_below() {
        let history = History::default().with(operation("a", vec![splice(0, (5, 9), "a")], &[])).with(operation(
            "b",
            vec![splice(0, (5, 9), "b"), splice(0, (9, 9), "new")],
            &[],
        ));
        assert_eq!(texts(&history), ["b", "new"]);
        let undone = history.with(operation("c", Vec::new(), &["b"]));
        assert_eq!(texts(&undone), ["a"]);
        assert_eq!(texts(&undone.with(operation("d", Vec::new(), &["a"]))), Vec::<String>::new());
        let redone = undone.with(operation("d", Vec::new(), &["c"]));
        assert_eq!(texts(&redone), ["b", "new"], "undoing an undo is doing it again");
        let gives_back = vec![UndoneEdits { operation: "b".to_owned(), edits: vec![0] }];
        let given = history.with(Edits { operation: "d".to_owned(), gives_back, ..Edits::default() });
        assert_eq!(texts(&given), ["a", "new"]);
    }

    use crate::version::UndoneEdits;

    // N-06
    #[test]
    fn n_06_what_is_about_an_inserted_line_stands_on_what_inserted_it() {
        let inserted = |operation: &str| Address::Inserted { operation: operation.to_owned(), at: 1 };
        let insert = |lines: &[&str]| Edit::Insert {
            before: Address::Stored(LineNo(3)),
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
        };
        let history = History::default()
            .with(operation("a", vec![insert(&["x", "y"])], &[]))
            .with(operation("b", vec![splice(0, (1, 2), "b")], &[]))
            .with(operation("c", vec![Edit::Drop(inserted("a")), insert(&["z"])], &[]))
            .with(operation("d", vec![Edit::Drop(inserted("c"))], &[]));
        let standing = |id: &str| {
            let found = history.standing_on(&[id.to_owned()]);
            found.into_iter().map(|it| (it.later, it.earlier)).collect::<Vec<_>>()
        };
        let pair = |later: &str, earlier: &str| (later.to_owned(), earlier.to_owned());
        assert_eq!(standing("a"), [pair("c", "a"), pair("d", "c")]);
        assert_eq!(standing("c"), [pair("d", "c")]);
        assert!(standing("b").is_empty() && standing("d").is_empty());
        let redone = History::default()
            .with(operation("a", vec![insert(&["x", "y"])], &[]))
            .with(operation("undo", Vec::new(), &["a"]))
            .with(operation("redo", Vec::new(), &["undo"]))
            .with(operation("b", vec![Edit::Drop(inserted("a"))], &[]));
        let found = redone.standing_on(&["redo".to_owned()]);
        assert_eq!(found.into_iter().map(|it| it.later).collect::<Vec<_>>(), ["b"], "`a` holds by `redo`");
    }
}
