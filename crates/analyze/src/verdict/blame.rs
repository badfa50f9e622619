//! Who lost how much time to whom.
//!
//! A wait's comparison are the waits of its class in calm: in slices of time in which others were
//! hardly busy at the device, or, where there are too few of these, in the quietest tenth. What a
//! slice's waits took beyond that is divided among the parts of a wait that are longer than in
//! calm, and so among the roles whose requests were in flight. Less than in calm counts against
//! it, so that chance sums to nothing. While the hypervisor took CPUs away, as much of it as that
//! can explain is its doing and nobody's here. Where others are busy all the time there is no calm:
//! then the time that belonged to them while the waits went on is taken, and is said to be an
//! estimate.
//!
//! The interval of a loss is what as many waits of calm slices would sum to by chance (by the
//! normal distribution, from the spread of slices, whose waits depend on each other), with the
//! comparison's own error. It tells what was lost here, and not what another hour would lose.
//!
//! Non-goals: words (`report::verdict`).

use super::actors::{Actors, JOURNAL, RoleId};
use super::book::{Book, Cell};
use super::disk::Part;
use super::waits::{Class, Kind};
use model::circumstance::Circumstance;
use model::record::Op;
use std::collections::BTreeMap;

/// In calm, others are busy for less than this part of the time.
const CALM: f64 = 0.02;
/// The least number of waits that make a comparison, and their least part of all.
const LEAST: f64 = 20.0;
const LEAST_PART: f64 = 0.01;
/// Without calm: the quietest part of all waits.
const QUIETEST: f64 = 0.1;
/// Others that are busy for more than this part even then leave no calm at all.
const NO_CALM: f64 = 0.5;
/// Without calm, others are to blame for the time of waits only if it is mostly theirs.
const MOSTLY: f64 = 0.67;
/// Slices whose waits took so many times the middle one's are not what is usual in calm.
const UNUSUAL: f64 = 5.0;
/// Losses that are nearer to each other are one storm.
const GAP_NS: i64 = 1_500_000_000;
/// The largest storms, which have this part of a pair's loss together, are told of; so many at
/// most.
const MOST_OF_IT: f64 = 0.8;
const STORMS_MOST: usize = 1000;
/// A loss above this is worth a sentence in however long a trace, in ns.
const LARGE_NS: f64 = 1e9;

/// Who waited, for what, where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Victim {
    pub(crate) role: RoleId,
    pub(crate) kind: Kind,
    pub(crate) device: u32,
}

/// What made it wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Requests of another role.
    Role(RoleId),
    /// What is no request of anybody.
    Nobody(Circumstance),
}

/// A victim's waits in all.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Waits {
    pub(crate) count: f64,
    pub(crate) sum_ns: f64,
    pub(crate) calm_count: f64,
    pub(crate) calm_mean_ns: Option<f64>,
}

/// What a victim lost to a cause.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loss {
    pub(crate) victim: Victim,
    pub(crate) cause: Cause,
    pub(crate) lost_ns: f64,
    pub(crate) low_ns: f64,
    pub(crate) high_ns: f64,
    /// By what the cause did.
    pub(crate) by_op: Vec<(Op, f64)>,
    /// The waits that were affected: how many, how long, and how long they would have been.
    pub(crate) count: f64,
    pub(crate) mean_ns: f64,
    pub(crate) calm_mean_ns: f64,
    /// When, if it was not all the time: begins and ends.
    pub(crate) storms_ns: Vec<(i64, i64)>,
    /// Without calm to compare with.
    pub(crate) is_estimate: bool,
}

/// What is gathered of a pair.
#[derive(Debug, Default)]
struct Sum {
    by_slice: BTreeMap<usize, f64>,
    by_op: Vec<(Op, f64)>,
    count: f64,
    took_ns: f64,
    calm_ns: f64,
    /// The comparison's error over all affected waits, and the variance of as many in calm.
    error_ns: f64,
    chance_ns2: f64,
    is_estimate: bool,
}

/// The sums of a victim.
struct Sums<'a> {
    victim: Victim,
    sums: &'a mut BTreeMap<(Victim, Cause), Sum>,
}

impl Sums<'_> {
    fn of(&mut self, cause: Cause) -> &mut Sum {
        self.sums.entry((self.victim, cause)).or_default()
    }
}

