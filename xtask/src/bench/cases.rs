//! What is run and what must be reached, as tables.
//!
//! A case is one piece of work that lbolt and fio both do, option for option; a claim is
//! a figure of it that must lie within a bound.

use super::statistics::Bound;

/// What a job does, in lbolt's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    /// A file made anew and written.
    Write,
    /// A file that is there, written over.
    Rewrite,
    RandRead,
}

/// How long a pass is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// The whole file once.
    Whole,
    /// The whole file once, or these seconds.
    AtMost(u32),
    /// These seconds, starting anew at the file's end.
    For(u32),
}

/// What is known of the file when the pass begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// There is no file: the engine does no I/O.
    NoFile,
    /// In the page cache: written there, and read by a pass that is left out.
    Warm,
    /// On the disk and not in the cache.
    Cold,
}

/// Which figure of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    /// lbolt's own calibration of what its harness costs a request, ns.
    HarnessNs,
    /// Wall time a request of the whole pass, ns.
    WallNs,
    /// lbolt's rate over fio's, pair by pair.
    Ratio,
    /// lbolt's CPU time a request over fio's, pair by pair, each by its own account of its thread.
    CpuRatio,
}

/// What must be reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) name: &'static str,
    pub(super) figure: Figure,
    pub(super) bound: Bound,
    /// Only meant with the processor's time-stamp counter as lbolt's clock.
    pub(super) needs_tsc: bool,
}

/// One piece of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) access: Access,
    pub(super) engine: &'static str,
    pub(super) block: &'static str,
    pub(super) depth: u32,
    pub(super) is_direct: bool,
    pub(super) file_mib: u64,
    pub(super) time: Time,
    pub(super) state: State,
    pub(super) claims: &'static [Claim],
}

/// lbolt and fio, given the same work, must find the same disk.
const SAME: Bound = Bound { low: 0.95, high: 1.05 };

const fn claim(name: &'static str, figure: Figure, bound: Bound) -> Claim {
    Claim { name, figure, bound, needs_tsc: false }
}

/// Beyond lbolt's histogram and fio's default percentiles nothing is asked of either.
const NULL: Case = Case {
    access: Access::RandRead,
    engine: "null",
    block: "4k",
    depth: 1,
    is_direct: false,
    file_mib: 1024,
    time: Time::For(2),
    state: State::NoFile,
    claims: &[
        Claim {
            name: "null engine: harness cost of a request, calibrated, ns",
            figure: Figure::HarnessNs,
            bound: Bound::at_most(30.0),
            needs_tsc: true,
        },
        Claim {
            name: "null engine: wall time of a request, 2 s, ns",
            figure: Figure::WallNs,
            bound: Bound::at_most(30.0),
            needs_tsc: true,
        },
        claim("null engine: rate, × fio's", Figure::Ratio, Bound::at_least(5.0)),
    ],
};

const CACHED: Case = Case {
    engine: "psync",
    file_mib: 256,
    state: State::Warm,
    claims: &[claim(
        "psync: random reads of 4k from the page cache, × fio's",
        Figure::Ratio,
        Bound::at_least(1.2),
    )],
    ..NULL
};

/// Registered file and buffers, several requests at once: what the interface itself gives.
const CACHED_FIXED: Case = Case {
    engine: "io_uring_fixed",
    depth: 32,
    claims: &[claim(
        "io_uring fixed, depth 32: random reads of 4k from the page cache, × fio's",
        Figure::Ratio,
        Bound::at_least(1.3),
    )],
    ..CACHED
};

/// The device's own rate, and what it costs.
const LIBAIO_DIRECT: Case = Case {
    engine: "libaio",
    depth: 32,
    is_direct: true,
    file_mib: 256,
    time: Time::For(2),
    state: State::Cold,
    claims: &[
        claim(
            "libaio direct, depth 32: random reads of 4k, × fio's",
            Figure::Ratio,
            Bound::at_least(0.95),
        ),
        claim(
            "libaio direct, depth 32: CPU time a request, × fio's",
            Figure::CpuRatio,
            Bound::at_most(0.9),
        ),
    ],
    ..NULL
};

