//! Who lost how much time to whom, of what was weighed by spans ([`super::weigh`]).
//!
//! A wait's comparison are the waits of its class in calm ([`super::calm`]), chosen over the whole
//! time. What the affected waits took beyond as many in calm was lost. Waits of spans that had no
//! calm of their own are divided as one: what they took beyond calm, among the parts that are
//! longer than in calm. Where others are busy all the time there is no calm at all: then the time
//! that belonged to them while the waits went on is taken, and is said to be an estimate.
//!
//! The interval of a loss is what as many waits of calm slices would sum to by chance (by the
//! normal distribution, from the spread of slices, whose waits depend on each other), with the
//! comparison's own error. It tells what was lost here, and not what another hour would lose.
//!
//! Non-goals: words (`report::verdict`).

use super::calm::{Calm, LEAST, OwnPart};
use super::sums::{CalmSlices, Cause, Key, Lost, OfClass, Storm, Sums, Victim};
use super::waits::Class;
use super::weigh::{GAP_NS, cause_of};
use crate::response::period;
use analyze::statistics::NORMAL_95;
use model::histogram::ListedHistogram;
use model::record::Op;
use std::collections::BTreeMap;

/// Waits of which others had no more than this part could not have lost much to them.
const UNKNOWN_PART: f64 = 0.1;
/// Without calm, others are to blame for the time of waits only if it is mostly theirs, and one of
/// them only for a good part of that.
const MOSTLY: f64 = 0.67;
pub(crate) const GOOD_PART: f64 = 0.33;
/// The largest storms, which have this part of a pair's loss together, are told of; so many at
/// most.
const MOST_OF_IT: f64 = 0.8;
const STORMS_MOST: usize = 1000;
/// A loss above this is worth a sentence in however long a trace, in ns.
pub(crate) const LARGE_NS: f64 = 1e9;

/// A victim's waits in all.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Waits {
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    /// How long each took.
    pub(crate) times: ListedHistogram,
    /// The waits in calm of the classes that have any.
    pub(crate) calm_count: u64,
    pub(crate) calm_ns: f64,
    /// All waits of these classes, how long they took, and how long as many would take in calm.
    pub(crate) compared_count: u64,
    pub(crate) compared_ns: u64,
    pub(crate) expected_ns: f64,
    /// Those that are among them without calm to compare with, while others were busy.
    pub(crate) uncompared_count: u64,
    pub(crate) uncompared_ns: u64,
}

impl Waits {
    /// How long a wait takes in calm, in the mean over its classes as often as each was waited in:
    /// held against a mean of another mix it would tell the mix.
    pub(crate) fn calm_mean_ns(&self) -> Option<f64> {
        self.of_compared(self.expected_ns)
    }

    /// How long these same waits took: there may be others, of classes without calm.
    pub(crate) fn compared_mean_ns(&self) -> Option<f64> {
        self.of_compared(self.compared_ns as f64)
    }

    fn of_compared(&self, ns: f64) -> Option<f64> {
        (self.compared_count > 0).then(|| ns / self.compared_count as f64)
    }
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
    /// What no operation of the cause explains: of a role's, CPU time that it used.
    pub(crate) without_op_ns: f64,
    /// The waits that were affected: how many, how long, and how long they would have been.
    pub(crate) count: f64,
    pub(crate) mean_ns: f64,
    pub(crate) calm_mean_ns: f64,
    /// When, if it was not all the time: begins and ends.
    pub(crate) storms_ns: Vec<(i64, i64)>,
    /// From one's start to the next, where they come regularly.
    pub(crate) period_ns: Option<f64>,
    /// Without calm to compare with.
    pub(crate) is_estimate: bool,
}

/// What is gathered of a pair.
#[derive(Debug, Default)]
struct Sum {
    lost_ns: f64,
    by_op: BTreeMap<Op, f64>,
    without_op_ns: f64,
    count: f64,
    took_ns: f64,
    calm_ns: f64,
    /// The comparison's error over all affected waits, and the variance of as many in calm.
    error_ns: f64,
    chance_ns2: f64,
    is_estimate: bool,
}

impl Sum {
    fn lose(&mut self, op: Option<Op>, ns: f64) {
        self.lost_ns += ns;
        match op {
            Some(op) => *self.by_op.entry(op).or_default() += ns,
            None => self.without_op_ns += ns,
        }
    }

