//! Pages of a file that had been in memory, were evicted, and are read again: the additional reads
//! are lost to whoever filled memory, however short each is.
//!
//! The evidence. A request says that its page had been evicted and is read again
//! ([`Flags::REFAULTED`]), from a file or from swap space: data that is read for the first time
//! never does, nor does a program that asks for more of what is in memory or was never there. What
//! filled memory are the reads that go through the page cache or come from swap space, and what a
//! program had to be swapped out for.
//!
//! The rule, by spans of 5 s. In a span, a role lost what its reads of evicted pages took beyond
//! calm, if within the minute before others read 16 MiB or more through the page cache, and at
//! least as much as all else that filled memory: writes, and what the role itself read. Calm are
//! the spans before which others read less than 16 MiB; without two of these nothing is said to be
//! lost. It is divided among these others by their bytes. The part of all else that filled memory
//! is not theirs for sure: it is in the interval alone.
//!
//! Limits: pages that were evicted by writes, or longer ago, or while nobody read are lost to
//! nobody. What a process evicted itself, at a limit of its cgroup, it lost to nobody: a span is
//! left out if 90 % of what was read again was that. Memory that programs take for themselves, and
//! limits that several processes share, evict pages, too, and are not seen here: who read as much
//! meanwhile is taken for it. Of a request of several pages the first one tells. Of what is read
//! ahead for 1 ms or longer, what its thread waited for counts. A thread waits once for what it has
//! in flight at once. What filled memory before the time that is looked at is not known.
//!
//! The watch looks at each minute as it goes on, by its spans that are over, and knows calm and who
//! filled memory of the ten minutes before, and nothing of what is to come. A minute of a trace
//! that is rolled up by itself tells none.
//!
//! Non-goals: reads that take longer than in calm, which are lost as such (`super::blame`).

use super::actors::RoleId;
use super::blame::LARGE_NS;
use crate::merge::{Merge, merged};
use analyze::statistics::NORMAL_95;
use model::record::{Flags, Op, Request};
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

/// A span, and how many of them a minute has.
const SPAN_NS: i64 = 5_000_000_000;
const MINUTE: i64 = 12;
/// Who reads less within a minute evicted nothing that could be told, in bytes.
const FILLED: u64 = 16 << 20;
/// Of what is read again: evicted by its reader, it is nobody's doing.
const OWN_DOING: f64 = 0.9;
/// Spans of calm that make a comparison.
const CALM_LEAST: f64 = 2.0;
/// Of what is read again, and of the time, as of other losses (`super::blame::matters`).
const MUCH: f64 = 0.05;
const OF_SPAN: f64 = 0.005;

/// Waits for pages that had been evicted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Again {
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    /// So many that the reader's own process had evicted.
    pub(crate) by_itself: u64,
}

merged!(Again { count, sum_ns, by_itself });

impl Again {
    /// One wait.
    pub(crate) fn one((begin_ns, end_ns): (i64, i64)) -> Self {
        let sum_ns = end_ns.saturating_sub(begin_ns).max(0).unsigned_abs();
        Self { count: 1, sum_ns, by_itself: 0 }
    }

    /// These reads, whose flags are these.
    pub(crate) fn of(self, flags: Flags) -> Self {
        let is_by_itself = flags.contains(Flags::EVICTED_ITSELF);
        Self { by_itself: if is_by_itself { self.count } else { 0 }, ..self }
    }

    fn is_own_doing(self) -> bool {
        self.by_itself as f64 >= OWN_DOING * self.count.max(1) as f64
    }
}

/// Who read again, at which device.
pub(crate) type Reader = (u32, RoleId);

/// What filled memory, and what was read again, by span.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Evicted {
    filled_bytes: BTreeMap<(i64, RoleId), u64>,
    written_bytes: BTreeMap<i64, u64>,
    again: BTreeMap<Reader, BTreeMap<i64, Again>>,
}

/// The same of a time that is over, with its begin and the names of its roles.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) time_ns: Range<i64>,
    evicted: Evicted,
    names: BTreeMap<RoleId, String>,
}

/// What a reader lost to whom.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CacheLoss {
    pub(crate) reader: Reader,
    pub(crate) cause: RoleId,
    /// All that it read again, whoever evicted it.
    pub(crate) all: Again,
    pub(crate) lost_ns: f64,
    pub(crate) low_ns: f64,
    pub(crate) high_ns: f64,
    /// How many of its waits that is.
    pub(crate) count: f64,
}

/// The spans of a time.
fn spans(time_ns: &Range<i64>) -> RangeInclusive<i64> {
    time_ns.start.div_euclid(SPAN_NS)..=time_ns.end.saturating_sub(1).div_euclid(SPAN_NS)
}

/// The whole spans that end in a time.
fn ended(time_ns: &Range<i64>) -> Range<i64> {
    let begin_ns = |ns: i64| ns.div_euclid(SPAN_NS) * SPAN_NS;
    begin_ns(time_ns.start)..begin_ns(time_ns.end)
}

