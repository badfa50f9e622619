//! Hosts of a fleet, request by request: a queue before some servers (M/G/k), service times with
//! long tails, a rhythm of the day, and what is planted. Each request's chances are drawn whether
//! something is planted or not, so that the same host without it tells what was truly lost.
//!
//! Nothing of `verdict::fleet` is used, and nothing of what it looks for is assumed.
//!
//! Non-goals: what real hosts do.

use model::record::requests::{Provenance, RequestWriter};
use model::record::{Commands, Op, Request};
use sim::random::Random;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

/// A kind of device: how many requests it serves at once, middle times of reads and writes, how
/// far these differ (of the logarithm), and how many in a thousand take many times as long.
struct Kind {
    model: &'static str,
    servers: usize,
    read_us: f64,
    write_us: f64,
    spread: f64,
    outliers: f64,
}

const KINDS: [Kind; 3] = [
    Kind {
        model: "Flash 3",
        servers: 16,
        read_us: 95.0,
        write_us: 30.0,
        spread: 0.45,
        outliers: 4.0,
    },
    Kind {
        model: "Flash 1",
        servers: 4,
        read_us: 310.0,
        write_us: 550.0,
        spread: 0.6,
        outliers: 8.0,
    },
    Kind {
        model: "Disk 7200",
        servers: 1,
        read_us: 7_500.0,
        write_us: 5_000.0,
        spread: 0.5,
        outliers: 3.0,
    },
];

/// The tail that a firmware makes longer: so many of the slowest writes.
const TAIL: f64 = 0.05;
/// A read of the backup takes so many times as long as another one, by kind; and what it leaves.
const BACKUP: [f64; 3] = [64.0, 64.0, 8.0];
const BACKUP_LEAVES: f64 = 1.5;
const HOUR_US: f64 = 3.6e9;
const DAY_US: f64 = 24.0 * HOUR_US;

/// What is planted on a host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Plant {
    /// The slowest writes take so many times as long.
    WriteTail(f64),
    /// From the second half on, reads take so many times as long.
    SlowReads(f64),
    /// Three times a day nothing is served for so many seconds.
    Stalls(f64),
    /// Nothing is served for so many seconds, from 02:00 on.
    Night(f64),
    /// Service times grow by so many per cent an hour.
    Drift(f64),
    /// An hour at night, a backup reads in large pieces.
    Backup,
}

/// A host.
#[derive(Debug, Clone)]
pub(super) struct Host {
    pub(super) name: String,
    kind: usize,
    pub(super) firmware: &'static str,
    pub(super) plant: Option<Plant>,
    /// Requests in a second, in the mean, and how many times as long its device takes.
    rate: f64,
    slow: f64,
    seed: u64,
}

impl Host {
    pub(super) fn new(number: usize, seed: u64) -> Self {
        let mut random = Random::new(seed ^ (number as u64) << 20);
        Self {
            name: format!("node{number:02}"),
            kind: number % KINDS.len(),
            firmware: if random.unit() < 0.5 { "A1" } else { "A2" },
            plant: None,
            rate: 3.0 * (0.4 * random.normal()).exp(),
            slow: 0.7 + 0.6 * random.unit(),
            seed: random.next_u64(),
        }
    }