    /// So many waits were affected, and took so long.
    fn affected(&mut self, count: f64, took_ns: f64, calm: &Calm) {
        self.count += count;
        self.took_ns += took_ns;
        self.calm_ns += count * calm.mean_ns;
        self.error_ns += count * calm.error_ns;
        self.chance_ns2 += count * calm.chance_ns2;
    }
}

type Pairs = BTreeMap<(Victim, Cause), Sum>;

/// Everybody's waits and losses, in an order of their own; held against the calm of these, or of
/// a time that they are a part of.
pub(crate) fn blame(
    sums: &Sums,
    calm_of: Option<&CalmSlices>,
) -> (BTreeMap<Victim, Waits>, Vec<Loss>) {
    let mut waits: BTreeMap<Victim, Waits> = BTreeMap::new();
    let mut pairs = Pairs::new();
    for (class, of_class) in &sums.classes {
        let victim = Victim::of(class);
        let of_victim = waits.entry(victim).or_default();
        of_victim.count += of_class.count;
        of_victim.sum_ns += of_class.sum_ns;
        of_victim.times.merge(&of_class.times);
        if class.kind.is_lost_whole() {
            against_calm(class, sums, &Calm::default(), &mut pairs);
            continue;
        }
        let slices = calm_of.and_then(|of| of.get(class)).unwrap_or(&of_class.slices);
        let calm = Calm::of(slices, LEAST);
        let is_few = calm.is_none();
        match calm.filter(|calm| !calm.is_none()) {
            None => {
                let of_others_ns =
                    of_others(class, sums).map(|(_, lost)| lost.part.ns).sum::<u64>();
                if of_others_ns as f64 > UNKNOWN_PART * of_class.sum_ns as f64 {
                    of_victim.uncompared_count += of_class.count;
                    of_victim.uncompared_ns += of_class.sum_ns;
                }
                // Few short waits lost nothing that could be told from chance.
                if !is_few || of_others_ns as f64 >= LARGE_NS {
                    estimate(class, sums, &mut pairs);
                }
            }
            Some(calm) => {
                of_victim.calm_count += calm.count;
                of_victim.calm_ns += calm.mean_ns * calm.count as f64;
                of_victim.compared_count += of_class.count;
                of_victim.compared_ns += of_class.sum_ns;
                of_victim.expected_ns += calm.mean_ns * of_class.count as f64;
                against_calm(class, sums, &calm, &mut pairs);
                divide(class, of_class, sums, &calm, &mut pairs);
            }
        }
    }
    let losses = pairs.into_iter().map(|((victim, cause), sum)| {
        let storms = sums.storms.get(&(victim, cause)).map_or(&[][..], Vec::as_slice);
        loss(victim, cause, &sum, storms)
    });
    (waits, losses.collect())
}

/// What was weighed of a class.
fn lost_of<'s>(class: &Class, sums: &'s Sums) -> impl Iterator<Item = (&'s Key, &'s Lost)> {
    let first = (*class, Cause::first(), None);
    sums.lost.range(first..).take_while(move |((of, ..), _)| of == class)
}

/// What belonged to others while the waits of a class went on.
fn of_others<'s>(class: &Class, sums: &'s Sums) -> impl Iterator<Item = (&'s Key, &'s Lost)> {
    lost_of(class, sums).filter(|(_, lost)| lost.part.ns > 0)
}

/// Without calm it is all lost.
fn estimate(class: &Class, sums: &Sums, pairs: &mut Pairs) {
    for ((_, cause, op), lost) in of_others(class, sums) {
        let sum = pairs.entry((Victim::of(class), *cause)).or_default();
        sum.lose(*op, lost.part.ns as f64);
        sum.is_estimate = true;
        sum.count += lost.part.count();
        sum.took_ns += lost.part.ns as f64;
    }
}

