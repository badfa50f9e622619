//! Made-up traces of which it is known where their storms are: [`STORMY`] has twelve kinds with,
//! [`STEADY`] twelve without. Times are nanoseconds; the same seed gives the same traces.

use super::super::detect::Series;
use std::ops::Range;

const S: f64 = 1e9;
const MS: f64 = 1e6;

/// Splitmix64 (Steele, Lea & Flood, OOPSLA 2014).
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to 1, without 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    /// Uniform on the logarithmic scale.
    fn scale(&mut self, from: f64, to: f64) -> f64 {
        from * (to / from).powf(self.unit())
    }

    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    fn one_of(&mut self, values: &[f64]) -> f64 {
        values[self.next() as usize % values.len()]
    }
}

/// Arrivals, and the storms among them.
#[derive(Default)]
pub(super) struct Trace {
    pub(super) arrivals: Vec<u64>,
    pub(super) planted: Vec<Planted>,
    pub(super) span_ns: f64,
    /// From storm to storm, if they come at regular times.
    pub(super) period_ns: Option<f64>,
}

/// A storm that was planted: when, and how many requests.
pub(super) struct Planted {
    pub(super) time_ns: Range<u64>,
    pub(super) requests: u64,
}

/// Storms to plant.
struct Storms {
    period: f64,
    requests: Range<f64>,
    length: Range<f64>,
    missing: f64,
}

