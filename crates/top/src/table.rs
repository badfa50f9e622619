//! Sums by key, of bounded number: the largest are kept, and the others summed up as one. A slot
//! has one such table for each kind of row.
//!
//! Non-goals: when it was (`past`).

use crate::tally::Tally;
use hashbrown::{HashMap, HashSet};
use model::record::{Counted, Rollup};
use model::text::visible;
use std::sync::Arc;

/// Keys of a table that are kept; for a moment, while rows are added, twice as many.
pub(crate) const MOST_KEYS: usize = 256;

/// Characters of a name that are kept: of its begin, and of its end.
const NAME_CHARS: (usize, usize) = (128, 256);

/// A harmless name, one copy of it for all keys.
pub(crate) type Name = Arc<str>;

/// The names in use.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: HashSet<Name>,
    /// When so many are known, those that are used no more are forgotten.
    tidy_at: usize,
}

impl Names {
    fn name(&mut self, text: &str) -> Name {
        let shown = visible(text);
        let shown = match shown.len() > NAME_CHARS.0 + NAME_CHARS.1 {
            true => shortened(&shown).into(),
            false => shown,
        };
        if let Some(name) = self.names.get(&*shown) {
            return name.clone();
        }
        if self.names.len() >= self.tidy_at {
            self.names.retain(|name| Arc::strong_count(name) > 1);
            self.tidy_at = 2 * self.names.len() + 1024;
        }
        let name: Name = Arc::from(&*shown);
        self.names.insert(name.clone());
        name
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }
}

fn shortened(text: &str) -> String {
    let begin: String = text.chars().take(NAME_CHARS.0).collect();
    let end = text.char_indices().rev().nth(NAME_CHARS.1 - 1).map_or(0, |(place, _)| place);
    format!("{begin}…{}", &text[end.max(begin.len())..])
}

/// What a sum is of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) device: Option<Name>,
    pub(crate) operation: Name,
    pub(crate) role: Option<Name>,
    /// A file's name, or a cause's.
    pub(crate) other: Option<Name>,
    /// All that were too many and too small to be kept one by one.
    pub(crate) is_others: bool,
}

impl From<&Key> for Key {
    fn from(key: &Key) -> Self {
        key.clone()
    }
}

/// Sums by key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    sums: HashMap<Key, Tally>,
}

impl Table {
    /// All keys with their sums, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &Tally)> {
        self.sums.iter()
    }

    /// The sum of a key.
    pub(crate) fn get(&self, key: &Key) -> Option<&Tally> {
        self.sums.get(key)
    }

    /// How many keys.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.sums.len()
    }

    fn add(&mut self, key: Key, row: &Rollup) {
        self.sums.entry(key).or_default().add(row);
        self.keep(2 * MOST_KEYS);
    }

    /// Adds to the sum of a key.
    pub(crate) fn merge(&mut self, key: &Key, sum: &Tally) {
        self.sums.entry_ref(key).or_default().merge(sum);
    }

    /// Sums up the smallest as others, where there are more keys than `most`.
    fn keep(&mut self, most: usize) {
        if self.sums.len() <= most {
            return;
        }
        let one_by_one = self.sums.iter().filter(|(key, _)| !key.is_others);
        let mut weights: Vec<f64> = one_by_one.map(|(_, sum)| sum.weight()).collect();
        let place = weights.len().saturating_sub(MOST_KEYS);
        let (_, least, _) = weights.select_nth_unstable_by(place, f64::total_cmp);
        let least = *least;
        let mut more = MOST_KEYS;
        let small = self.sums.extract_if(|key, sum| {
            // Of those of equal weight, too, no more are kept.
            let is_kept = key.is_others || (sum.weight() >= least && more > 0);
            more -= usize::from(is_kept && !key.is_others);
            !is_kept
        });
        let small: Vec<(Key, Tally)> = small.collect();
        for (key, sum) in small {
            let operation = key.operation;
            let others = Key { operation, is_others: true, ..Key::default() };
            self.sums.entry(others).or_default().merge(&sum);
        }
    }
}

/// What a table is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Requests by device and operation.
    Devices,
    /// Requests by device, operation and role.
    Requests,
    /// Calls by device, kind and role.
    Calls,
    /// Waits by device, what is waited for and role.
    Waits,
    /// Time lost, the same by cause.
    Lost,
    /// The kernel's counts by device.
    Disk,
    /// Requests and calls by file.
    Files,
    /// The watch itself.
    Watch,
}