impl CacheLoss {
    /// Whether it is sure, and worth a sentence.
    pub(crate) fn matters(&self, span_ns: f64) -> bool {
        let is_large = self.lost_ns >= (OF_SPAN * span_ns).min(LARGE_NS);
        self.low_ns > 0.0 && is_large && self.lost_ns >= MUCH * self.all.sum_ns as f64
    }
}

/// What filled memory within a minute, to a reader.
#[derive(Debug, Default)]
struct Filled {
    others: BTreeMap<RoleId, u64>,
    by_others: u64,
    by_else: u64,
}

impl Filled {
    fn is_calm(&self) -> bool {
        self.by_others < FILLED
    }

    fn is_by_others(&self) -> bool {
        !self.is_calm() && self.by_others >= self.by_else
    }
}

/// Whether a request is for memory that the kernel may take: the page cache's, or what is swapped.
fn is_cached(row: &Request) -> bool {
    const NOT: [Flags; 2] = [Flags::DIRECT, Flags::OWN];
    !NOT.into_iter().any(|flag| row.flags.contains(flag))
}

/// Whether it reads a page again that had been evicted.
pub(crate) fn is_again(row: &Request) -> bool {
    is_cached(row) && row.flags.contains(Flags::REFAULTED)
}

/// What is gathered of a reader and a cause.
#[derive(Debug, Default)]
struct Sum {
    /// Surely its doing, and at the most.
    sure_ns: f64,
    most_ns: f64,
    /// Of how many spans, in parts.
    spans: f64,
}

impl Evicted {
    /// Adds requests to the top of a stack, like this one, since a moment, with their bytes; and
    /// what their threads waited, if they wait for reads: each once, as of all waits.
    pub(crate) fn add(
        &mut self,
        like: &Request,
        (role, is_kernel): (RoleId, bool),
        (begin_ns, bytes): (i64, u64),
        waited: Option<(i64, Again)>,
    ) {
        if !is_cached(like) {
            return;
        }
        let span = begin_ns.div_euclid(SPAN_NS);
        match like.op {
            // Who needs memory swaps out that of others; the kernel's own thread does for anybody.
            Op::Write if like.flags.contains(Flags::SWAP) && is_kernel => {}
            Op::Write if !like.flags.contains(Flags::SWAP) => {
                self.written_bytes.entry(span).or_default().merge(bytes);
            }
            Op::Read | Op::Write => {
                self.filled_bytes.entry((span, role)).or_default().merge(bytes);
            }
            _ => {}
        }
        if let Some((since_ns, again)) = waited.filter(|_| is_again(like)) {
            self.add_again((like.device, role), since_ns, again.of(like.flags));
        }
    }

    /// Adds waits for such pages, since a moment.
    pub(crate) fn add_again(&mut self, reader: Reader, since_ns: i64, again: Again) {
        let of_reader = self.again.entry(reader).or_default();
        of_reader.entry(since_ns.div_euclid(SPAN_NS)).or_default().merge(again);
    }

    /// Adds those of another time; `number` is that of each of its roles here.
    pub(crate) fn merge(&mut self, other: Self, number: &dyn Fn(RoleId) -> RoleId) {
        for ((span, role), bytes) in other.filled_bytes {
            self.filled_bytes.entry((span, number(role))).or_default().merge(bytes);
        }
        Merge::merge(&mut self.written_bytes, other.written_bytes);
        for ((device, role), spans) in other.again {
            let of_reader = self.again.entry((device, number(role))).or_default();
            Merge::merge(of_reader, spans);
        }
    }

    /// Whether anything was read again.
    pub(crate) fn has_any(&self) -> bool {
        !self.again.is_empty()
    }

    /// What a later time is held against.
    pub(crate) fn past(&self, time_ns: Range<i64>, name: &dyn Fn(RoleId) -> String) -> Past {
        let roles = self.filled_bytes.keys().map(|(_, role)| *role);
        let roles = roles.chain(self.again.keys().map(|(_, role)| *role));
        let names = roles.map(|role| (role, name(role))).collect();
        Past { time_ns, evicted: self.clone(), names }
    }

    /// The same with what was before; `number` is that of a role by its name.
    pub(crate) fn behind(&self, past: &[&Past], mut number: impl FnMut(&str) -> RoleId) -> Self {
        let mut all = self.clone();
        for Past { evicted, names, .. } in past {
            let numbers: BTreeMap<RoleId, RoleId> =
                names.iter().map(|(role, name)| (*role, number(name))).collect();
            let number = |role: RoleId| numbers.get(&role).copied().unwrap_or(role);
            all.merge(evicted.clone(), &number);
        }
        all
    }

    /// What everybody read again in the spans that end in a time.
    pub(crate) fn again_in(&self, time_ns: &Range<i64>) -> impl Iterator<Item = (Reader, Again)> {
        let spans = spans(&ended(time_ns));
        let sum = move |again: &BTreeMap<i64, Again>| {
            let mut sum = Again::default();
            let of_time = again.iter().filter(|(span, _)| spans.contains(*span));
            of_time.for_each(|(_, of)| sum.merge(*of));
            sum
        };
        let all = self.again.iter().map(move |(reader, again)| (*reader, sum(again)));
        all.filter(|(_, sum)| sum.count > 0)
    }

