//! Which roles waited for a CPU while all CPUs were busy, and who used the most CPU time then.
//!
//! How long a thread was runnable and waited is known by intervals of about a second. It is spread
//! over the times of the interval in which all CPUs were busy. Where none were, it explains
//! nothing: a limit of a cgroup makes its threads wait so, too. What a role's waits were held back
//! before the device is its wait for a CPU up to what was measured, and no more. So it is with what
//! a thread of the kernel waited that serves the device (a journal's, a loop device's worker): that
//! held back who waited meanwhile, and made as large a part of the time that the device was busy.
//! Where many used the CPUs and nobody a good part of what was used, nobody used those that were
//! waited for.
//!
//! Non-goals: CPUs that the hypervisor gave to others (`super::cpus`).

use super::actors::{Actors, RoleId};
use super::blame::GOOD_PART;
use super::book::{Book, Cell};
use super::cpus::Cpus;
use super::disk::{HELD, PartNumber};
use model::record::CpuUse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What is known of a run, in the order of time.
#[derive(Debug, Default)]
pub(super) struct CpuUses(Vec<CpuUse>);

/// What a process of a role ran in a time, or how long a thread of it waited.
#[derive(Debug)]
pub(super) struct RoleUse {
    time_ns: Range<i64>,
    role: RoleId,
    process: u64,
    ran_ns: f64,
    waited_ns: f64,
    /// The device that the thread serves.
    serves: Option<u32>,
}

impl CpuUses {
    pub(super) fn new(mut all: Vec<CpuUse>) -> Self {
        all.sort_by_key(|one| (one.from_ns, one.pid, one.waited_ns));
        Self(all)
    }

    /// The next one.
    pub(super) fn add(&mut self, one: CpuUse) {
        self.0.push(one);
    }

    /// Those that lie in a time, or reach into it.
    pub(super) fn of(&self, time_ns: &Range<i64>) -> Self {
        let first = self.0.partition_point(|one| one.until_ns <= time_ns.start);
        let of = self.0.iter().skip(first).take_while(|one| one.from_ns < time_ns.end);
        Self(of.cloned().collect())
    }

    /// A time, and all that these are of.
    pub(super) fn reach(&self, time_ns: &Range<i64>) -> Range<i64> {
        self.0
            .iter()
            .fold(time_ns.clone(), |all, one| all.start.min(one.from_ns)..all.end.max(one.until_ns))
    }

    /// Whose they are. A thread of which nothing is known is nobody's.
    pub(super) fn by_role(&self, actors: &mut Actors) -> Vec<RoleUse> {
        let mut role = |one: &CpuUse| match one.ran_ns > 0 || one.serves_device.is_some() {
            true => Some(actors.of_thread(one.pid as u32, || one.command.clone())),
            false => actors.of_known_thread(one.pid as u32),
        };
        let of = self.0.iter().filter_map(|one| {
            Some(RoleUse {
                time_ns: one.from_ns..one.until_ns,
                role: role(one)?,
                process: one.process,
                ran_ns: one.ran_ns as f64,
                waited_ns: one.waited_ns as f64,
                serves: one.serves_device.map(|device| device as u32),
            })
        });
        of.collect()
    }
}

/// What of a wait was one for a CPU: a part of it by its number, for which part of what held the
/// wait back, and of the device's own time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queued {
    pub(crate) number: PartNumber,
    pub(crate) held: f64,
    pub(crate) served: f64,
}

/// Waits for a CPU by the slices of a device's book.
#[derive(Debug, Default)]
pub(crate) struct RunQueue {
    width_ns: i64,
    /// How long a role's threads waited for a CPU.
    waited_ns: BTreeMap<RoleId, Vec<f64>>,
    /// For which part of what held its waits back it waited for a CPU.
    parts: BTreeMap<RoleId, Vec<f64>>,
    /// How long who serves the device waited for one, and for which part of its busy time.
    served_ns: Vec<f64>,
    served: Vec<f64>,
    /// Who used the most CPU time, by slice: its place among these roles.
    holders: Vec<RoleId>,
    holder_of: BTreeMap<usize, usize>,
    /// The number of the first of them among the parts of a wait.
    first: usize,
    processes: BTreeMap<RoleId, BTreeSet<u64>>,
}

