//! Groups: the atomic units of removal. An assistant message and all its tool results are one; any other live
//! entry is one of its own.

use std::collections::HashMap;

use super::{Chain, Index, LineNo, MessageIdx};

/// The place of a group among those of its chain, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupIdx(pub u32);

/// The groups of a chain.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// The group of each entry, by its place in the chain.
    pub group_of_message: Vec<GroupIdx>,
    /// The number of groups.
    pub n_groups: u32,
    /// The number of assistant messages, which are the steps.
    pub n_steps: u32,
}

impl Groups {
    /// The groups of `chain`, numbered in its order.
    #[must_use]
    pub fn of(index: &Index, chain: &Chain) -> Self {
        let callers = calling_messages(index, chain);
        let mut groups = Self::default();
        let mut by_message: HashMap<MessageIdx, GroupIdx> = HashMap::new();
        for &line in &chain.lines {
            let message = index.record(line).message_idx();
            let owner = message.or_else(|| callers.get(&line).copied());
            let group = if let Some(&group) = owner.and_then(|owner| by_message.get(&owner)) {
                group
            } else {
                let group = GroupIdx(groups.n_groups);
                groups.n_groups += 1;
                groups.n_steps += u32::from(message.is_some());
                if let Some(owner) = owner {
                    by_message.insert(owner, group);
                }
                group
            };
            groups.group_of_message.push(group);
        }
        groups
    }
}

/// For each live line with a tool result, the message that made the call.
fn calling_messages(index: &Index, chain: &Chain) -> HashMap<LineNo, MessageIdx> {
    let mut calls = HashMap::new();
    for end in index.tools.iter().filter(|end| !end.is_result && chain.is_live(end.line)) {
        if let Some(message) = index.record(end.line).message_idx() {
            calls.insert(end.id, message);
        }
    }
    let results = index.tools.iter().filter(|end| end.is_result && chain.is_live(end.line));
    results.filter_map(|end| Some((end.line, *calls.get(&end.id)?))).collect()
}
