//! What a volume may do in a second: requests (IOPS) and bytes (throughput), each limit by itself.
//! The slower one holds.
//!
//! ```toml
//! [limit]
//! # One counted I/O has at most so many bytes: a larger request counts several times.
//! counted_size = "256 KiB"
//! # The share of requests in sequence that join the counted I/O before them.
//! merged = "50 %"
//! # Whether a counted I/O costs its whole size of throughput (default: no).
//! whole = false
//! # The volume averages over this time: so much may come at once.
//! window = "100 ms"
//! # The share of its limits that a volume delivers.
//! delivered = "90 %"
//! # How full the credits are at the first request.
//! filled = "100 %"
//! [limit.iops]        # and [limit.throughput], with rates and sizes in bytes
//! rate = 3000         # what it has, plus per_gib of the capacity and per_iops, clamped:
//! per_gib = 3
//! least = 100
//! most = 16000
//! peak = 3000         # the rate while credits last, plus peak_per_gib, up to peak_most
//! credits = 5400000   # what a full bucket holds, plus credits_per_gib
//! rate_min = 3000     # what can be provisioned: up to rate_max, and to rate_max_per_gib or
//! rate_max = 80000    # rate_max_per_iops, but never less than rate_min
//! rate_max_per_gib = 500
//! small_size = "170 GiB"      # up to this size at most small_rate
//! small_rate = "128 MiB/s"
//! ```
//! `requests_per_s`, `burst_requests`, `bytes_per_s` and `burst_bytes` in `[limit]` itself are the
//! short form, without a peak.
//!
//! A limit is a token bucket, kept as the moment at which it would be full (the virtual scheduling
//! of ITU-T I.371). Credits with a peak are two buckets: one of the credits, one of the peak.
//!
//! Non-goals: limits of the instance that the volume is attached to, and what a volume costs.

use crate::profile::{ProfileError, Reader};

const GIB: f64 = 1_073_741_824.0;
const MIB: f64 = 1_048_576.0;

/// Tokens that come at a rate, up to a number of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bucket {
    /// What one takes, ns; none where there is no limit.
    one_ns: f64,
    /// What a burst of as many as may be takes, ns.
    burst_ns: f64,
    /// What is missing at the first request, ns.
    short_ns: f64,
    /// When the bucket would be full, ns; unknown before the first request.
    full_ns: Option<f64>,
}

impl Bucket {
    /// So many a second, none for no limit; and a burst of so many.
    pub(super) fn of(rate: f64, burst: f64) -> Self {
        let one_ns = if rate > 0.0 && rate.is_finite() { 1e9 / rate } else { 0.0 };
        let burst_ns = if one_ns > 0.0 { burst * one_ns } else { 0.0 };
        Self { one_ns, burst_ns, short_ns: 0.0, full_ns: None }
    }

    /// Nothing was taken yet.
    pub(super) fn fresh(self) -> Self {
        Self { full_ns: None, ..self }
    }

    /// When it is full, if nothing more is taken.
    pub(super) fn full_ns(&self) -> f64 {
        self.full_ns.unwrap_or(0.0)
    }

    /// Takes so many from some time on; returns when they may be had.
    pub(super) fn take(&mut self, from_ns: f64, count: f64) -> f64 {
        let cost_ns = count * self.one_ns;
        let full_ns = self.full_ns.unwrap_or(from_ns + self.short_ns).max(from_ns) + cost_ns;
        // More than a burst has an empty bucket to itself.
        let begin_ns = from_ns.max(full_ns - self.burst_ns.max(cost_ns));
        self.full_ns = Some(full_ns);
        begin_ns
    }
}

type Read = for<'a> fn(&Reader<'a>, &str) -> Result<f64, ProfileError>;

/// How a limit is written: of requests or of bytes.
struct Measure {
    table: &'static str,
    /// Rate and burst in the short form.
    short: [&'static str; 2],
    rate: Read,
    amount: Read,
    show: fn(f64) -> String,
}

const IOPS: Measure = Measure {
    table: "iops",
    short: ["requests_per_s", "burst_requests"],
    rate: |reader, key| reader.number_from(key, 0.0),
    amount: |reader, key| reader.number_from(key, 0.0),
    show: |rate| format!("{rate:.0} IOPS"),
};

const THROUGHPUT: Measure = Measure {
    table: "throughput",
    short: ["bytes_per_s", "burst_bytes"],
    rate: |reader, key| reader.rate_bytes_per_s(key),
    amount: |reader, key| Ok(reader.size_bytes(key)? as f64),
    show: |rate| format!("{:.0} MiB/s", rate / MIB),
};

/// One limit, as read: a rate, and more than that while credits last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowance {
    /// A second, as it goes on; 0 for no limit.
    pub rate: f64,
    /// A second, while credits last; none without credits.
    pub peak: Option<f64>,
    /// What a full bucket holds.
    pub credits: f64,
}