impl RunQueue {
    /// Of a book that is settled; its parts are numbered below `first`.
    pub(super) fn new(
        uses: &[RoleUse],
        cpus: &Cpus,
        (device, book): (u32, &Book),
        first: usize,
    ) -> Self {
        let mut queue = Self { first, width_ns: book.width_ns, ..Self::default() };
        // Where nobody who waits at the device waited for a CPU, it does not matter who used them.
        let waiters: BTreeSet<RoleId> = book.waits().iter().map(|(class, _)| class.role).collect();
        let serves = |one: &RoleUse| one.serves == Some(device);
        let matters = |one: &RoleUse| waiters.contains(&one.role) || serves(one);
        if !uses.iter().any(|one| one.waited_ns > 0.0 && matters(one)) {
            return queue;
        }
        let mut ran_ns: BTreeMap<(usize, RoleId), f64> = BTreeMap::new();
        // Many are of the same interval: its parts by slice.
        let mut last: (Range<i64>, Vec<(usize, f64)>) = (0..0, Vec::new());
        for one in uses {
            queue.processes.entry(one.role).or_default().insert(one.process);
            if last.0 != one.time_ns {
                let busy: Vec<Range<i64>> = cpus.busy_within(&one.time_ns).collect();
                let whole_ns: f64 = busy.iter().map(length_ns).sum();
                let of_busy = busy.iter().flat_map(|of| pieces(of, book));
                let parts = of_busy.map(|(slice, ns)| (slice, ns / whole_ns)).collect();
                last = (one.time_ns.clone(), parts);
            }
            for (slice, part) in last.1.iter().copied() {
                if one.ran_ns > 0.0 {
                    *ran_ns.entry((slice, one.role)).or_default() += part * one.ran_ns;
                }
                if one.waited_ns > 0.0 {
                    let waited = queue.waited_ns.entry(one.role).or_default();
                    let served = Some(&mut queue.served_ns).filter(|_| serves(one));
                    for sums in std::iter::once(waited).chain(served) {
                        add(sums, slice, part * one.waited_ns);
                    }
                }
            }
        }
        queue.find_holders(&ran_ns);
        queue.find_served(book);
        queue.find_parts(book);
        queue
    }

    /// As far as it is known when the device was busy: for several at once no longer than a slice.
    fn find_served(&mut self, book: &Book) {
        let width_ns = book.width_ns as f64;
        let of = |(slice, ns): (usize, &f64)| {
            let each = book.busy_ns.iter().filter_map(|of| of.get(slice));
            let busy_ns = (each.sum::<i64>() as f64).min(width_ns);
            if busy_ns > 0.0 { (ns / busy_ns).min(1.0) } else { 0.0 }
        };
        self.served = self.served_ns.iter().enumerate().map(of).collect();
    }

    /// Of two roles that used as much CPU time, the first one.
    fn find_holders(&mut self, ran_ns: &BTreeMap<(usize, RoleId), f64>) {
        let mut most: BTreeMap<usize, (RoleId, f64)> = BTreeMap::new();
        let mut all_ns: BTreeMap<usize, f64> = BTreeMap::new();
        for ((slice, role), ns) in ran_ns {
            *all_ns.entry(*slice).or_default() += ns;
            let known = most.entry(*slice).or_insert((*role, *ns));
            if known.1 < *ns {
                *known = (*role, *ns);
            }
        }
        let is_much =
            |slice: &usize, ns: f64| all_ns.get(slice).is_some_and(|all| ns >= GOOD_PART * all);
        for (slice, (role, _)) in most.into_iter().filter(|(slice, (_, ns))| is_much(slice, *ns)) {
            let place = self.holders.iter().position(|known| *known == role);
            let place = place.unwrap_or_else(|| {
                self.holders.push(role);
                self.holders.len() - 1
            });
            self.holder_of.insert(slice, place);
        }
    }

