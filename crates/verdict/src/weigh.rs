//! The waits of a span divided among their causes, slice by slice.
//!
//! What a slice's waits took beyond calm is divided among the parts of a wait that are longer than
//! in calm, and so among the roles whose requests were in flight. Less than in calm counts against
//! it, so that chance sums to nothing. A waiter that waits for no more at once than in calm does
//! not ask for more: that its own requests take longer is the doing of those beside them. While the
//! hypervisor took CPUs away, no larger part of the waits' time than of all CPUs' time is its doing
//! and nobody's here. What held a wait back before the device is the doing of who used the CPUs, as
//! far as the waiter waited for one. Calm is here the span's own, for only how a slice divides
//! depends on it. A span without any leaves its waits open: they are divided as a whole, by the
//! calm of other spans (`super::blame`).
//!
//! Non-goals: how much was lost (`super::blame`).

use super::actors::{JOURNAL, RoleId};
use super::book::{Cell, Page};
use super::calm::{Alike, Calm, OwnPart, OwnParts, Slices};
use super::disk::PartNumber;
use super::on_files::WeighedFiles;
use super::scene::Scene;
use super::sums::{Cause, Lost, OfClass, Share, Storm, Sums, Victim};
use super::waits::{Class, OF_BULK};
use crate::merge::Merge as _;
use model::circumstance::Circumstance;
use std::collections::BTreeMap;

/// Losses that are nearer to each other are one storm.
pub(crate) const GAP_NS: i64 = 1_500_000_000;
/// What of a span's storms is kept of a pair: each that has this part of its loss there, and this
/// much.
const STORM_PART: f64 = 0.05;
const STORM_NS: f64 = 1e6;
/// Others had at least this part of waits that they are to blame for as a whole.
const OTHERS_LEAST: f64 = 0.1;
/// Of a wait.
const GREATER: f64 = 0.5;

/// What a part of a wait is a loss by, where it is longer than in calm.
pub(crate) fn cause_of(own: OwnPart) -> Option<Cause> {
    let circumstance = match own {
        OwnPart::Own => return None,
        OwnPart::Held => Circumstance::Held,
        OwnPart::Stalled => Circumstance::Device,
        OwnPart::Throttled => Circumstance::Throttled,
    };
    Some(Cause::Nobody(circumstance))
}

/// What a victim lost, by cause and slice.
#[derive(Debug, Default)]
struct BySlice {
    /// By role.
    roles: Vec<Vec<f64>>,
    nobody: BTreeMap<Circumstance, Vec<f64>>,
}

impl BySlice {
    fn lose(&mut self, cause: Cause, slice: usize, ns: f64) {
        let by_slice = match cause {
            Cause::Role(role) => {
                let place = usize::from(role.0);
                if self.roles.len() <= place {
                    self.roles.resize_with(place + 1, Vec::new);
                }
                &mut self.roles[place]
            }
            Cause::Nobody(circumstance) => self.nobody.entry(circumstance).or_default(),
        };
        if by_slice.len() <= slice {
            by_slice.resize(slice + 1, 0.0);
        }
        by_slice[slice] += ns;
    }

    fn all(&self) -> impl Iterator<Item = (Cause, &[f64])> {
        let roles = self.roles.iter().enumerate();
        let roles = roles.map(|(role, lost)| (Cause::Role(RoleId(role as u16)), lost));
        let nobody = self.nobody.iter().map(|(by, lost)| (Cause::Nobody(*by), lost));
        roles.chain(nobody).map(|(cause, lost)| (cause, lost.as_slice()))
    }
}

/// A part of some waits, as it is summed within a span.
#[derive(Debug, Clone, Copy, Default)]
struct PartSum {
    ns: f64,
    count: f64,
}

impl PartSum {
    /// A part of a cell's waits.
    fn add(&mut self, part: f64, cell: &Cell<'_>) {
        self.ns += part * cell.sum_ns as f64;
        self.count += part * cell.count as f64;
    }

