//! The sweeps of the default plan, which takes about three minutes, and of the full one, as tables.
//! The sizes go in the steps of the 1980 paper (1, 2, 3, 9, 18 … sectors: small ones densely, where
//! a call costs more than its bytes).

use super::Account;
use super::plan::{Overlap, Sweep};
use model::engine::{ENGINES, EngineFacts};
use model::seam::Operation;
use model::workload::{Access, Arithmetic, EngineKind};

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

/// Sizes through the page cache: several below a page and several above, for two lines each need
/// three.
const CACHED_SIZES: &[u64] =
    &[512, K, 2 * K, 4 * K, 8 * K, 16 * K, 32 * K, 64 * K, 128 * K, 256 * K, 512 * K, M];
/// Sizes past it: a page and more, which every device takes.
const DIRECT_SIZES: &[u64] = &[4 * K, 16 * K, 64 * K, 256 * K, M];
const FULL_SIZES: &[u64] = &[
    512,
    K,
    3 * K / 2,
    2 * K,
    3 * K,
    4 * K,
    6 * K,
    8 * K,
    12 * K,
    16 * K,
    32 * K,
    64 * K,
    128 * K,
    256 * K,
    512 * K,
    M,
];
/// N.
const CHANNELS: &[u32] = &[1, 4, 16, 32];

/// Between two tests: the paper's programs needed less than 100 us. Each has its double, against
/// which the overhead is checked.
const TEST_INTERVAL_NS: &[u64] = &[10_000, 20_000];
/// For the machines of 1980.
const MODEL_TEST_INTERVAL_NS: &[u64] = &[20_000, 40_000];
/// How the rate depends on it.
const TEST_INTERVALS_NS: &[u64] =
    &[2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000];

const RANDOM: &[Access] = &[Access::RandRead, Access::RandWrite];
const EVERY_ACCESS: &[Access] = &[
    Access::Read,
    Access::Rewrite,
    Access::Rw,
    Access::RandRead,
    Access::RandWrite,
    Access::RandRw,
];

fn engines(is_wanted: fn(&EngineFacts) -> bool) -> Vec<EngineKind> {
    ENGINES.iter().filter(|facts| is_wanted(facts)).map(|facts| facts.kind).collect()
}

fn overlaps(arithmetic: &[Arithmetic], intervals_ns: &[u64]) -> Vec<Option<Overlap>> {
    let of = |arithmetic: &Arithmetic| {
        let arithmetic = *arithmetic;
        intervals_ns
            .iter()
            .map(move |interval| Some(Overlap { arithmetic, test_interval_ns: *interval }))
    };
    arithmetic.iter().flat_map(of).collect()
}

