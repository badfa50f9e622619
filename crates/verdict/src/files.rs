//! Bytes by file.
//!
//! Non-goals: what files are called ([`crate::names`]).

use crate::merge::{Merge as _, merged};
use crate::names::{Called, FileNames};
use hashbrown::HashMap;
use model::record::{Flags, Op, Request};

/// Files that are known one by one; the first ones are.
const MOST: usize = 200_000;

/// What was requested of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Requested {
    pub(crate) requests: u64,
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
}

merged!(Requested { requests, read_bytes, write_bytes });

impl Requested {
    pub(crate) fn bytes(&self) -> u64 {
        self.read_bytes + self.write_bytes
    }

    fn add(&mut self, row: &Request) {
        self.requests += 1;
        let bytes = u64::from(row.length_bytes);
        match row.op {
            Op::Read => self.read_bytes += bytes,
            Op::Write => self.write_bytes += bytes,
            _ => {}
        }
    }
}

/// Files and devices, and of which requests no file is known.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) known: HashMap<(u32, Called), Requested>,
    pub(crate) unknown: Requested,
    /// The last one: requests come in runs.
    last: Option<((u32, Called), Requested)>,
}

impl Files {
    /// Adds a request that is not lbolt's own.
    pub(crate) fn add(&mut self, row: &Request, names: &FileNames) {
        if row.flags.contains(Flags::OWN) || !matches!(row.op, Op::Read | Op::Write) {
            return;
        }
        let Some(called) = names.of_request(row) else { return self.unknown.add(row) };
        let key = (row.device, called);
        match &mut self.last {
            Some((last, requested)) if *last == key => requested.add(row),
            _ => {
                self.settle();
                let mut requested = Requested::default();
                requested.add(row);
                self.last = Some((key, requested));
            }
        }
    }

    /// Adds those of another time, which were put away.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.settle();
        self.unknown.merge(other.unknown);
        let mut known: Vec<_> = other.known.iter().collect();
        known.sort_unstable_by_key(|(key, _)| **key);
        for (key, requested) in known {
            self.last = Some((*key, *requested));
            self.settle();
        }
    }

    /// Puts away what is still at hand.
    pub(crate) fn settle(&mut self) {
        let Some((key, requested)) = self.last.take() else { return };
        match self.known.len() < MOST || self.known.contains_key(&key) {
            true => self.known.entry(key).or_default().merge(requested),
            false => self.unknown.merge(requested),
        }
    }
}