    fn rounded(self) -> Share {
        Share::new(self.ns, self.count)
    }
}

/// What of a class's waits belongs to a part of them.
type OfPart = Lost<PartSum>;

impl OfPart {
    fn rounded(&self) -> Lost {
        let [above, below, part, open] =
            [self.above, self.below, self.part, self.open].map(PartSum::rounded);
        Lost { above, below, part, open }
    }
}

/// Everybody's waits at one device.
pub(crate) fn weigh(scene: &Scene<'_>) -> Sums {
    let mut sums = Sums::default();
    // Who waits for a thread loses what that one does.
    let (sleeps, waits): (Vec<_>, Vec<_>) =
        scene.book.waits().into_iter().partition(|(class, _)| class.kind.waker().is_some());
    let of_wakers = sleeps.iter().filter_map(|(class, _)| class.kind.waker());
    let mut wakers = Wakers(of_wakers.map(|role| (role, Waker::default())).collect());
    weigh_each(scene, waits, &mut wakers, &mut sums);
    weigh_each(scene, sleeps, &mut wakers, &mut sums);
    sums
}

fn weigh_each(
    scene: &Scene<'_>,
    waits: Vec<(&Class, &Page)>,
    wakers: &mut Wakers,
    sums: &mut Sums,
) {
    let mut of_victim: Option<(Victim, BySlice)> = None;
    for (class, page) in waits {
        let victim = Victim::of(class);
        if of_victim.as_ref().is_none_or(|(known, _)| *known != victim) {
            let last = of_victim.replace((victim, BySlice::default()));
            last.into_iter().for_each(|last| keep_storms(scene, &last, sums));
        }
        let Some((_, by_slice)) = &mut of_victim else { continue };
        let mut weighing = Weighing::new(scene, class, by_slice, wakers);
        let cells: Vec<Cell<'_>> = page.cells().collect();
        let of_class = OfClass { times: page.times.clone(), ..weighing.of_class(&cells) };
        weighing.tell(sums);
        sums.classes.insert(*class, of_class);
    }
    of_victim.into_iter().for_each(|last| keep_storms(scene, &last, sums));
}

/// What roles for which others slept have waited and lost, by the slices in which their waits
/// began.
#[derive(Debug, Default)]
struct Wakers(BTreeMap<RoleId, Waker>);

#[derive(Debug, Default)]
struct Waker {
    waited_ns: BTreeMap<usize, f64>,
    lost_ns: BTreeMap<(usize, Cause), f64>,
}

impl Waker {
    /// Who is to blame for which part of what it waited in a slice: below 0 where it waited for
    /// less than in calm, so that chance sums to nothing here, too.
    fn parts(&self, slice: usize) -> impl Iterator<Item = (Cause, f64)> {
        let waited_ns = self.waited_ns.get(&slice).copied().unwrap_or(0.0);
        let lost = self.lost_ns.range((slice, Cause::first())..);
        let lost = lost.take_while(move |((of, _), _)| *of == slice && waited_ns > 0.0);
        lost.map(move |((_, cause), ns)| (*cause, (ns / waited_ns).clamp(-1.0, 1.0)))
            .filter(|(_, part)| *part != 0.0)
    }
}

/// Waits of a class in calm: how long one takes, and each of its parts by its number; and how many
/// of them go on at once.
struct Usual {
    mean_ns: f64,
    parts_ns: Vec<f64>,
    at_once: f64,
}

impl Usual {
    fn part_ns(&self, number: PartNumber) -> f64 {
        self.parts_ns.get(usize::from(number)).copied().unwrap_or(0.0)
    }
}