    /// What everybody lost of the spans that end in a time, held against those since an earlier
    /// moment.
    pub(crate) fn losses_in(
        &self,
        time_ns: &Range<i64>,
        since_ns: i64,
        is_left: &dyn Fn(Reader) -> f64,
    ) -> Vec<CacheLoss> {
        let ended = ended(time_ns);
        self.all_losses(&ended, &(since_ns.min(ended.start)..ended.end), is_left)
    }

    /// What everybody lost of a time. `is_left` is which part of a reader's reads was not lost
    /// already, by having taken longer than in calm.
    pub(crate) fn losses(
        &self,
        time_ns: &Range<i64>,
        is_left: &dyn Fn(Reader) -> f64,
    ) -> Vec<CacheLoss> {
        self.all_losses(time_ns, time_ns, is_left)
    }

    fn all_losses(
        &self,
        time_ns: &Range<i64>,
        known_ns: &Range<i64>,
        is_left: &dyn Fn(Reader) -> f64,
    ) -> Vec<CacheLoss> {
        let times = (spans(time_ns), spans(known_ns));
        // Who read nothing again in the time lost nothing, and is looked at no further.
        let is_within = |again: &BTreeMap<i64, Again>| again.keys().any(|of| times.0.contains(of));
        let readers = self.again.iter().filter(|(_, again)| is_within(again));
        readers
            .flat_map(|(reader, again)| {
                self.lost_by(*reader, again, &times, is_left(*reader).clamp(0.0, 1.0))
            })
            .collect()
    }

    fn lost_by(
        &self,
        reader: Reader,
        again: &BTreeMap<i64, Again>,
        (time, known): &(RangeInclusive<i64>, RangeInclusive<i64>),
        left: f64,
    ) -> Vec<CacheLoss> {
        let took_ns = |span: i64| again.get(&span).map_or(0.0, |of| of.sum_ns as f64);
        let mut calm_ns: Vec<f64> = Vec::new();
        let mut hit: Vec<(f64, Filled)> = Vec::new();
        for span in known.clone() {
            let filled = self.filled(span, reader.1);
            match filled.is_calm() {
                true => calm_ns.push(took_ns(span)),
                _ if again.get(&span).is_some_and(|of| of.is_own_doing()) => {}
                false if filled.is_by_others() && time.contains(&span) => {
                    hit.push((took_ns(span), filled));
                }
                false => {}
            }
        }
        let calm = calm_ns.len() as f64;
        if calm < CALM_LEAST {
            return Vec::new();
        }
        let mean_ns = calm_ns.iter().sum::<f64>() / calm;
        let off_ns2: f64 = calm_ns.iter().map(|ns| (ns - mean_ns).powi(2)).sum();
        let chance_ns2 = off_ns2 / (calm - 1.0);
        let mut sums: BTreeMap<RoleId, Sum> = BTreeMap::new();
        for (ns, filled) in &hit {
            let (excess_ns, others) = (ns - mean_ns, filled.by_others as f64);
            let all = others + filled.by_else as f64;
            for (role, bytes) in &filled.others {
                let sum = sums.entry(*role).or_default();
                sum.sure_ns += excess_ns * *bytes as f64 / all;
                sum.most_ns += excess_ns * *bytes as f64 / others;
                sum.spans += *bytes as f64 / others;
            }
        }
        let mut all = Again::default();
        let of_time = again.iter().filter(|(span, _)| time.contains(*span));
        of_time.for_each(|(_, of)| all.merge(*of));
        let lost = sums.into_iter().filter(|(_, sum)| sum.sure_ns > 0.0 && left > 0.0);
        lost.map(|(cause, sum)| {
            // As many spans in calm, by chance, with the comparison's own error.
            let variance_ns2 = chance_ns2 * (sum.spans + sum.spans * sum.spans / calm);
            let half_ns = NORMAL_95 * variance_ns2.sqrt();
            CacheLoss {
                reader,
                cause,
                all,
                lost_ns: left * sum.sure_ns,
                low_ns: left * (sum.sure_ns - half_ns),
                high_ns: left * (sum.most_ns + half_ns),
                count: sum.sure_ns / all.sum_ns as f64 * all.count as f64,
            }
        })
        .collect()
    }

    /// What filled memory in a span and in the minute before it.
    fn filled(&self, span: i64, reader: RoleId) -> Filled {
        let mut filled = Filled::default();
        let first = span.saturating_sub(MINUTE);
        for ((_, role), bytes) in self.filled_bytes.range((first, RoleId(0))..(span + 1, RoleId(0)))
        {
            match *role == reader {
                true => filled.by_else += bytes,
                false => {
                    filled.by_others += bytes;
                    *filled.others.entry(*role).or_default() += bytes;
                }
            }
        }
        filled.by_else += self.written_bytes.range(first..=span).map(|(_, of)| of).sum::<u64>();
        filled
    }
}