/// What a class of waits takes in calm.
#[derive(Debug)]
struct Calm {
    count: f64,
    mean_ns: f64,
    error_ns: f64,
    /// The variance of a sum of waits over how many they are.
    chance_ns2: f64,
    parts: Vec<(Part, f64)>,
    /// For which part of the time others were busy even then.
    others: f64,
}

/// What is known of a device's time.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) book: &'a Book,
    pub(crate) actors: &'a Actors,
    /// CPU time that was stolen, by slice of the book.
    pub(crate) stolen_ns: Vec<f64>,
}

impl Scene<'_> {
    /// For which part of a slice others were busy.
    fn others(&self, slice: usize, waiter: RoleId) -> f64 {
        let roles = self.book.busy_ns.get(slice).into_iter().flatten();
        let busy_ns: i64 =
            roles.filter(|(role, _)| is_other(*role, waiter)).map(|(_, busy_ns)| busy_ns).sum();
        (busy_ns as f64 / self.book.width_ns as f64).min(1.0)
    }

    fn stolen_ns(&self, slice: usize) -> f64 {
        self.stolen_ns.get(slice).copied().unwrap_or(0.0)
    }

    /// How far a slice is from calm for a waiter: others were busy, or CPUs stolen. A wait may
    /// reach into the next one.
    fn unrest(&self, slice: usize, waiter: RoleId) -> f64 {
        let of = |slice| {
            let stolen = self.stolen_ns(slice) / self.book.width_ns as f64;
            self.others(slice, waiter).max(stolen.min(1.0))
        };
        of(slice).max(of(slice + 1))
    }

    /// What of a slice's excess stolen CPU time can explain: each that waited lost as much as was
    /// stolen while it waited.
    fn stolen_of(&self, slice: usize, cell: &Cell, excess_ns: f64) -> f64 {
        let waiting = (cell.sum_ns / self.book.width_ns as f64).max(1.0);
        let most_ns = self.stolen_ns(slice) * waiting;
        excess_ns.clamp(-most_ns, most_ns)
    }
}

/// Everybody's waits and losses at one device, in an order of their own.
pub(crate) fn blame(scene: &Scene<'_>) -> (BTreeMap<Victim, Waits>, Vec<Loss>) {
    let mut waits: BTreeMap<Victim, Waits> = BTreeMap::new();
    let mut sums: BTreeMap<(Victim, Cause), Sum> = BTreeMap::new();
    for (class, cells) in &scene.book.waits {
        let victim = Victim { role: class.role, kind: class.kind, device: class.device };
        let calm = calm(class, cells, scene);
        let sum = waits.entry(victim).or_default();
        let count: f64 = cells.values().map(|cell| cell.count).sum();
        sum.count += count;
        sum.sum_ns += cells.values().map(|cell| cell.sum_ns).sum::<f64>();
        let Some(calm) = calm else { continue };
        let known = sum.calm_mean_ns.unwrap_or(0.0) * sum.calm_count;
        sum.calm_count += calm.count;
        sum.calm_mean_ns = Some((known + calm.mean_ns * calm.count) / sum.calm_count);
        let mut sums = Sums { victim, sums: &mut sums };
        match calm.others > NO_CALM {
            true => estimate(class.role, cells, &mut sums),
            false => against_calm(class, cells, &calm, scene, &mut sums),
        }
    }
    let losses = sums.into_iter();
    let losses = losses
        .map(|((victim, cause), sum)| loss(victim, cause, &sum, scene.book.width_ns))
        .collect();
    (waits, losses)
}

/// Whether requests of a role are somebody else's to a waiter.
fn is_other(role: RoleId, waiter: RoleId) -> bool {
    role != waiter && role != JOURNAL
}

fn calm(class: &Class, cells: &BTreeMap<usize, Cell>, scene: &Scene<'_>) -> Option<Calm> {
    if scene.actors.is_kernel(class.role) {
        return None;
    }
    let whole: f64 = cells.values().map(|cell| cell.count).sum();
    let mut quiet: Vec<(f64, usize, &Cell)> = cells
        .iter()
        .map(|(slice, cell)| (scene.unrest(*slice, class.role), *slice, cell))
        .collect();
    quiet.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let count_of =
        |cells: &[(f64, usize, &Cell)]| cells.iter().map(|(_, _, c)| c.count).sum::<f64>();
    let calm_until = quiet.partition_point(|(busy, _, _)| *busy < CALM);
    let is_enough = count_of(&quiet[..calm_until]) >= LEAST.max(LEAST_PART * whole);
    let until = match is_enough {
        true => calm_until,
        false => {
            let wanted = LEAST.max(QUIETEST * whole);
            let mut seen = 0.0;
            let is_enough = |(_, _, cell): &(f64, usize, &Cell)| {
                seen += cell.count;
                seen >= wanted
            };
            quiet.iter().position(is_enough)? + 1
        }
    };
    let others = |slice| scene.others(slice, class.role).max(scene.others(slice + 1, class.role));
    Some(mean(&quiet[..until], others))
}

