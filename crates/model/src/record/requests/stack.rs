//! Which devices lie on which: device mapper's and md's on disks, told by notes of the provenance,
//! `stack.DEVICE`, so that whoever analyses the rows later knows whose requests serve whose.
//!
//! The text of a note: the numbers of the whole disks that the device lies on directly.
//!
//! Non-goals: a stack that changes during a capture: the rows' `above_id` tells it as it was.

use super::provenance::Provenance;
use std::collections::{BTreeMap, BTreeSet};

/// The key of a note.
const KEY: &str = "stack.";

/// How many layers a time is divided among at the most: those beneath count as the last one's own.
pub const LAYERS_MOST: usize = 8;

/// What each device lies on directly; devices at the bottom are not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceStack(BTreeMap<u32, Vec<u32>>);

impl DeviceStack {
    /// Adds what a device lies on.
    pub fn add(&mut self, upper: u32, lowers: Vec<u32>) {
        self.0.insert(upper, lowers);
    }

    /// Adds those of another.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether no device lies on another.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each device that lies on others, and these.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.0.iter().map(|(upper, lowers)| (*upper, lowers.as_slice()))
    }

    /// What a device lies on directly.
    pub fn beneath(&self, device: u32) -> &[u32] {
        self.0.get(&device).map_or(&[], Vec::as_slice)
    }

    /// Whether a device lies on others.
    #[inline]
    pub fn is_upper(&self, device: u32) -> bool {
        self.0.contains_key(&device)
    }

    /// All devices that one lies on, directly or not.
    pub fn all_beneath(&self, device: u32) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        let mut next = vec![device];
        while let Some(device) = next.pop() {
            next.extend(self.beneath(device).iter().filter(|lower| found.insert(**lower)));
        }
        found.remove(&device);
        found
    }

    /// How many layers a device has, itself included, along its longest way down.
    pub fn depth(&self, device: u32) -> usize {
        self.depth_but(device, &mut BTreeSet::new())
    }

    /// The same, but for devices that were passed on the way: no device lies on itself.
    fn depth_but(&self, device: u32, passed: &mut BTreeSet<u32>) -> usize {
        if !passed.insert(device) {
            return 0;
        }
        let lowers = self.beneath(device).iter();
        let most = lowers.map(|lower| self.depth_but(*lower, passed)).max().unwrap_or(0);
        passed.remove(&device);
        1 + most
    }
}

impl Provenance {
    /// Notes what lies on what.
    pub fn note_stack(&mut self, stack: &DeviceStack) {
        for (upper, lowers) in stack.iter() {
            let numbers: Vec<String> = lowers.iter().map(u32::to_string).collect();
            self.notes.insert(format!("{KEY}{upper}"), numbers.join(" "));
        }
    }

    /// What lies on what, as it is noted; words that are no numbers are passed over.
    pub fn stack(&self) -> DeviceStack {
        let of = |(key, text): (&String, &String)| {
            let lowers: Vec<u32> = text.split(' ').filter_map(|word| word.parse().ok()).collect();
            Some((key.strip_prefix(KEY)?.parse().ok()?, lowers))
        };
        let noted = self.notes.iter().filter_map(of);
        DeviceStack(noted.filter(|(_, lowers)| !lowers.is_empty()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_noted_and_comes_back() {
        let mut stack = DeviceStack::default();
        [(4, vec![3]), (3, vec![2]), (2, vec![0, 1])]
            .into_iter()
            .for_each(|(u, l)| stack.add(u, l));
        let mut provenance = Provenance::default();
        provenance.note_stack(&stack);
        assert_eq!(provenance.stack(), stack);
        assert_eq!((stack.depth(4), stack.depth(0), stack.beneath(2)), (4, 1, &[0, 1][..]));
        assert_eq!(stack.all_beneath(3), [0, 1, 2].into());
        provenance.notes.insert("stack.x".into(), "1".into());
        provenance.notes.insert("stack.9".into(), "nonsense".into());
        assert_eq!(provenance.stack(), stack);
    }

    /// A note may say anything: no device lies on itself, and nothing loops.
    #[test]
    fn a_circle_has_an_end() {
        let mut stack = DeviceStack::default();
        stack.add(1, vec![2]);
        stack.add(2, vec![1, 2]);
        assert_eq!((stack.depth(1), stack.all_beneath(1)), (2, [2].into()));
    }
}