impl Allowance {
    /// Reads the table of a measure for a volume of that size.
    fn read(limit: &Reader, of: &Measure, gib: f64, iops: f64) -> Result<Self, ProfileError> {
        let table = limit.below(of.table);
        let [rate_key, burst_key] = of.short;
        if !table.has_any() {
            let number = |key: &str| limit.or(key, 0.0, |limit, key| limit.number_from(key, 1.0));
            return Ok(Self { rate: number(rate_key)?, peak: None, credits: number(burst_key)? });
        }
        if limit.has(rate_key) || limit.has(burst_key) {
            let reason = format!("and `{}` limit the same; give only one", of.table);
            return Err(limit.error(rate_key, reason));
        }
        let rate = |key: &str, otherwise: f64| table.or(key, otherwise, of.rate);
        let amount = |key: &str, otherwise: f64| table.or(key, otherwise, of.amount);
        let own = rate("rate", 0.0)?;
        provisioned(&table, of, (gib, iops), own)?;
        let scaled = own + rate("per_gib", 0.0)? * gib + rate("per_iops", 0.0)? * iops;
        let within = scaled.max(rate("least", 0.0)?).min(rate("most", f64::INFINITY)?);
        let small_gib = table.or("small_size", 0, Reader::size_bytes)? as f64 / GIB;
        let small = rate("small_rate", f64::INFINITY)?;
        let whole = if gib <= small_gib { within.min(small) } else { within };
        if whole <= 0.0 {
            return Err(table.error("rate", "is missing; give rate, per_gib or per_iops"));
        }
        let peak = rate("peak", 0.0)? + rate("peak_per_gib", 0.0)? * gib;
        let peak = peak.min(rate("peak_most", f64::INFINITY)?);
        let credits = amount("credits", 0.0)? + amount("credits_per_gib", 0.0)? * gib;
        if (peak > 0.0) != (credits > 0.0) {
            return Err(table.error("credits", "and `peak` are given together"));
        }
        // A large volume may have more than the peak of all: then nothing bursts.
        let bursts = peak > whole;
        let (peak, credits) = if bursts { (Some(peak), credits) } else { (None, 0.0) };
        Ok(Self { rate: whole, peak, credits })
    }
}

/// Refuses a rate that cannot be provisioned for a volume of that size and IOPS.
fn provisioned(
    table: &Reader,
    of: &Measure,
    (gib, iops): (f64, f64),
    own: f64,
) -> Result<(), ProfileError> {
    let rate = |key: &str, otherwise: f64| table.or(key, otherwise, of.rate);
    let (least, most) = (rate("rate_min", 0.0)?, rate("rate_max", f64::INFINITY)?);
    let by_size = rate("rate_max_per_gib", f64::INFINITY)? * gib;
    let by_iops = rate("rate_max_per_iops", f64::INFINITY)? * iops.max(1.0);
    let most = most.min(by_size.min(by_iops).max(least));
    if (least..=most).contains(&own) {
        return Ok(());
    }
    let sized = if by_size.is_finite() { format!(" of {gib:.0} GiB") } else { String::new() };
    let with = if by_iops.is_finite() { format!(" with {iops:.0} IOPS") } else { String::new() };
    let [own, least, most] = [own, least, most].map(of.show);
    let reason = format!("{own} is out of range: a volume{sized}{with} has {least} to {most}");
    Err(table.error("rate", reason))
}

/// How requests count against the limits.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counting {
    /// Bytes of one counted I/O at the most; infinite where size does not matter.
    unit_bytes: f64,
    /// The share of requests in sequence that join the counted I/O before them.
    merged: f64,
    /// Whether a counted I/O costs its whole size of throughput.
    is_whole: bool,
    /// What the last counted I/O of reads and of writes holds, bytes.
    held_bytes: [f64; 2],
}