/// The comparison: of slices the middle one by their means, so that a few bad ones in calm are
/// seen as what they are.
fn mean(quiet: &[(f64, usize, &Cell)], others: impl Fn(usize) -> f64) -> Calm {
    let mut means: Vec<(f64, f64)> =
        quiet.iter().map(|(_, _, cell)| (cell.sum_ns / cell.count, cell.count)).collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let count: f64 = means.iter().map(|(_, count)| count).sum();
    let mut seen = 0.0;
    let middle_ns = means.iter().find_map(|(mean, of)| {
        seen += of;
        (seen >= count / 2.0).then_some(*mean)
    });
    // Of what is not far from the middle, the mean.
    let limit_ns = UNUSUAL * middle_ns.unwrap_or(0.0);
    let mut usual = Cell::default();
    let mut busy = 0.0;
    for (_, slice, cell) in quiet {
        if cell.sum_ns <= limit_ns * cell.count {
            usual.add(cell);
            busy += others(*slice) * cell.count;
        }
    }
    let mean_ns = usual.sum_ns / usual.count;
    let near = means.iter().filter(|(mean, _)| *mean <= limit_ns);
    let spread: f64 = near.clone().map(|(mean, of)| of * of * (mean - mean_ns).powi(2)).sum();
    Calm {
        count: usual.count,
        mean_ns,
        error_ns: spread.sqrt() / usual.count,
        chance_ns2: spread / usual.count,
        parts: usual.parts.iter().map(|(part, ns)| (*part, ns / usual.count)).collect(),
        others: busy / usual.count,
    }
}

/// Without calm: what belonged to others while the waits went on.
fn estimate(waiter: RoleId, cells: &BTreeMap<usize, Cell>, sums: &mut Sums<'_>) {
    for (slice, cell) in cells {
        for (part, ns) in &cell.parts {
            let Part::Act(act) = part else { continue };
            if !is_other(act.role, waiter) {
                continue;
            }
            let sum = sums.of(Cause::Role(act.role));
            sum.lose(*slice, Some(act.op), *ns);
            sum.is_estimate = true;
            sum.count += cell.count * ns / cell.sum_ns;
            sum.took_ns += ns;
        }
    }
}

fn against_calm(
    class: &Class,
    cells: &BTreeMap<usize, Cell>,
    calm: &Calm,
    scene: &Scene<'_>,
    sums: &mut Sums<'_>,
) {
    for (slice, cell) in cells {
        let excess_ns = cell.sum_ns - cell.count * calm.mean_ns;
        let in_calm = |part: &Part| {
            calm.parts.iter().find(|(known, _)| known == part).map_or(0.0, |(_, ns)| *ns)
        };
        // What each part is longer than in calm; where all is shorter, what it is.
        let longer: Vec<(Part, f64)> = cell
            .parts
            .iter()
            .map(|(part, ns)| match excess_ns > 0.0 {
                true => (*part, (ns - cell.count * in_calm(part)).max(0.0)),
                false => (*part, *ns),
            })
            .collect();
        let whole: f64 = longer.iter().map(|(_, ns)| ns).sum();
        if whole <= 0.0 {
            continue;
        }
        let mut of_others: Vec<(Cause, f64)> = Vec::new();
        let stolen_ns = scene.stolen_of(*slice, cell, excess_ns);
        if stolen_ns != 0.0 {
            sums.of(Cause::Nobody(Circumstance::Stolen)).lose(*slice, None, stolen_ns);
            of_others.push((Cause::Nobody(Circumstance::Stolen), stolen_ns));
        }
        for (part, ns) in longer {
            let share_ns = (excess_ns - stolen_ns) * ns / whole;
            let (cause, op) = match part {
                Part::Act(act) if is_other(act.role, class.role) => {
                    (Cause::Role(act.role), Some(act.op))
                }
                Part::Act(_) => continue,
                Part::Stalled => (Cause::Nobody(Circumstance::Device), None),
                Part::Held => (Cause::Nobody(Circumstance::Held), None),
                Part::Throttled => (Cause::Nobody(Circumstance::Throttled), None),
            };
            sums.of(cause).lose(*slice, op, share_ns);
            match of_others.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, sum)) => *sum += share_ns,
                None => of_others.push((cause, share_ns)),
            }
        }
        for (cause, share_ns) in of_others.into_iter().filter(|(_, share_ns)| *share_ns > 0.0) {
            // As many waits as have lost by it, if each lost by one cause alone.
            let count = cell.count * share_ns / excess_ns;
            let sum = sums.of(cause);
            sum.count += count;
            sum.calm_ns += count * calm.mean_ns;
            sum.took_ns += count * cell.sum_ns / cell.count;
            sum.error_ns += count * calm.error_ns;
            sum.chance_ns2 += count * calm.chance_ns2;
        }
    }
}