/// What affected waits took beyond as many in calm.
fn against_calm(class: &Class, sums: &Sums, calm: &Calm, pairs: &mut Pairs) {
    for ((_, cause, op), lost) in lost_of(class, sums) {
        let (above, below) = (lost.above, lost.below);
        if (above.ns, below.ns) == (0, 0) {
            continue;
        }
        let beyond_ns = |count: f64, ns: u64| ns as f64 - count * calm.mean_ns;
        let sum = pairs.entry((Victim::of(class), *cause)).or_default();
        let lost_ns = beyond_ns(above.count(), above.ns) + beyond_ns(below.count(), below.ns);
        sum.lose(*op, lost_ns);
        sum.affected(above.count(), above.ns as f64, calm);
        sum.is_estimate |= class.kind.is_guessed();
    }
}

/// The waits of spans without calm of their own, as one.
fn divide(class: &Class, of_class: &OfClass, sums: &Sums, calm: &Calm, pairs: &mut Pairs) {
    const OWN_PARTS: [OwnPart; 4] =
        [OwnPart::Own, OwnPart::Held, OwnPart::Stalled, OwnPart::Throttled];
    if of_class.open_count == 0 {
        return;
    }
    let (count, whole_ns) = (of_class.open_count as f64, of_class.open_ns as f64);
    let excess_ns = whole_ns - count * calm.mean_ns;
    let longer_ns = |own: &OwnPart| {
        let ns = of_class.open_parts_ns[*own as usize] as f64;
        let calm_ns = if excess_ns > 0.0 { calm.parts_ns[*own as usize] } else { 0.0 };
        (ns - count * calm_ns).max(0.0)
    };
    let own = OWN_PARTS.iter().map(|own| (cause_of(*own), None, longer_ns(own)));
    let others = lost_of(class, sums).filter(|(_, lost)| lost.open.ns > 0);
    let others = others.map(|((_, cause, op), lost)| (Some(*cause), *op, lost.open.ns as f64));
    let parts: Vec<(Option<Cause>, Option<Op>, f64)> = own.chain(others).collect();
    let all_ns: f64 = parts.iter().map(|(.., ns)| ns).sum();
    for (cause, op, ns) in parts {
        let Some(cause) = cause.filter(|_| ns > 0.0) else { continue };
        let part = ns / all_ns;
        let sum = pairs.entry((Victim::of(class), cause)).or_default();
        sum.lose(op, part * excess_ns);
        if excess_ns > 0.0 {
            sum.affected(part * count, part * whole_ns, calm);
        }
    }
}

fn loss(victim: Victim, cause: Cause, sum: &Sum, storms: &[Storm]) -> Loss {
    let half_ns = NORMAL_95 * (sum.error_ns + sum.chance_ns2.sqrt());
    let mut by_op: Vec<(Op, f64)> = sum.by_op.iter().map(|(op, ns)| (*op, *ns)).collect();
    by_op.sort_by(|a, b| b.1.total_cmp(&a.1));
    let storms_ns = largest(storms, cause.is_still(), sum.lost_ns);
    let starts_ns: Vec<i64> = storms_ns.iter().map(|(from_ns, _)| *from_ns).collect();
    Loss {
        victim,
        cause,
        lost_ns: sum.lost_ns,
        low_ns: sum.lost_ns - half_ns,
        high_ns: sum.lost_ns + half_ns,
        by_op,
        without_op_ns: sum.without_op_ns,
        count: sum.count,
        mean_ns: sum.took_ns / sum.count,
        calm_mean_ns: sum.calm_ns / sum.count,
        storms_ns,
        period_ns: period(&starts_ns).map(|period| period.period_ns),
        is_estimate: sum.is_estimate,
    }
}

/// Storms in the order of time, those that are near each other as one; not so where the device
/// stood still, which it did not in between.
pub(crate) fn united(mut storms: Vec<Storm>, is_still: bool) -> Vec<Storm> {
    let gap_ns = if is_still { 0 } else { GAP_NS };
    storms.sort_unstable();
    storms.dedup_by(|next, last| {
        let is_near = next.from_ns - last.until_ns <= gap_ns;
        if is_near {
            last.until_ns = last.until_ns.max(next.until_ns);
            last.lost_ns += next.lost_ns;
        }
        is_near
    });
    storms
}