impl Counting {
    fn read(limit: &Reader) -> Result<Self, ProfileError> {
        let unit_bytes = match limit.has("counted_size") {
            true => limit.size_bytes("counted_size")? as f64,
            false => f64::INFINITY,
        };
        let merged = limit.or("merged", 0.0, |limit, key| limit.fraction_to(key, 1.0))?;
        let is_whole = limit.is_or("whole", false)?;
        if unit_bytes.is_infinite() && (merged > 0.0 || is_whole) {
            return Err(limit.error("counted_size", "is missing; merged and whole need it"));
        }
        Ok(Self { unit_bytes, merged, is_whole, held_bytes: [0.0; 2] })
    }

    /// Counted I/Os and bytes of a request.
    fn count(&mut self, (direction, is_next): (usize, bool), bytes: f64) -> (f64, f64) {
        if self.unit_bytes.is_infinite() {
            return (1.0, bytes);
        }
        let held = if is_next { self.held_bytes[direction] } else { 0.0 };
        let units = |bytes: f64| (bytes / self.unit_bytes).ceil();
        let (alone, joined) = (units(bytes).max(1.0), units(held + bytes) - units(held));
        let merged = if is_next { self.merged } else { 0.0 };
        let count = merged * joined + (1.0 - merged) * alone;
        self.held_bytes[direction] = (held + bytes) % self.unit_bytes;
        (count, if self.is_whole { count * self.unit_bytes } else { bytes })
    }
}

/// The limits of a volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Of requests.
    pub iops: Allowance,
    /// Of bytes.
    pub throughput: Allowance,
    counting: Counting,
    /// What each allowance goes on with, and its peak.
    requests: [Bucket; 2],
    bytes: [Bucket; 2],
}

impl Limits {
    /// Reads `limit` of a drive that holds so many bytes; a drive without it has no limits.
    pub fn read(drive: &Reader, capacity_bytes: u64) -> Result<Self, ProfileError> {
        let (limit, gib) = (drive.below("limit"), capacity_bytes as f64 / GIB);
        let share = |key: &str| limit.or(key, 1.0, |limit, key| limit.fraction_to(key, 1.0));
        let (delivered, filled) = (share("delivered")?, share("filled")?);
        let window_s = limit.time_ns_or("window", 0.0)? / 1e9;
        let iops = Allowance::read(&limit, &IOPS, gib, 0.0)?;
        let throughput = Allowance::read(&limit, &THROUGHPUT, gib, iops.rate)?;
        let buckets = |of: Allowance| {
            let rate = of.rate * delivered;
            let mut sustained = Bucket::of(rate, of.credits.max(rate * window_s));
            sustained.short_ns = (1.0 - filled) * sustained.burst_ns;
            let peak = of.peak.map_or(0.0, |peak| peak * delivered);
            [sustained, Bucket::of(peak, peak * window_s)]
        };
        let (requests, bytes) = (buckets(iops), buckets(throughput));
        Ok(Self { iops, throughput, counting: Counting::read(&limit)?, requests, bytes })
    }

    /// When a request of one direction may begin; `is_next` continues the one before it.
    pub(super) fn take(&mut self, from_ns: f64, of: (usize, bool), bytes: f64) -> f64 {
        let (count, bytes) = self.counting.count(of, bytes);
        let requests = self.requests.iter_mut().map(|bucket| bucket.take(from_ns, count));
        let bytes = self.bytes.iter_mut().map(|bucket| bucket.take(from_ns, bytes));
        requests.chain(bytes).fold(from_ns, f64::max)
    }

    /// Nothing was taken yet.
    pub(super) fn fresh(&self) -> Self {
        let counting = Counting { held_bytes: [0.0; 2], ..self.counting };
        let fresh = |buckets: [Bucket; 2]| buckets.map(Bucket::fresh);
        let (requests, bytes) = (fresh(self.requests), fresh(self.bytes));
        Self { counting, requests, bytes, ..self.clone() }
    }

    /// `3000 IOPS (peak 3500 IOPS), 125 MiB/s`; none without limits.
    pub fn shown(&self) -> Option<String> {
        let one = |of: &Allowance, measure: &Measure| {
            let rate = (of.rate > 0.0).then(|| (measure.show)(of.rate))?;
            let peak = of.peak.map(|peak| format!(" (peak {})", (measure.show)(peak)));
            Some(rate + &peak.unwrap_or_default())
        };
        let shown = [one(&self.iops, &IOPS), one(&self.throughput, &THROUGHPUT)];
        let shown: Vec<String> = shown.into_iter().flatten().collect();
        (!shown.is_empty()).then(|| shown.join(", "))
    }
}

#[cfg(test)]
mod tests;
