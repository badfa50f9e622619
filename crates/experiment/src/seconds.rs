//! What a job completed in each second, in bounded memory: seconds, until a pass has very many of
//! them; then spans of two, of four and so on.
//!
//! A request costs one comparison: what a span holds is the difference of two totals. Non-goals:
//! rates (readers divide by the span).

/// A second, in ns: the first length of a span.
const SECOND_NS: u64 = 1_000_000_000;
/// The most spans that are kept; even, so that two of them make one.
const SPANS_MAX: usize = 8192;

/// Bytes and requests of each span since the job's start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seconds {
    span_ns: u64,
    /// When the span that goes on is over.
    pub(crate) ends_ns: u64,
    /// The job's totals when the last span ended.
    before: [u64; 2],
    /// Bytes and requests of each span that is over.
    spans: Vec<[u64; 2]>,
}

impl Default for Seconds {
    fn default() -> Self {
        Self { span_ns: SECOND_NS, ends_ns: u64::MAX, before: [0; 2], spans: vec![] }
    }
}

impl Seconds {
    /// The job starts.
    pub(crate) fn start(&mut self, now_ns: u64) {
        self.ends_ns = now_ns.saturating_add(self.span_ns);
    }

    /// Ends every span that is over by now; `totals` are the job's bytes and requests until then.
    pub(crate) fn pass(&mut self, now_ns: u64, totals: [u64; 2]) {
        let mut fresh = [totals[0] - self.before[0], totals[1] - self.before[1]];
        self.before = totals;
        while now_ns > self.ends_ns {
            if self.spans.len() == SPANS_MAX {
                // The span that goes on gets as long as the others.
                self.ends_ns = self.ends_ns.saturating_add(self.span_ns);
                self.widen();
                continue;
            }
            self.spans.push(std::mem::take(&mut fresh));
            self.ends_ns = self.ends_ns.saturating_add(self.span_ns);
        }
        self.before = [self.before[0] - fresh[0], self.before[1] - fresh[1]];
    }

    /// The job ends, and with it its last span, which is shorter.
    pub(crate) fn end(&mut self, now_ns: u64, totals: [u64; 2]) {
        self.pass(now_ns, totals);
        self.spans.push([totals[0] - self.before[0], totals[1] - self.before[1]]);
        self.before = totals;
    }

    /// Two spans become one.
    fn widen(&mut self) {
        let sum = |pair: &[[u64; 2]]| {
            pair.iter().fold([0; 2], |sum: [u64; 2], span| [sum[0] + span[0], sum[1] + span[1]])
        };
        self.spans = self.spans.chunks(2).map(sum).collect();
        self.span_ns = self.span_ns.saturating_mul(2);
    }

    /// Adds another job's, each from its own start.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        while self.span_ns < other.span_ns {
            self.widen();
        }
        while other.span_ns < self.span_ns {
            other.widen();
        }
        if self.spans.len() < other.spans.len() {
            self.spans.resize(other.spans.len(), [0; 2]);
        }
        for (span, more) in self.spans.iter_mut().zip(&other.spans) {
            *span = [span[0] + more[0], span[1] + more[1]];
        }
    }

    /// Length of a span in ns, and bytes and requests of each span until `wall_ns`.
    pub(crate) fn columns(mut self, wall_ns: u64) -> (u64, Vec<u64>, Vec<u64>) {
        let count = usize::try_from(wall_ns.div_ceil(self.span_ns)).unwrap_or(usize::MAX);
        self.spans.resize(count.min(SPANS_MAX + 1).max(self.spans.len()), [0; 2]);
        let (bytes, operations) = self.spans.iter().map(|[b, n]| (*b, *n)).unzip();
        (self.span_ns, bytes, operations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Requests of 4 KiB that are complete so many ns after each other.
    fn of(gaps_ns: &[u64]) -> (Seconds, u64) {
        let (mut seconds, mut now_ns) = (Seconds::default(), 77);
        seconds.start(now_ns);
        for (number, gap_ns) in (0u64..).zip(gaps_ns) {
            now_ns += gap_ns;
            if now_ns > seconds.ends_ns {
                seconds.pass(now_ns, [4096 * number, number]);
            }
        }
        let count = gaps_ns.len() as u64;
        seconds.end(now_ns, [4096 * count, count]);
        (seconds, now_ns - 77)
    }

    #[test]
    fn a_request_belongs_to_the_second_in_which_it_was_complete() {
        let (seconds, _) = of(&[400_000_000, 600_000_000, 200_000_000, 2_000_000_000]);
        let (span_ns, bytes, operations) = seconds.columns(4_000_000_001);
        assert_eq!((span_ns, operations), (SECOND_NS, vec![2, 1, 0, 1, 0]));
        assert_eq!(bytes, [8192, 4096, 0, 4096, 0]);
    }

    #[test]
    fn jobs_of_spans_of_different_lengths_add_up() {
        let (mut short, _) = of(&[500_000_000; 3]);
        let (long, _) = of(&[SECOND_NS * 3; 5000]);
        short.merge(&long);
        let (span_ns, bytes, operations) = short.columns(0);
        assert_eq!(span_ns, 2 * SECOND_NS);
        assert_eq!((bytes.iter().sum(), operations.iter().sum()), (4096 * 5003u64, 5003u64));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_memory_is_bounded(
            gaps_ns in proptest::collection::vec(0..20_000 * SECOND_NS, 0..200),
        ) {
            let (seconds, took_ns) = of(&gaps_ns);
            let (span_ns, bytes, operations) = seconds.columns(took_ns);
            prop_assert_eq!(operations.iter().sum::<u64>(), gaps_ns.len() as u64);
            prop_assert_eq!(bytes.iter().sum::<u64>(), 4096 * gaps_ns.len() as u64);
            prop_assert!(operations.len() <= SPANS_MAX + 1, "{}", operations.len());
            prop_assert_eq!(operations.len() as u64, took_ns.div_ceil(span_ns).max(1));
        }
    }
}