/// Each interval has its double, against which the overhead is checked.
fn with_doubles(intervals_ns: &[u64]) -> Vec<u64> {
    let doubled = intervals_ns.iter().flat_map(|ns| [*ns, ns.saturating_mul(2)]);
    let mut all: Vec<u64> = doubled.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What the default leaves out, for whoever reads its results.
pub const LEFT_OUT: &str = "sequential access; mixed reads and writes (except copies); sizes \
                            between the listed ones; more than one channel (except direct 4k \
                            reads); idle-load and trace accounts (except 4k reads); computing \
                            during writes and during cached calls (except psync)";

fn all() -> Vec<EngineKind> {
    engines(|facts| facts.kind != EngineKind::Null)
}

fn overlapping() -> Vec<EngineKind> {
    engines(|facts| facts.overlaps && facts.kind != EngineKind::Null)
}

/// The default plan's sweeps, with one kind of computing or several.
pub fn default_sweeps(arithmetic: &[Arithmetic]) -> Vec<Sweep> {
    [harness(arithmetic, &[1]), calls(), computing(arithmetic)].concat()
}

/// The paper's own sweeps, for modelled machines: sequential calls on raw drives, of whole sectors
/// of one to all tracks of a cylinder, without computing and with.
pub fn model_sweeps(
    arithmetic: &[Arithmetic],
    sector_bytes: u64,
    sectors_per_track: u64,
    tracks_per_cylinder: u64,
) -> Vec<Sweep> {
    let tracks =
        [1, 2, 5, 10].map(|tracks| tracks.min(tracks_per_cylinder.max(1)) * sectors_per_track);
    let mut sectors = [&[1, 2, 3, sectors_per_track / 2][..], &tracks].concat();
    sectors.sort_unstable();
    sectors.dedup();
    let plain = Sweep {
        engines: vec![EngineKind::Sync],
        accesses: vec![Access::Read, Access::Rewrite],
        block_bytes: sectors.iter().filter(|s| **s > 0).map(|s| s * sector_bytes).collect(),
        ..sweep("a call and a sector, waited for")
    };
    let computing = Sweep {
        purpose: "computing during requests (equation 2)".into(),
        engines: vec![EngineKind::Libaio],
        overlaps: overlaps(arithmetic, MODEL_TEST_INTERVAL_NS),
        ..plain.clone()
    };
    vec![plain, computing]
}

/// The harness in every shape in which something else is measured.
fn harness(arithmetic: &[Arithmetic], computing_channels: &[u32]) -> Vec<Sweep> {
    let plain = Sweep {
        engines: vec![EngineKind::Null],
        direct: vec![false, true],
        channels: CHANNELS.to_vec(),
        is_harness: true,
        ..sweep("the harness itself")
    };
    let computing = Sweep {
        channels: computing_channels.to_vec(),
        overlaps: overlaps(arithmetic, TEST_INTERVALS_NS),
        ..plain.clone()
    };
    vec![plain, computing]
}

/// Direct reads of 4k by every interface, one at a time and waited for: sweeps say what differs.
fn sweep(purpose: &'static str) -> Sweep {
    Sweep {
        purpose: purpose.into(),
        engines: all(),
        accesses: vec![Access::RandRead],
        direct: vec![true],
        block_bytes: vec![4 * K],
        channels: vec![1],
        overlaps: vec![None],
        ..Sweep::default()
    }
}

/// What a call and a byte cost, without computing.
fn calls() -> Vec<Sweep> {
    vec![
        Sweep {
            accesses: RANDOM.to_vec(),
            direct: vec![false],
            block_bytes: CACHED_SIZES.to_vec(),
            ..sweep("a call and a byte through the page cache")
        },
        Sweep {
            accesses: RANDOM.to_vec(),
            block_bytes: DIRECT_SIZES.to_vec(),
            ..sweep("a call and a byte past it")
        },
        Sweep {
            engines: engines(|facts| facts.serves == [Operation::Copy]),
            accesses: vec![Access::RandRw],
            direct: vec![false],
            block_bytes: CACHED_SIZES.to_vec(),
            ..sweep("copies, which read and write at once")
        },
        Sweep { engines: overlapping(), channels: CHANNELS.to_vec(), ..sweep("channels") },
        Sweep {
            direct: vec![false, true],
            accounts: vec![Account::IdleLoad, Account::Trace],
            ..sweep("total CPU by three accounts")
        },
    ]
}

/// What is left for computing during requests, and how often to look for their completions.
fn computing(arithmetic: &[Arithmetic]) -> Vec<Sweep> {
    vec![
        Sweep {
            engines: vec![EngineKind::Psync],
            direct: vec![false],
            block_bytes: vec![512, 4 * K, 64 * K],
            overlaps: overlaps(arithmetic, TEST_INTERVAL_NS),
            ..sweep("computing during cached calls (equation 2 against the thread's own clock)")
        },
        Sweep {
            engines: overlapping(),
            block_bytes: vec![4 * K, 16 * K, 64 * K, 256 * K],
            overlaps: overlaps(arithmetic, TEST_INTERVAL_NS),
            ..sweep("computing during requests (equation 2)")
        },
        Sweep {
            engines: vec![EngineKind::Libaio, EngineKind::IoUring],
            overlaps: overlaps(arithmetic, TEST_INTERVALS_NS),
            ..sweep("how the rate depends on the test interval")
        },
    ]
}

/// Many more cells: `--dry-run` says how long they take.
pub fn full_sweeps(arithmetic: &[Arithmetic]) -> Vec<Sweep> {
    let everything = Sweep {
        accesses: EVERY_ACCESS.to_vec(),
        direct: vec![false, true],
        block_bytes: FULL_SIZES.to_vec(),
        channels: CHANNELS.to_vec(),
        ..sweep("every interface, access, size and number of channels")
    };
    let mut sweeps = default_sweeps(arithmetic);
    sweeps.extend(harness(arithmetic, &[1, 4]));
    sweeps.extend([
        Sweep {
            purpose: "total CPU by three accounts, of a call and of a byte".into(),
            accesses: RANDOM.to_vec(),
            block_bytes: CACHED_SIZES.to_vec(),
            channels: vec![1],
            accounts: vec![Account::IdleLoad, Account::Trace],
            ..everything.clone()
        },
        Sweep {
            purpose: "computing during requests (equation 2)".into(),
            accesses: RANDOM.to_vec(),
            block_bytes: CACHED_SIZES.to_vec(),
            channels: vec![1, 4],
            overlaps: overlaps(arithmetic, TEST_INTERVAL_NS),
            ..everything.clone()
        },
        everything,
    ]);
    sweeps
}

/// The lists that a user gave, each of which takes the place of its axis.
#[derive(Debug, Clone, Default)]
pub struct Axes {
    /// Interfaces; the null engine stays, for it measures the harness.
    pub engines: Vec<EngineKind>,
    /// Accesses.
    pub accesses: Vec<Access>,
    /// Through the page cache, past it, or both.
    pub direct: Vec<bool>,
    /// Request sizes.
    pub block_bytes: Vec<u64>,
    /// Numbers of channels.
    pub channels: Vec<u32>,
    /// Between two tests.
    pub test_intervals_ns: Vec<u64>,
    /// Without computing (false), with it (true), or both.
    pub overlapped: Vec<bool>,
    /// Accounts beside the difference.
    pub accounts: Option<Vec<Account>>,
}

impl Axes {
    /// The sweeps with the user's lists in the place of theirs.
    pub fn applied_to(&self, sweeps: Vec<Sweep>, arithmetic: &[Arithmetic]) -> Vec<Sweep> {
        sweeps.into_iter().map(|sweep| self.applied(sweep, arithmetic)).collect()
    }

    fn applied(&self, sweep: Sweep, arithmetic: &[Arithmetic]) -> Sweep {
        fn given<T: Clone>(list: &[T], otherwise: Vec<T>) -> Vec<T> {
            if list.is_empty() { otherwise } else { list.to_vec() }
        }
        let is_harness = sweep.is_harness;
        let is_copies = sweep.engines.iter().all(|e| e.facts().serves == [Operation::Copy]);
        let has_overlap = sweep.overlaps.iter().any(Option::is_some);
        let overlaps = match has_overlap && !self.test_intervals_ns.is_empty() {
            true => {
                let plain = sweep.overlaps.iter().filter(|o| o.is_none()).copied().collect();
                [plain, overlaps(arithmetic, &with_doubles(&self.test_intervals_ns))].concat()
            }
            false => sweep.overlaps,
        };
        let is_kept = |overlap: &Option<Overlap>| {
            self.overlapped.is_empty() || self.overlapped.contains(&overlap.is_some())
        };
        Sweep {
            engines: match (is_harness, is_copies) {
                (true, _) => sweep.engines,
                // No other interface copies.
                (_, true) if !self.engines.is_empty() => {
                    sweep.engines.into_iter().filter(|e| self.engines.contains(e)).collect()
                }
                _ => given(&self.engines, sweep.engines),
            },
            accesses: match is_harness {
                true => sweep.accesses,
                false => given(&self.accesses, sweep.accesses),
            },
            direct: match self.direct.is_empty() {
                true => sweep.direct,
                // A sweep of the other kind has nothing left.
                false => sweep.direct.into_iter().filter(|d| self.direct.contains(d)).collect(),
            },
            block_bytes: match is_harness {
                true => sweep.block_bytes,
                false => given(&self.block_bytes, sweep.block_bytes),
            },
            channels: given(&self.channels, sweep.channels),
            overlaps: overlaps.into_iter().filter(is_kept).collect(),
            accounts: match sweep.accounts.is_empty() {
                true => vec![],
                false => self.accounts.clone().unwrap_or(sweep.accounts),
            },
            purpose: sweep.purpose.clone(),
            is_harness,
        }
    }
}