    /// All that held a role's waits back in a slice shares what the role waited for a CPU in it, or
    /// who serves the device.
    fn find_parts(&mut self, book: &Book) {
        let mut held: BTreeMap<RoleId, Vec<f64>> = BTreeMap::new();
        for (class, page) in book.waits() {
            let waited = self.waited_ns.get(&class.role).map_or(0, Vec::len);
            let slices = waited.max(self.served_ns.len());
            let sums = held.entry(class.role).or_insert_with(|| vec![0.0; slices]);
            for cell in page.cells() {
                let spanned = cell.spanned(self.width_ns);
                let each_ns = cell.part_ns(HELD) / spanned.len() as f64;
                let sums = sums.iter_mut().skip(spanned.start).take(spanned.len());
                sums.for_each(|sum| *sum += each_ns);
            }
        }
        for (role, sums) in held {
            let waited = self.waited_ns.get(&role).map_or(&[][..], Vec::as_slice);
            let parts = sums.iter().enumerate().map(|(slice, held_ns)| match *held_ns > 0.0 {
                true => ((of(waited, slice) + of(&self.served_ns, slice)) / held_ns).min(1.0),
                false => 0.0,
            });
            self.parts.insert(role, parts.collect());
        }
    }

    /// What of a cell's time was a wait for a CPU, as a part of its own. Nothing where it is not
    /// known who used the CPUs.
    pub(crate) fn of(&self, cell: &Cell<'_>, waiter: RoleId) -> Option<Queued> {
        let parts = self.parts.get(&waiter).map_or(&[][..], Vec::as_slice);
        let spanned = cell.spanned(self.width_ns);
        let slices = spanned.len() as f64;
        let (mut held, mut served, mut most) = (0.0, 0.0, None);
        for slice in spanned {
            let Some(holder) = self.holder_of.get(&slice) else { continue };
            let of_slice = (of(parts, slice), of(&self.served, slice));
            (held, served) = (held + of_slice.0, served + of_slice.1);
            let part = of_slice.0.max(of_slice.1);
            if part > most.map_or(0.0, |(_, most)| most) {
                most = Some((*holder, part));
            }
        }
        let (holder, _) = most?;
        let number = (self.first + holder) as PartNumber;
        Some(Queued { number, held: held / slices, served: served / slices })
    }

    /// Who used the CPUs, by the number of a part.
    pub(crate) fn holder(&self, number: PartNumber) -> Option<RoleId> {
        self.holders.get(usize::from(number).checked_sub(self.first)?).copied()
    }

    /// Whether two roles are of one process: then it is that one's own affair.
    pub(crate) fn are_one(&self, a: RoleId, b: RoleId) -> bool {
        let of = |role: RoleId| self.processes.get(&role);
        a == b || of(a).zip(of(b)).is_some_and(|(a, b)| !a.is_disjoint(b))
    }

    /// For which part of a slice a role waited for a CPU, or who serves the device.
    pub(crate) fn unrest(&self, slice: usize, waiter: RoleId) -> f64 {
        let waited = self.waited_ns.get(&waiter).map_or(&[][..], Vec::as_slice);
        let most_ns = of(waited, slice).max(of(&self.served_ns, slice));
        (most_ns / self.width_ns as f64).min(1.0)
    }
}

fn of(sums: &[f64], slice: usize) -> f64 {
    sums.get(slice).copied().unwrap_or(0.0)
}

fn add(sums: &mut Vec<f64>, slice: usize, by: f64) {
    if sums.len() <= slice {
        sums.resize(slice + 1, 0.0);
    }
    sums[slice] += by;
}

fn length_ns(time_ns: &Range<i64>) -> f64 {
    time_ns.end.saturating_sub(time_ns.start) as f64
}

/// A time by the slices of a book's span that it lies in.
fn pieces(time_ns: &Range<i64>, book: &Book) -> impl Iterator<Item = (usize, f64)> {
    let (start_ns, width_ns) = (book.time_ns.start, book.width_ns);
    let (from_ns, until_ns) = (time_ns.start.max(start_ns), time_ns.end.min(book.time_ns.end));
    let slice = |ns: i64| ns.saturating_sub(start_ns) / width_ns;
    let slices = if from_ns < until_ns { slice(from_ns)..slice(until_ns - 1) + 1 } else { 0..0 };
    slices.map(move |slice| {
        let begin_ns = start_ns.saturating_add(slice.saturating_mul(width_ns));
        let both = begin_ns.max(from_ns)..begin_ns.saturating_add(width_ns).min(until_ns);
        (slice as usize, length_ns(&both))
    })
}