impl Sum {
    fn lose(&mut self, slice: usize, op: Option<Op>, ns: f64) {
        *self.by_slice.entry(slice).or_default() += ns;
        let Some(op) = op else { return };
        match self.by_op.iter_mut().find(|(known, _)| *known == op) {
            Some((_, sum)) => *sum += ns,
            None => self.by_op.push((op, ns)),
        }
    }
}

fn loss(victim: Victim, cause: Cause, sum: &Sum, width_ns: i64) -> Loss {
    let lost_ns: f64 = sum.by_slice.values().sum();
    let half_ns = 1.96 * (sum.error_ns + sum.chance_ns2.sqrt());
    let mut by_op = sum.by_op.clone();
    by_op.sort_by(|a, b| b.1.total_cmp(&a.1));
    Loss {
        victim,
        cause,
        lost_ns,
        low_ns: lost_ns - half_ns,
        high_ns: lost_ns + half_ns,
        by_op,
        count: sum.count,
        mean_ns: sum.took_ns / sum.count,
        calm_mean_ns: sum.calm_ns / sum.count,
        storms_ns: storms(sum, lost_ns, width_ns),
        is_estimate: sum.is_estimate,
    }
}

/// Begins and ends of what was lost at once.
fn storms(sum: &Sum, lost_ns: f64, width_ns: i64) -> Vec<(i64, i64)> {
    let mut storms: Vec<(i64, i64, f64)> = Vec::new();
    for (slice, ns) in sum.by_slice.iter().filter(|(_, ns)| **ns > 0.0) {
        let (begin_ns, end_ns) = (*slice as i64 * width_ns, (*slice as i64 + 1) * width_ns);
        match storms.last_mut() {
            Some((_, last_ns, sum)) if begin_ns - *last_ns <= GAP_NS => {
                *last_ns = end_ns;
                *sum += ns;
            }
            _ => storms.push((begin_ns, end_ns, *ns)),
        }
    }
    storms.sort_by(|a, b| b.2.total_cmp(&a.2));
    let mut told_ns = 0.0;
    let last_needed = storms.iter().find(|(_, _, sum)| {
        told_ns += sum;
        told_ns >= MOST_OF_IT * lost_ns
    });
    // Those that are like the last one of these are told of, too.
    let least_ns = last_needed.map_or(0.0, |(_, _, sum)| sum / 2.0);
    let mut large: Vec<(i64, i64)> = storms
        .iter()
        .take(STORMS_MOST)
        .take_while(|(_, _, sum)| *sum >= least_ns)
        .map(|(begin_ns, end_ns, _)| (*begin_ns, *end_ns))
        .collect();
    large.sort_unstable();
    large
}

/// Whether a loss is worth a sentence: sure, of waits that took clearly longer, and a good part of
/// the victim's waiting, or less of it while waits took much longer.
pub(crate) fn matters(loss: &Loss, waits: &Waits, span_ns: f64) -> bool {
    let (of_waits, of_span) = (loss.lost_ns / waits.sum_ns, loss.lost_ns / span_ns);
    let ratio = loss.mean_ns / loss.calm_mean_ns;
    let is_large = of_span >= 0.005 || loss.lost_ns >= LARGE_NS;
    let is_much = of_waits >= 0.05 && is_large && ratio >= 1.3;
    let is_steep = of_waits >= 0.01 && of_span >= 0.005 && ratio >= 2.0;
    match loss.is_estimate {
        true => of_waits >= MOSTLY && is_large,
        false => loss.low_ns > 0.0 && (is_much || is_steep),
    }
}