/// Begins and ends of what was lost at once.
fn largest(storms: &[Storm], is_still: bool, lost_ns: f64) -> Vec<(i64, i64)> {
    let mut storms = united(storms.to_vec(), is_still);
    storms.sort_by_key(|storm| std::cmp::Reverse(storm.lost_ns));
    let mut told_ns = 0.0;
    let last_needed = storms.iter().find(|storm| {
        told_ns += storm.lost_ns as f64;
        told_ns >= MOST_OF_IT * lost_ns
    });
    // Those that are like the last one of these are told of, too.
    let least_ns = last_needed.map_or(0, |storm| storm.lost_ns / 2);
    let told = storms.iter().take(STORMS_MOST).take_while(|storm| storm.lost_ns >= least_ns);
    let mut told: Vec<(i64, i64)> = told.map(|storm| (storm.from_ns, storm.until_ns)).collect();
    told.sort_unstable();
    told
}

/// Whether a loss is worth a sentence: sure, of waits that took clearly longer, and a good part of
/// the victim's waiting, or less of it while waits took much longer. `of_all_ns` is what the victim
/// lost to everybody for this.
pub(crate) fn matters(loss: &Loss, waits: &Waits, of_all_ns: f64, span_ns: f64) -> bool {
    let (of_waits, of_span) = (loss.lost_ns / waits.sum_ns as f64, loss.lost_ns / span_ns);
    let ratio = loss.mean_ns / loss.calm_mean_ns;
    let is_large = of_span >= 0.005 || loss.lost_ns >= LARGE_NS;
    let is_much = of_waits >= 0.05 && is_large && ratio >= 1.3;
    // Of waits that there are none of in calm, the ratio tells nothing.
    let has_calm = loss.calm_mean_ns > 0.0;
    let is_steep = has_calm && of_waits >= 0.01 && of_span >= 0.005 && ratio >= 2.0;
    match loss.is_estimate {
        true => {
            let is_mostly = of_all_ns / waits.sum_ns as f64 >= MOSTLY;
            is_mostly && of_waits >= GOOD_PART && is_large
        }
        false => loss.low_ns > 0.0 && (is_much || is_steep),
    }
}

#[cfg(test)]
mod tests {
    use super::super::actors::RoleId;
    use super::super::calm::{Alike, Slices};
    use super::super::waits::Kind;
    use super::*;

    /// In calm there may be many long requests, and else many short ones.
    #[test]
    fn what_a_wait_takes_in_calm_is_of_the_mix_of_all_waits() {
        let slice = |unrest: f64, count: u64, mean_ns: u64| {
            let sum_ns = count * mean_ns;
            (Alike::of(unrest, mean_ns), Slices::of(count, sum_ns, unrest, [sum_ns, 0, 0, 0]))
        };
        let of_class = |slices: &[(Alike, Slices)]| OfClass {
            count: slices.iter().map(|(_, of)| of.count).sum(),
            sum_ns: slices.iter().map(|(_, of)| of.sum_ns).sum(),
            slices: slices.iter().copied().collect(),
            ..OfClass::default()
        };
        let class = |size| Class { device: 1, role: RoleId(1), kind: Kind::Read, size };
        let small = of_class(&[slice(0.0, 2000, 100_000), slice(0.9, 98_000, 1_000_000)]);
        let large = of_class(&[slice(0.0, 1000, 10_000_000)]);
        let mut classes = BTreeMap::from([(class(0), small), (class(4), large)]);
        let of = |classes: &BTreeMap<Class, OfClass>| {
            let (waits, _) = blame(&Sums { classes: classes.clone(), ..Sums::default() }, None);
            waits.into_values().next().unwrap()
        };
        let all = of(&classes);
        let expected_ns = (100_000.0 * 1e5 + 1000.0 * 1e7) / 101_000.0;
        assert_eq!((all.calm_count, all.calm_mean_ns()), (3000, Some(expected_ns)));
        let mean_ns = all.sum_ns as f64 / all.count as f64;
        assert!(expected_ns < mean_ns);
        assert_eq!(all.compared_mean_ns(), Some(mean_ns));
        // Few that have no calm of their size change the mean, and not what is compared.
        classes.insert(class(7), of_class(&[slice(0.9, 10, 5_000_000_000)]));
        let more = of(&classes);
        assert!(more.sum_ns as f64 / more.count as f64 > 1.3 * mean_ns);
        assert_eq!(more.calm_mean_ns(), Some(expected_ns));
        assert_eq!(more.compared_mean_ns(), Some(mean_ns));
    }
}