/// The weighing of a class.
struct Weighing<'a> {
    scene: &'a Scene<'a>,
    class: &'a Class,
    by_slice: &'a mut BySlice,
    /// By the number of the part; and of time that was stolen.
    of_parts: Vec<OfPart>,
    stolen: OfPart,
    /// And of what nothing that was seen explains.
    unknown: OfPart,
    /// Of who waits for a thread, by that one's causes.
    behind: BTreeMap<Cause, OfPart>,
    wakers: &'a mut Wakers,
    files: WeighedFiles,
    /// What is longer than in calm: memory of one cell's.
    longer: Vec<(PartNumber, f64)>,
}

impl<'a> Weighing<'a> {
    fn new(
        scene: &'a Scene<'a>,
        class: &'a Class,
        by_slice: &'a mut BySlice,
        wakers: &'a mut Wakers,
    ) -> Self {
        let (of_parts, longer) = (Vec::new(), Vec::new());
        let (stolen, unknown) = (OfPart::default(), OfPart::default());
        let (behind, files) = (BTreeMap::new(), WeighedFiles::default());
        Self { scene, class, by_slice, of_parts, stolen, unknown, behind, wakers, files, longer }
    }

    fn of_class(&mut self, cells: &[Cell<'_>]) -> OfClass {
        let mut of_class = OfClass {
            count: cells.iter().map(|cell| cell.count).sum(),
            sum_ns: cells.iter().map(|cell| cell.sum_ns).sum(),
            ..OfClass::default()
        };
        let role = self.class.role;
        if self.scene.actors.is_kernel(role) {
            return of_class;
        }
        if let Some(waker) = self.class.kind.waker() {
            cells.iter().for_each(|cell| self.lose_behind(waker, cell));
            return of_class;
        }
        if let Some(waker) = self.wakers.0.get_mut(&role) {
            for cell in cells {
                *waker.waited_ns.entry(cell.slice).or_default() += cell.sum_ns as f64;
            }
        }
        if self.class.kind.is_lost_whole() {
            cells.iter().for_each(|cell| self.lose_whole(cell));
            return of_class;
        }
        let mut alike: Vec<Alike> = Vec::with_capacity(cells.len());
        let mut own_parts: Vec<OwnParts> = Vec::with_capacity(cells.len());
        for cell in cells {
            let (others, unrest) = self.scene.unrest(cell.slice, role);
            let parts_ns = self.scene.own_parts(cell, role);
            let slices = Slices::of(cell.count, cell.sum_ns, others, parts_ns);
            let key = Alike::of(unrest, cell.sum_ns / cell.count.max(1));
            of_class.slices.entry(key).or_default().merge(slices);
            alike.push(key);
            own_parts.push(parts_ns);
            for (number, ns) in self.scene.parts(cell, role) {
                let part = ns / cell.sum_ns.max(1) as f64;
                self.of_part(number).part.add(part, cell);
            }
        }
        match Calm::of(&of_class.slices, 1).filter(|calm| !calm.is_none()) {
            Some(calm) => {
                let quiet = cells.iter().zip(&alike).filter(|(_, alike)| calm.has(**alike));
                let quiet: Vec<Cell<'_>> = quiet.map(|(cell, _)| *cell).collect();
                let usual = self.usual(&quiet, &calm);
                cells.iter().for_each(|cell| self.against_calm(cell, &usual));
            }
            None => {
                of_class.open_count = of_class.count;
                of_class.open_ns = of_class.sum_ns;
                for parts_ns in own_parts {
                    let sums = of_class.open_parts_ns.iter_mut();
                    sums.zip(parts_ns).for_each(|(sum, ns)| *sum += ns);
                }
                cells.iter().for_each(|cell| self.leave_open(cell));
            }
        }
        of_class
    }

    fn of_part(&mut self, number: PartNumber) -> &mut OfPart {
        let place = usize::from(number);
        if self.of_parts.len() <= place {
            self.of_parts.resize(place + 1, OfPart::default());
        }
        &mut self.of_parts[place]
    }

    /// Waits that there are none of in calm. What nobody asked for meanwhile, and what a journal
    /// wrote, is the doing of those whose requests were in flight, by their shares: it is their
    /// pages that are too many, their commit that is waited for. Where neither others nor the
    /// waiter have any, and somebody must hold what is waited for, it is not known who.
    fn lose_whole(&mut self, cell: &Cell<'_>) {
        self.begin_files(cell, 0.0);
        let (scene, role) = (self.scene, self.class.role);
        let of = |number: PartNumber| scene.whose(number, role);
        let parts = || scene.parts(cell, role);
        let is_journals = |number: PartNumber| scene.is_request_of(number, JOURNAL);
        let is_nobodys =
            |number: PartNumber| is_journals(number) || of(number) == Err(OwnPart::Held);
        let sum = |is_it: &dyn Fn(PartNumber) -> bool| -> f64 {
            parts().filter(|(number, _)| is_it(*number)).map(|(_, ns)| ns).sum()
        };
        let others_ns = sum(&|number| matches!(of(number), Ok((_, Some(_)))));
        let (nobodys_ns, journals_ns) = (sum(&is_nobodys), sum(&is_journals));
        let is_good_part = |ns: f64| ns >= OTHERS_LEAST * cell.sum_ns as f64;
        let has_others = is_good_part(others_ns);
        let has_own = is_good_part(sum(&|number| of(number) == Err(OwnPart::Own)) - journals_ns);
        if self.class.kind.is_held() && !has_others && !has_own && nobodys_ns > 0.0 {
            self.unknown.above.add(nobodys_ns / cell.sum_ns.max(1) as f64, cell);
            self.lose(Cause::Nobody(Circumstance::Unknown), cell, nobodys_ns);
        }
        for (number, ns) in parts() {
            let (cause, ns) = match of(number) {
                // CPU time is measured: it stands for no more than itself.
                Ok((role, Some(_))) if has_others => {
                    (Some(Cause::Role(role)), ns * (1.0 + nobodys_ns / others_ns))
                }
                Ok((role, _)) => (Some(Cause::Role(role)), ns),
                // Without others it is the waiter's own affair: his pages, his lock.
                Err(_) if is_nobodys(number) => continue,
                Err(own) => (cause_of(own), ns),
            };
            let Some(cause) = cause else { continue };
            self.of_part(number).above.add(ns / cell.sum_ns.max(1) as f64, cell);
            self.lose(cause, cell, ns);
        }
    }

    /// What of a wait for a thread is lost is what of that one's waits is; all of one for a
    /// program's bulk writes.
    fn lose_behind(&mut self, waker: RoleId, cell: &Cell<'_>) {
        let bulk = self.scene.actors.bulk_writes(waker).filter(|_| self.class.size == OF_BULK);
        if let Some(bulk) = bulk {
            self.behind.entry(Cause::Role(bulk)).or_default().above.add(1.0, cell);
            return self.lose(Cause::Role(bulk), cell, cell.sum_ns as f64);
        }
        let Some(waker) = self.wakers.0.get(&waker) else { return };
        let parts: Vec<(Cause, f64)> = waker.parts(cell.slice).collect();
        for (cause, part) in parts {
            self.behind.entry(cause).or_default().above.add(part, cell);
            self.lose(cause, cell, part * cell.sum_ns as f64);
        }
    }

    /// What is lost from here on is of a cell's files, by what they took beyond so much each.
    fn begin_files(&mut self, cell: &Cell<'_>, calm_ns: f64) {
        self.files.begin(self.scene.book.on_files.parts(self.class, cell, calm_ns));
    }

    /// A wait may be of seconds: it was lost while it went on, and not when it began.
    fn lose(&mut self, cause: Cause, cell: &Cell<'_>, ns: f64) {
        self.files.lose(cause, ns);
        let waker = self.wakers.0.get_mut(&self.class.role);
        if let Some(waker) = waker.filter(|_| self.class.kind.waker().is_none()) {
            *waker.lost_ns.entry((cell.slice, cause)).or_default() += ns;
        }
        let spanned = cell.spanned(self.scene.book.width_ns);
        let slices = spanned.len() as f64;
        for slice in spanned {
            self.by_slice.lose(cause, slice, ns / slices);
        }
    }

    fn leave_open(&mut self, cell: &Cell<'_>) {
        self.begin_files(cell, 0.0);
        for (number, ns) in self.scene.parts(cell, self.class.role) {
            let Ok((role, _)) = self.scene.whose(number, self.class.role) else { continue };
            self.of_part(number).open.add(ns / cell.sum_ns.max(1) as f64, cell);
            self.lose(Cause::Role(role), cell, ns);
        }
    }

    /// What is usual in calm, by its cells.
    fn usual(&self, quiet: &[Cell<'_>], calm: &Calm) -> Usual {
        let mut parts_ns: Vec<f64> = Vec::new();
        let parts = quiet.iter().flat_map(|cell| self.scene.parts(cell, self.class.role));
        for (number, ns) in parts {
            let number = usize::from(number);
            if parts_ns.len() <= number {
                parts_ns.resize(number + 1, 0.0);
            }
            parts_ns[number] += ns;
        }
        parts_ns.iter_mut().for_each(|ns| *ns /= calm.count as f64);
        let all: f64 = quiet.iter().map(|cell| self.scene.at_once(cell)).sum();
        Usual { mean_ns: calm.mean_ns, parts_ns, at_once: all / quiet.len() as f64 }
    }

    fn against_calm(&mut self, cell: &Cell<'_>, usual: &Usual) {
        let count = cell.count as f64;
        let excess_ns = cell.sum_ns as f64 - count * usual.mean_ns;
        self.begin_files(cell, usual.mean_ns);
        // What each part is longer than in calm; where all is shorter, what it is.
        let mut longer = std::mem::take(&mut self.longer);
        longer.clear();
        if excess_ns > 0.0 {
            let parts = self.scene.parts(cell, self.class.role);
            let each = parts.map(|(part, ns)| (part, ns - count * usual.part_ns(part)));
            longer.extend(each.filter(|(_, ns)| *ns > 0.0));
            self.leave_to_others(cell, usual, &mut longer);
        } else {
            longer.extend(self.scene.parts(cell, self.class.role));
        }
        let whole_ns: f64 = longer.iter().map(|(_, ns)| ns).sum();
        if whole_ns > 0.0 && excess_ns != 0.0 {
            self.divide(cell, excess_ns, whole_ns, &longer);
        }
        self.longer = longer;
    }

    /// The waiter's own requests take longer by its own doing only as far as it waits for more at
    /// once than in calm; else by that of those beside them, if these are the greater part of the
    /// wait: a device that is slower for everybody is not their doing. What a journal writes for
    /// the waiter is as his own.
    fn leave_to_others(&self, cell: &Cell<'_>, usual: &Usual, longer: &mut [(PartNumber, f64)]) {
        let (scene, role) = (self.scene, self.class.role);
        let is_others = |number: PartNumber| matches!(scene.whose(number, role), Ok((_, Some(_))));
        let others_ns: f64 =
            longer.iter().filter(|(number, _)| is_others(*number)).map(|(_, ns)| ns).sum();
        if others_ns < GREATER * cell.sum_ns as f64 {
            return;
        }
        // One of its waits may go on in the next slice, in which it is not counted.
        let others = cell.count.saturating_sub(1) as f64 / cell.count.max(1) as f64;
        let at_once = others * scene.at_once(cell);
        let more = if at_once > usual.at_once { 1.0 - usual.at_once / at_once } else { 0.0 };
        for (number, ns) in longer {
            if [role, JOURNAL].iter().any(|own| scene.is_request_of(*number, *own)) {
                *ns *= more;
            }
        }
    }

    fn divide(
        &mut self,
        cell: &Cell<'_>,
        excess_ns: f64,
        whole_ns: f64,
        longer: &[(PartNumber, f64)],
    ) {
        let side = |of: &mut OfPart, part: f64| match excess_ns > 0.0 {
            true => of.above.add(part, cell),
            false => of.below.add(part, cell),
        };
        let stolen = self.scene.stolen_of(cell, excess_ns) / excess_ns;
        if stolen > 0.0 {
            side(&mut self.stolen, stolen);
            let cause = Cause::Nobody(Circumstance::Stolen);
            self.lose(cause, cell, stolen * excess_ns);
        }
        for (number, ns) in longer {
            let cause = match self.scene.whose(*number, self.class.role) {
                Ok((role, _)) => Some(Cause::Role(role)),
                Err(own) => cause_of(own),
            };
            let Some(cause) = cause else { continue };
            let part = (1.0 - stolen) * ns / whole_ns;
            side(self.of_part(*number), part);
            self.lose(cause, cell, part * excess_ns);
        }
    }

    /// What belongs to causes, as it is kept.
    fn tell(&self, sums: &mut Sums) {
        self.files.tell(Victim::of(self.class), &mut sums.on_files);
        let mut keep = |cause, op, of: &OfPart| {
            let lost = of.rounded();
            if lost != Lost::default() {
                sums.lost.entry((*self.class, cause, op)).or_default().merge(lost);
            }
        };
        keep(Cause::Nobody(Circumstance::Stolen), None, &self.stolen);
        keep(Cause::Nobody(Circumstance::Unknown), None, &self.unknown);
        self.behind.iter().for_each(|(cause, of)| keep(*cause, None, of));
        for (number, of) in self.of_parts.iter().enumerate() {
            match self.scene.whose(number as PartNumber, self.class.role) {
                Ok((role, op)) => keep(Cause::Role(role), op, of),
                // What is not longer than in calm is nobody's.
                Err(own) => cause_of(own).into_iter().for_each(|cause| {
                    keep(cause, None, &OfPart { part: PartSum::default(), ..*of });
                }),
            }
        }
    }
}

/// When a victim lost by each cause.
fn keep_storms(scene: &Scene<'_>, (victim, by_slice): &(Victim, BySlice), sums: &mut Sums) {
    for (cause, lost_ns) in by_slice.all() {
        let gains = lost_ns.iter().enumerate().filter(|(_, ns)| **ns > 0.0);
        let mut storms: Vec<(i64, i64, f64)> = Vec::new();
        for (slice, ns) in gains {
            let (from_ns, until_ns) = (scene.book.begin_ns(slice), scene.book.begin_ns(slice + 1));
            match storms.last_mut() {
                Some((_, last_ns, sum)) if from_ns - *last_ns <= GAP_NS => {
                    *last_ns = until_ns;
                    *sum += ns;
                }
                _ => storms.push((from_ns, until_ns, *ns)),
            }
        }
        let least_ns = STORM_NS.max(STORM_PART * storms.iter().map(|(.., ns)| ns).sum::<f64>());
        // One at an end of the span may go on in the next, and be larger than it seems here.
        let span = &scene.book.time_ns;
        let is_at_end = |from_ns: i64, until_ns: i64| {
            from_ns.saturating_sub(span.start) <= GAP_NS
                || span.end.saturating_sub(until_ns) <= GAP_NS
        };
        let storms = storms.into_iter().filter(|(from_ns, until_ns, ns)| {
            *ns >= least_ns || *ns >= STORM_NS && is_at_end(*from_ns, *until_ns)
        });
        let storms = storms.map(|(from_ns, until_ns, ns)| Storm {
            from_ns,
            until_ns,
            lost_ns: ns.round() as u64,
        });
        // A wait is longer than the device stood still in it.
        let storms: Vec<Storm> = match cause {
            Cause::Nobody(Circumstance::Device) => {
                storms.flat_map(|storm| scene.book.stalls_in(storm)).collect()
            }
            _ => storms.collect(),
        };
        if !storms.is_empty() {
            sums.storms.entry((*victim, cause)).or_default().extend(storms);
        }
    }
}