    pub(super) fn model(&self) -> &'static str {
        KINDS[self.kind].model
    }

    pub(super) fn kind(&self) -> usize {
        self.kind
    }

    pub(super) fn loaded(&mut self, times: f64) {
        self.rate *= times;
    }

    /// Writes its requests of some days; what they took more than without what is planted, in s.
    /// Errors: a file that cannot be written.
    pub(super) fn write(&self, path: &Path, days: f64, start_unix_ns: i64) -> anyhow::Result<f64> {
        let mut commands = Commands::default();
        let names = ["db", "logger", "backup"].map(|name| commands.number(name.as_bytes()));
        let mut writer = RequestWriter::new(std::fs::File::create(path)?)?;
        let mut lost_us = 0.0;
        let mut with = Queue::of(&KINDS[self.kind]);
        let mut without = Queue::of(&KINDS[self.kind]);
        for (number, drawn) in self.arrivals(days).into_iter().enumerate() {
            let planted = self.service_us(&drawn, days, self.plant);
            let plain = self.service_us(&drawn, days, None);
            let stalls = |at_us: f64| self.stalled_until_us(at_us);
            let end_us = with.serve(drawn.at_us, planted, stalls);
            if drawn.role != 2 {
                let end_plain_us = without.serve(drawn.at_us, plain, |at_us| at_us);
                lost_us += end_us - end_plain_us;
            }
            writer.push(
                &Request {
                    request_id: number as u64 + 1,
                    device: 8 << 20,
                    op: if drawn.is_read { Op::Read } else { Op::Write },
                    offset_bytes: Some(drawn.place << 12),
                    length_bytes: if drawn.role == 2 { 1 << 20 } else { 8 << 10 },
                    queued_ns: Some((drawn.at_us * 1e3) as i64),
                    issued_ns: Some((drawn.at_us * 1e3) as i64),
                    completed_ns: Some((end_us * 1e3) as i64),
                    pid: Some(100 + drawn.role as u32),
                    command: Some(names[drawn.role]),
                    ..Request::default()
                },
                &commands,
            )?;
        }
        let provenance = Provenance {
            origin: "import:xtask".into(),
            started_unix_ns: Some(start_unix_ns),
            ..Provenance::default()
        };
        writer.finish(&commands, &provenance, &BTreeMap::new())?;
        Ok(lost_us / 1e6)
    }

    /// Requests with all their chances, by their time.
    fn arrivals(&self, days: f64) -> Vec<Drawn> {
        let mut random = Random::new(self.seed);
        let mut all = Vec::new();
        let mut at_us = 0.0;
        let end_us = days * DAY_US;
        // The busiest hour decides how many are drawn; of other hours some are left out.
        let most = 1.6 * self.rate / 1e6;
        loop {
            at_us += random.exponential(1.0 / most);
            if at_us >= end_us {
                break;
            }
            let hour = at_us / HOUR_US;
            let rhythm = 1.0 + 0.6 * ((hour - 9.0) * std::f64::consts::TAU / 24.0).sin();
            let is_taken = random.unit() < rhythm / 1.6;
            let drawn = Drawn::new(at_us, &mut random);
            all.extend(is_taken.then_some(drawn));
        }
        if self.plant == Some(Plant::Backup) {
            let mut backup = Random::new(self.seed ^ 1);
            for day in 0..days.ceil() as usize {
                let mut at_us = day as f64 * DAY_US + 3.0 * HOUR_US;
                let until_us = (at_us + HOUR_US).min(end_us);
                let kind = &KINDS[self.kind];
                let service_us = BACKUP[self.kind] * self.slow * kind.read_us;
                let each_us = BACKUP_LEAVES * service_us / kind.servers as f64;
                while at_us < until_us {
                    let drawn = Drawn { role: 2, is_read: true, ..Drawn::new(at_us, &mut backup) };
                    all.push(drawn);
                    at_us += each_us * (0.5 + backup.unit());
                }
            }
            all.sort_by(|a, b| a.at_us.total_cmp(&b.at_us));
        }
        all
    }

    /// How long the device serves a request.
    fn service_us(&self, drawn: &Drawn, days: f64, plant: Option<Plant>) -> f64 {
        let kind = &KINDS[self.kind];
        let middle_us = if drawn.is_read { kind.read_us } else { kind.write_us };
        let mut us = self.slow * middle_us * (kind.spread * drawn.normal).exp();
        if drawn.outlier < kind.outliers / 1e3 {
            // Pareto: of the slow ones, one in ten takes 3.2 times as long as any.
            us *= 6.0 * drawn.long.powf(-0.5);
        }
        if drawn.role == 2 {
            us = BACKUP[self.kind] * self.slow * kind.read_us * (0.8 + 0.4 * drawn.long);
        }
        match plant {
            // Beyond the last twentieth of a normal distribution, or an outlier.
            Some(Plant::WriteTail(times))
                if !drawn.is_read
                    && (drawn.normal > 1.645 || drawn.outlier < TAIL * kind.outliers / 1e3) =>
            {
                us * times
            }
            Some(Plant::SlowReads(times)) if drawn.is_read && drawn.at_us > days / 2.0 * DAY_US => {
                us * times
            }
            Some(Plant::Drift(percent)) => us * (1.0 + percent / 100.0).powf(drawn.at_us / HOUR_US),
            _ => us,
        }
    }

    /// When a request that comes then may be served.
    fn stalled_until_us(&self, at_us: f64) -> f64 {
        let of_day_us = at_us.rem_euclid(DAY_US);
        let within = |hour: f64, seconds: f64| {
            let from_us = hour * HOUR_US;
            let until_us = from_us + seconds * 1e6;
            (from_us..until_us).contains(&of_day_us).then_some(at_us - of_day_us + until_us)
        };
        let until_us = match self.plant {
            Some(Plant::Stalls(seconds)) => {
                [5.3, 11.7, 19.2].iter().find_map(|hour| within(*hour, seconds))
            }
            Some(Plant::Night(seconds)) => within(2.0, seconds),
            _ => None,
        };
        until_us.unwrap_or(at_us)
    }
}

/// What a request is and what chance gave it, whatever is planted.
#[derive(Debug, Clone, Copy)]
struct Drawn {
    at_us: f64,
    is_read: bool,
    role: usize,
    place: u64,
    normal: f64,
    outlier: f64,
    long: f64,
}

impl Drawn {
    fn new(at_us: f64, random: &mut Random) -> Self {
        let which = random.unit();
        Self {
            at_us,
            is_read: which < 0.6,
            role: usize::from(which > 0.92),
            place: random.below(1 << 24),
            normal: random.normal(),
            outlier: random.unit(),
            long: random.unit().max(1e-3),
        }
    }
}

/// Servers, by when each is free: whoever comes first is served first.
struct Queue(BinaryHeap<Reverse<u64>>);

impl Queue {
    fn of(kind: &Kind) -> Self {
        Self((0..kind.servers).map(|_| Reverse(0)).collect())
    }

    fn serve(&mut self, at_us: f64, service_us: f64, ready: impl Fn(f64) -> f64) -> f64 {
        let free_ns = self.0.pop().map_or(0, |Reverse(free_ns)| free_ns);
        let begin_us = ready(at_us.max(free_ns as f64 / 1e3));
        let end_us = begin_us + service_us;
        self.0.push(Reverse((end_us * 1e3) as u64));
        end_us
    }
}