pub(super) type Kind = (&'static str, fn(&mut Random) -> Trace);

pub(super) const STORMY: [Kind; 12] = [
    ("sync, idle device", |r| {
        let mut trace = Trace::lasting(r.scale(60.0 * S, 900.0 * S));
        trace.storms(&sync(r), r);
        trace
    }),
    ("sync on direct I/O", |r| {
        let mut trace = Trace::lasting(r.between(60.0 * S, 120.0 * S));
        let service = r.scale(1.0 * MS, 20.0 * MS);
        trace.closed_loop(service, r.one_of(&[1.0, 4.0, 16.0, 32.0]), 0.0, r);
        trace.storms(&sync(r), r);
        trace
    }),
    ("sync on an fsync loop", |r| {
        let mut trace = Trace::lasting(r.between(60.0 * S, 300.0 * S));
        trace.fsync_loop(r.scale(5.0 * MS, 100.0 * MS), r);
        trace.storms(&sync(r), r);
        trace
    }),
    ("one to three storms", |r| {
        let mut trace = Trace::lasting(r.scale(60.0 * S, 3600.0 * S));
        trace.poisson(r.scale(0.001, 10.0), r);
        let third = trace.span_ns / 3.0;
        for nth in 0..1 + (r.next() % 3) {
            let start = nth as f64 * third + r.between(0.0, third - 5.0 * S);
            let (requests, length) = (r.scale(30.0, 5000.0), r.scale(5.0 * MS, 2.0 * S));
            trace.storm(start, requests, length, r);
        }
        trace
    }),
    ("journal commits of ten", |r| {
        let mut trace = Trace::lasting(r.scale(30.0 * S, 3600.0 * S));
        let length = 1.0 * MS..50.0 * MS;
        trace.storms(&Storms { period: 5.0 * S, requests: 8.0..12.0, length, missing: 0.1 }, r);
        trace
    }),
    ("hundred fsyncs each 10 s", |r| {
        let mut trace = Trace::lasting(r.between(60.0 * S, 600.0 * S));
        let length = r.scale(100.0 * MS, 1.0 * S);
        let length = length..length * 1.2;
        trace.storms(&Storms { period: 10.0 * S, requests: 200.0..400.0, length, missing: 0.0 }, r);
        trace.poisson(r.scale(0.01, 10.0), r);
        trace
    }),
    ("of very different sizes", |r| {
        let mut trace = Trace::lasting(r.between(300.0 * S, 1200.0 * S));
        let (requests, length) = (30.0..5000.0, 5.0 * MS..2.0 * S);
        trace.storms(&Storms { period: 30.0 * S, requests, length, missing: 0.3 }, r);
        trace.poisson(r.scale(0.01, 3.0), r);
        trace
    }),
    ("a quarter of the time", |r| {
        let period = r.one_of(&[5.0, 10.0, 30.0]) * S;
        let mut trace = Trace::lasting(period * r.between(8.0, 40.0));
        let length = period * 0.2..period * 0.3;
        trace.storms(&Storms { period, requests: 300.0..5000.0, length, missing: 0.0 }, r);
        trace.poisson(r.scale(0.1, 10.0), r);
        trace
    }),
    ("ten seconds", |r| {
        let mut trace = Trace::lasting(10.0 * S);
        let period = r.between(3.0 * S, 5.0 * S);
        let (requests, length) = (30.0..2000.0, 5.0 * MS..1.0 * S);
        trace.storms(&Storms { period, requests, length, missing: 0.0 }, r);
        trace.poisson(r.scale(0.1, 30.0), r);
        trace
    }),
    ("a day to a week", |r| {
        let mut trace = Trace::lasting(86_400.0 * S * r.scale(1.0, 7.0));
        let (requests, length) = (30.0..80.0, 50.0 * MS..2.0 * S);
        trace.storms(&Storms { period: 30.0 * S, requests, length, missing: 0.9 }, r);
        trace.poisson(r.scale(0.0001, 0.1), r);
        trace
    }),
    ("thrice the load", |r| {
        let mut trace = Trace::lasting(r.between(120.0 * S, 600.0 * S));
        let (rate, length) = (r.scale(5.0, 100.0), r.scale(1.0 * S, 10.0 * S));
        trace.poisson(rate, r);
        let requests = rate * 2.0 * length / S;
        let requests = requests..requests * 1.01;
        let length = length..length * 1.01;
        trace.storms(&Storms { period: 60.0 * S, requests, length, missing: 0.0 }, r);
        trace
    }),
    ("sync, a rate that wanders", |r| {
        let mut trace = Trace::lasting(r.between(120.0 * S, 300.0 * S));
        let (rate, memory) = (r.scale(3.0, 50.0), r.scale(0.5 * S, 30.0 * S));
        trace.wandering(rate, r.between(0.1, 0.3), memory, r);
        trace.storms(&sync(r), r);
        trace
    }),
];

/// A `sync` each 5 or 30 s, the writes of each process about as many each time.
fn sync(r: &mut Random) -> Storms {
    let (requests, length) = (r.scale(30.0, 4000.0), r.scale(5.0 * MS, 1.6 * S));
    Storms {
        period: r.one_of(&[5.0, 30.0]) * S,
        requests: requests..requests * 1.25,
        length: length..length * 1.25,
        missing: r.one_of(&[0.0, 0.2]),
    }
}

pub(super) const STEADY: [Kind; 12] = [
    ("Poisson", |r| {
        let rate = r.scale(0.01, 5000.0);
        let mut trace = Trace::lasting(r.scale(20.0, 50_000.0) / rate * S);
        trace.poisson(rate, r);
        trace
    }),
    ("regular", |r| {
        let gap = r.scale(0.1 * MS, 100.0 * S);
        let mut trace = Trace::lasting(gap * r.scale(20.0, 50_000.0));
        trace.closed_loop(gap, 1.0, 0.0, r);
        trace
    }),
    ("closed loop, batches", |r| {
        let mut trace = Trace::lasting(r.between(10.0 * S, 60.0 * S));
        let batch = r.one_of(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
        trace.closed_loop(r.scale(0.5 * MS, 15.0 * MS), batch, 0.0, r);
        trace
    }),
    ("fsync loop", |r| {
        let mut trace = Trace::lasting(r.between(10.0 * S, 120.0 * S));
        trace.fsync_loop(r.scale(2.0 * MS, 100.0 * MS), r);
        trace
    }),
    ("a queue at load 0.9", |r| {
        let service = r.scale(1.0 * MS, 20.0 * MS);
        let mut trace = Trace::lasting(service * r.scale(3000.0, 30_000.0));
        trace.queue(service, 0.9, r);
        trace
    }),
    ("day and night", |r| {
        let mut trace = Trace::lasting(86_400.0 * S * r.between(1.0, 7.0));
        trace.drift(r.scale(0.01, 0.1), 0.5, r);
        trace
    }),
    ("one to twenty", |r| {
        let mut trace = Trace::lasting(r.scale(1.0 * S, 3600.0 * S));
        let (from, width) = (r.unit() * trace.span_ns / 2.0, r.scale(1e-3, 0.5) * trace.span_ns);
        for _ in 0..1 + r.next() % 20 {
            trace.at(from + width * r.unit());
        }
        trace
    }),
    ("one instant", |r| {
        let arrivals = vec![r.next() >> 4; r.scale(1.0, 10_000.0) as usize];
        Trace { arrivals, ..Trace::default() }
    }),
    ("pauses of the machine", |r| {
        let mut trace = Trace::lasting(r.between(10.0 * S, 30.0 * S));
        let batch = r.one_of(&[1.0, 8.0, 32.0]);
        trace.closed_loop(r.scale(0.3 * MS, 5.0 * MS), batch, r.scale(1.0 * S, 5.0 * S), r);
        trace
    }),
    ("a rate that wanders", |r| {
        let mut trace = Trace::lasting(r.between(60.0 * S, 300.0 * S));
        let (rate, memory) = (r.scale(10.0, 200.0), r.scale(0.5 * S, 30.0 * S));
        trace.wandering(rate, r.between(0.1, 0.3), memory, r);
        trace
    }),
    ("batches at random", |r| {
        let mut trace = Trace::lasting(r.between(10.0 * S, 300.0 * S));
        let (gap, most) = (S / r.scale(1.0, 100.0), r.between(2.0, 9.0));
        let mut time = 0.0;
        while time < trace.span_ns {
            time += r.exponential(gap);
            (0..r.between(1.0, most) as u64).for_each(|_| trace.at(time));
        }
        trace
    }),
    ("an fsync now and then", |r| {
        let mut trace = Trace::lasting(r.between(60.0 * S, 3600.0 * S));
        let gap = r.scale(1.0 * S, 30.0 * S);
        let mut time = 0.0;
        while time < trace.span_ns {
            [0.0, 5.0 * MS, 10.0 * MS].into_iter().for_each(|later| trace.at(time + later));
            time += gap * r.between(0.9, 1.1);
        }
        trace
    }),
];

impl Trace {
    fn lasting(span_ns: f64) -> Self {
        Self { span_ns, ..Self::default() }
    }

    fn at(&mut self, time: f64) {
        if (0.0..self.span_ns).contains(&time) {
            self.arrivals.push(time as u64);
        }
    }

    fn storm(&mut self, start: f64, requests: f64, length: f64, r: &mut Random) {
        let (time_ns, requests) = (start as u64..(start + length) as u64 + 1, requests as u64);
        self.planted.push(Planted { time_ns, requests });
        for _ in 0..requests {
            self.at(start + length * r.unit());
        }
    }

    /// A storm each period, ± 2 % of it; of those that came, each as large and as long as it
    /// happens.
    fn storms(&mut self, storms: &Storms, r: &mut Random) {
        self.period_ns = Some(storms.period);
        let mut due = r.between(0.1, 0.9) * storms.period;
        while due + storms.length.end + 0.02 * storms.period < self.span_ns {
            if r.unit() >= storms.missing {
                let requests = r.scale(storms.requests.start, storms.requests.end);
                let length = r.scale(storms.length.start, storms.length.end);
                let start = due + r.between(-0.02, 0.02) * storms.period;
                self.storm(start, requests, length, r);
            }
            due += storms.period;
        }
    }

    fn poisson(&mut self, rate: f64, r: &mut Random) {
        self.drift(rate, 0.0, r);
    }

    /// A rate that goes up and down by a share of it each day.
    fn drift(&mut self, rate: f64, share: f64, r: &mut Random) {
        let mut time = 0.0;
        while time < self.span_ns {
            time += r.exponential(S / (rate * (1.0 + share)));
            let now = 1.0 + share * (time / (86_400.0 * S) * std::f64::consts::TAU).sin();
            if r.unit() * (1.0 + share) < now {
                self.at(time);
            }
        }
    }

    /// A batch at once, and the next when it is served; after a pause, what was served in it at
    /// once, up to a depth of 64.
    fn closed_loop(&mut self, service: f64, batch: f64, pauses: f64, r: &mut Random) {
        let mut time = 0.0;
        let mut pause = if pauses > 0.0 { r.exponential(pauses) } else { f64::INFINITY };
        while time < self.span_ns {
            (0..batch as u64).for_each(|_| self.at(time));
            time += batch * service * r.between(0.9, 1.1);
            if time > pause {
                let length = r.between(10.0 * MS, 90.0 * MS);
                time += length;
                (0..64.min((length / service) as u64)).for_each(|_| self.at(time));
                pause = time + r.exponential(pauses);
            }
        }
    }

    /// Write, flush and write, and the same again.
    fn fsync_loop(&mut self, gap: f64, r: &mut Random) {
        let mut time = 0.0;
        while time < self.span_ns {
            [0.0, 0.2, 0.6].into_iter().for_each(|part| self.at(time + part * gap));
            time += gap * r.between(0.8, 1.3);
        }
    }

    /// The departures of a single server with exponential times, which are the arrivals of the
    /// device behind.
    fn queue(&mut self, service: f64, load: f64, r: &mut Random) {
        let (mut arrival, mut free) = (0.0f64, 0.0f64);
        while arrival < self.span_ns {
            arrival += r.exponential(service / load);
            free = free.max(arrival) + r.exponential(service);
            self.at(free);
        }
    }

    /// Poisson arrivals whose rate is log-normal and forgets itself after so long.
    fn wandering(&mut self, rate: f64, variation: f64, memory: f64, r: &mut Random) {
        let (mut time, mut level) = (0.0, 0.0);
        let step = memory / 10.0;
        let keep = (-0.1f64).exp();
        while time < self.span_ns {
            let normal: f64 = (0..12).map(|_| r.unit()).sum::<f64>() - 6.0;
            level = keep * level + (1.0 - keep * keep).sqrt() * variation * normal;
            let mut next = time + r.exponential(S / (rate * level.exp()));
            while next < time + step {
                self.at(next);
                next += r.exponential(S / (rate * level.exp()));
            }
            time += step;
        }
    }

    /// Counts by bins of about a millisecond, or of the next doubling of it with which there are
    /// not too many, and the width of a bin.
    pub(super) fn bins(&mut self, most: usize) -> (Vec<(u64, u64)>, u64) {
        self.arrivals.sort_unstable();
        for shift in 20.. {
            let mut bins: Vec<(u64, u64)> = Vec::new();
            for arrival in &self.arrivals {
                match bins.last_mut() {
                    Some(last) if last.0 == arrival >> shift => last.1 += 1,
                    _ => bins.push((arrival >> shift, 1)),
                }
            }
            if bins.len() <= most {
                return (bins, 1 << shift);
            }
        }
        unreachable!()
    }

    /// The series of the bins; the trace is as long as was requested, whatever came.
    pub(super) fn series<'a>(&self, bins: &'a [(u64, u64)], bin_ns: u64) -> Series<'a> {
        let first = bins.first().map_or(0, |(bin, _)| *bin);
        let (from, last) = match self.span_ns {
            0.0 => (first, first),
            span => (0, span as u64 / bin_ns),
        };
        Series { bins, first: from, last, bin_ns }
    }
}