const KINDS: usize = 8;

/// The tables of a span of time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slot {
    tables: [Table; KINDS],
}

impl Slot {
    /// The table of a kind.
    pub(crate) fn table(&self, kind: Kind) -> &Table {
        &self.tables[kind as usize]
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, row: &Rollup, names: &mut Names) {
        let mut name = |text: &Option<String>| text.as_deref().map(|text| names.name(text));
        let [device, role, cause, file] =
            [&row.device, &row.role, &row.cause, &row.file].map(&mut name);
        let operation = names.name(&row.operation);
        let key = Key { device, operation, ..Key::default() };
        let (kind, key) = match row.counted {
            Counted::Requests => {
                self.tables[Kind::Devices as usize].add(key.clone(), row);
                (Kind::Requests, Key { role, ..key })
            }
            Counted::Calls => (Kind::Calls, Key { role, ..key }),
            Counted::Waits => (Kind::Waits, Key { role, ..key }),
            Counted::Lost => (Kind::Lost, Key { role, other: cause, ..key }),
            Counted::Disk => (Kind::Disk, key),
            Counted::File => (Kind::Files, Key { device: None, other: file, ..key }),
            Counted::Watch => (Kind::Watch, key),
            Counted::Class | Counted::Storm => return,
        };
        self.tables[kind as usize].add(key, row);
    }

    /// Adds the sums of another span.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (table, other) in self.tables.iter_mut().zip(&other.tables) {
            for (key, sum) in &other.sums {
                table.merge(key, sum);
            }
            table.keep(2 * MOST_KEYS);
        }
    }

    /// When no more rows are likely to come.
    pub(crate) fn seal(&mut self) {
        self.tables.iter_mut().for_each(|table| {
            table.keep(MOST_KEYS);
            table.sums.shrink_to_fit();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(role: &str, count: u64) -> Rollup {
        Rollup {
            counted: Counted::Requests,
            device: Some("vda".into()),
            operation: "read".into(),
            role: Some(role.into()),
            count,
            sum_ns: 1000 * count,
            ..Rollup::default()
        }
    }

    #[test]
    fn ten_thousand_keys_are_the_largest_and_the_others() {
        let (mut slot, mut names) = (Slot::default(), Names::default());
        for place in 0..10_000 {
            slot.add(&row(&format!("role {place}"), 1 + place), &mut names);
        }
        slot.seal();
        let table = slot.table(Kind::Requests);
        assert!(table.len() <= MOST_KEYS + 1, "{}", table.len());
        let all: u64 = table.iter().map(|(_, sum)| sum.count).sum();
        assert_eq!(all, (1..=10_000).sum::<u64>());
        let (device, role) = (Some(names.name("vda")), Some(names.name("role 9999")));
        let key = Key { device, operation: names.name("read"), role, ..Key::default() };
        assert_eq!(table.get(&key).map(|sum| sum.count), Some(10_000));
        assert_eq!(slot.table(Kind::Devices).len(), 1);
    }

    #[test]
    fn a_row_is_found_by_its_key_also_where_its_names_are_harmful() {
        let (mut slot, mut names) = (Slot::default(), Names::default());
        for _ in 0..3 {
            slot.add(&row("plain", 1), &mut names);
            slot.add(&row("a\x1b[31m\n", 1), &mut names);
        }
        let table = slot.table(Kind::Requests);
        let mut counts: Vec<(&str, u64)> =
            table.iter().filter_map(|(k, sum)| Some((k.role.as_deref()?, sum.count))).collect();
        counts.sort_unstable();
        assert_eq!(counts, [(r"a\x1b[31m\n", 3), ("plain", 3)]);
    }

    #[test]
    fn names_that_are_used_no_more_are_forgotten() {
        let mut names = Names::default();
        for place in 0..100_000 {
            names.name(&format!("file {place}"));
        }
        assert!(names.len() < 3000, "{}", names.len());
        let long = names.name(&"é".repeat(5000));
        assert!(long.chars().count() <= NAME_CHARS.0 + NAME_CHARS.1 + 1);
    }
}
