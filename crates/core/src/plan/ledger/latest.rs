//! A map that knows which of its keys was touched last.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// A map in the order in which its keys were last touched. Two are equal where keys, values and order are.
#[derive(Clone, Debug)]
pub(super) struct Latest<K, V> {
    entries: HashMap<K, Touched<V>>,
    n_touches: u64,
}

#[derive(Clone, Debug)]
struct Touched<V> {
    at: u64,
    value: V,
}

impl<K, V> Default for Latest<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), n_touches: 0 }
    }
}

impl<K: Eq + Hash, V> Latest<K, V> {
    /// Whether there is no key.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Puts `value` under `key`, which is touched last by this; where there is a value, what `join` makes of both.
    pub(super) fn insert(&mut self, key: K, value: V, join: impl FnOnce(V, V) -> V) {
        let at = self.n_touches;
        self.n_touches += 1;
        let value = match self.entries.remove(&key) {
            Some(earlier) => join(earlier.value, value),
            None => value,
        };
        self.entries.insert(key, Touched { at, value });
    }

    /// Keeps the keys and values for which `is_kept` holds.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(&K, &V) -> bool) {
        self.entries.retain(|key, touched| is_kept(key, &touched.value));
    }

    /// Touches all that `later` touched, in its order. Exact: merging is associative where `join` is.
    pub(super) fn merge(&mut self, later: Self, join: impl Fn(V, V) -> V) {
        let mut entries: Vec<(K, Touched<V>)> = later.entries.into_iter().collect();
        entries.sort_by_key(|(_, touched)| touched.at);
        for (key, touched) in entries {
            self.insert(key, touched.value, &join);
        }
    }

    /// The keys and values, the one touched last at the end.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|(_, touched)| touched.at);
        entries.into_iter().map(|(key, touched)| (key, &touched.value))
    }
}

impl<K: Eq + Hash, V: PartialEq> PartialEq for Latest<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.entries.len() == other.entries.len() && self.iter().eq(other.iter())
    }
}

impl<K: Eq + Hash, V: Eq> Eq for Latest<K, V> {}

impl<K: Eq + Hash + Serialize, V: Serialize> Serialize for Latest<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, K: Eq + Hash + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Latest<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs<K, V>(Latest<K, V>);

        impl<'de, K: Eq + Hash + Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for Pairs<K, V> {
            type Value = Latest<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of keys with their values")
            }

            fn visit_seq<A: SeqAccess<'de>>(mut self, mut pairs: A) -> Result<Self::Value, A::Error> {
                while let Some((key, value)) = pairs.next_element()? {
                    self.0.insert(key, value, |_, later| later);
                }
                Ok(self.0)
            }
        }

        deserializer.deserialize_seq(Pairs(Self::default()))
    }
}
