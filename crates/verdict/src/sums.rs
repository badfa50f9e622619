//! What the verdict keeps of a time: sums of integers by class, cause and operation. Those of two
//! times are added, in any order, and what is told of all is the same to the last bit. Nothing here
//! grows with how long a time is but storms, of which a minute tells few.
//!
//! A loss is kept as the waits that it affected, how many and how long: what they lost is their
//! time less as many in calm, whatever calm turns out to be over the whole.
//!
//! Non-goals: how a slice's time is divided (`super::weigh`), what was lost (`super::blame`).

use super::actors::RoleId;
use super::calm::{Alike, OwnParts, Slices};
use super::on_files::LostOn;
use super::waits::{Class, Kind};
use crate::merge::{Merge as _, merged};
use model::circumstance::Circumstance;
use model::histogram::ListedHistogram;
use model::record::Op;
use std::collections::BTreeMap;

/// Who waited, for what, where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Victim {
    pub(crate) device: u32,
    pub(crate) role: RoleId,
    pub(crate) kind: Kind,
}

impl Victim {
    pub(crate) fn of(class: &Class) -> Self {
        Self { device: class.device, role: class.role, kind: class.kind }
    }
}

/// What made it wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Requests of another role.
    Role(RoleId),
    /// What is no request of anybody.
    Nobody(Circumstance),
}

impl Cause {
    /// Whether it is that the device stood still.
    pub(crate) fn is_still(self) -> bool {
        self == Self::Nobody(Circumstance::Device)
    }

    /// The one before all others.
    pub(crate) fn first() -> Self {
        Self::Role(RoleId(0))
    }
}

/// A part of some waits: how long, and how many waits it is as a part of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) ns: u64,
    millionths: u64,
}

merged!(Share { ns, millionths });

impl Share {
    /// Rounded; what is less than nothing is nothing.
    pub(crate) fn new(ns: f64, count: f64) -> Self {
        Self { ns: ns.round() as u64, millionths: (count * 1e6).round() as u64 }
    }

    /// How many waits it is.
    pub(crate) fn count(self) -> f64 {
        self.millionths as f64 / 1e6
    }
}

/// What of the waits of a class belongs to a cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lost<T = Share> {
    /// Of slices whose waits took longer than in calm, as far as that was known at the time.
    pub(crate) above: T,
    /// Of those that took less: chance sums to nothing.
    pub(crate) below: T,
    /// The time that belonged to it while waits went on, of all slices.
    pub(crate) part: T,
    /// The same of spans that had no calm of their own.
    pub(crate) open: T,
}

merged!(Lost { above, below, part, open });

/// Waits of a class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OfClass {
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    /// How long each took.
    pub(crate) times: ListedHistogram,
    /// By what tells calm; nothing of the kernel's own waits.
    pub(crate) slices: BTreeMap<Alike, Slices>,
    /// Of spans that had no calm of their own: how many, how long, and what of it was nobody
    /// else's request.
    pub(crate) open_count: u64,
    pub(crate) open_ns: u64,
    pub(crate) open_parts_ns: OwnParts,
}

merged!(OfClass { count, sum_ns, times, slices, open_count, open_ns, open_parts_ns });

/// What tells the calm of each class.
pub(crate) type CalmSlices = BTreeMap<Class, BTreeMap<Alike, Slices>>;

/// A time in which a victim lost by a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Storm {
    pub(crate) from_ns: i64,
    pub(crate) until_ns: i64,
    pub(crate) lost_ns: u64,
}

/// By what a class's waits are divided: the cause, and what it did.
pub(crate) type Key = (Class, Cause, Option<Op>);

/// All that is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) classes: BTreeMap<Class, OfClass>,
    pub(crate) lost: BTreeMap<Key, Lost>,
    pub(crate) storms: BTreeMap<(Victim, Cause), Vec<Storm>>,
    /// Waits for locks that a role held.
    pub(crate) held: BTreeMap<(Victim, RoleId), Share>,
    /// On which files time was lost.
    pub(crate) on_files: BTreeMap<(Victim, Cause), LostOn>,
}

impl Sums {
    /// Adds those of another time; `role` is the number here of each of its roles.
    pub(crate) fn merge(&mut self, other: Self, role: &dyn Fn(RoleId) -> RoleId) {
        let victim = |victim: Victim| {
            let kind = victim.kind.with_roles(role);
            Victim { role: role(victim.role), kind, ..victim }
        };
        let cause = |cause: Cause| match cause {
            Cause::Role(of) => Cause::Role(role(of)),
            nobody @ Cause::Nobody(_) => nobody,
        };
        for (of, sums) in other.classes {
            self.classes.entry(of.with_roles(role)).or_default().merge(sums);
        }
        for ((of, by, op), lost) in other.lost {
            self.lost.entry((of.with_roles(role), cause(by), op)).or_default().merge(lost);
        }
        for ((of, by), storms) in other.storms {
            self.storms.entry((victim(of), cause(by))).or_default().extend(storms);
        }
        for ((of, by), lost) in other.on_files {
            self.on_files.entry((victim(of), cause(by))).or_default().merge(lost);
        }
        for ((of, holder), share) in other.held {
            self.held.entry((victim(of), role(holder))).or_default().merge(share);
        }
    }
}