/// Sequential, 8 KiB, as the paper's programs were.
const SEQUENTIAL: Case = Case {
    access: Access::Read,
    engine: "psync",
    block: "8k",
    depth: 1,
    is_direct: false,
    // Half a second and more, for fio counts the run's time in whole milliseconds.
    file_mib: 512,
    time: Time::Whole,
    state: State::Cold,
    claims: &[],
};

const SEQUENTIAL_DIRECT: Case = Case { is_direct: true, file_mib: 256, ..SEQUENTIAL };

/// Buffered with 128 KiB a request, where neither program's own time counts: at 8 KiB a request
/// takes some six microseconds, of which fio's own time is more than the 5 % that are allowed.
const LARGE: Case = Case { block: "128k", ..SEQUENTIAL };

/// Random, 4 KiB, past the page cache.
const RANDOM: Case =
    Case { access: Access::RandRead, block: "4k", time: Time::AtMost(2), ..SEQUENTIAL_DIRECT };

/// Every case, in the order in which they are run.
pub(super) const CASES: &[Case] = &[
    NULL,
    CACHED,
    CACHED_FIXED,
    LIBAIO_DIRECT,
    Case {
        claims: &[claim("read 8k psync direct, × fio's", Figure::Ratio, SAME)],
        ..SEQUENTIAL_DIRECT
    },
    Case {
        claims: &[claim("read 8k psync buffered, × fio's", Figure::Ratio, SAME)], ..SEQUENTIAL
    },
    Case {
        access: Access::Write,
        claims: &[claim("write 8k psync direct, × fio's", Figure::Ratio, SAME)],
        ..SEQUENTIAL_DIRECT
    },
    Case {
        access: Access::Write,
        claims: &[claim("write 8k psync buffered, × fio's", Figure::Ratio, SAME)],
        ..SEQUENTIAL
    },
    Case {
        access: Access::Rewrite,
        claims: &[claim("rewrite 8k psync direct, × fio's", Figure::Ratio, SAME)],
        ..SEQUENTIAL_DIRECT
    },
    Case {
        access: Access::Rewrite,
        claims: &[claim("rewrite 8k psync buffered, × fio's", Figure::Ratio, SAME)],
        ..SEQUENTIAL
    },
    Case { claims: &[claim("read 128k psync buffered, × fio's", Figure::Ratio, SAME)], ..LARGE },
    Case {
        access: Access::Write,
        claims: &[claim("write 128k psync buffered, × fio's", Figure::Ratio, SAME)],
        ..LARGE
    },
    Case {
        access: Access::Rewrite,
        claims: &[claim("rewrite 128k psync buffered, × fio's", Figure::Ratio, SAME)],
        ..LARGE
    },
    Case { claims: &[claim("randread 4k psync direct, × fio's", Figure::Ratio, SAME)], ..RANDOM },
    Case {
        is_direct: false,
        claims: &[claim("randread 4k psync buffered, × fio's", Figure::Ratio, SAME)],
        ..RANDOM
    },
    Case {
        engine: "io_uring",
        depth: 32,
        claims: &[claim("randread 4k io_uring direct, depth 32, × fio's", Figure::Ratio, SAME)],
        ..RANDOM
    },
];

/// The case whose memory is looked at.
pub(super) const MEMORY_CASE: &Case = &NULL;
/// A short and a long run of it, in seconds.
pub(super) const MEMORY_SECONDS: [u32; 2] = [2, 8];
/// What the long one may hold beyond the short one, KiB.
pub(super) const MEMORY_BOUND: Bound = Bound::at_most(1024.0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_has_a_name_of_its_own() {
        let mut names: Vec<_> = CASES.iter().flat_map(|c| c.claims).map(|c| c.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(CASES.iter().all(|case| !case.claims.is_empty()));
    }
}
