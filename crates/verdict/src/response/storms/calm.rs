//! What a steady load looks like through windows of one width: the null model that a storm has to
//! contradict.
//!
//! The counts of a calm load are negative binomial: Poisson arrivals whose rate itself varies by a
//! gamma distribution, with the mean and the variance of the calm windows (moments: Anscombe,
//! Biometrika 37, 1950, p. 358).
//!
//! Which windows are calm is found from below, so that storms cannot hide behind the variance that
//! they make themselves (Hadi, J. R. Statist. Soc. B 54, 1992, p. 761). Begin with what is not more
//! than twice the median or, where most windows are empty, with the most uneven load that leaves as
//! many of them empty. Fit, take in what does not stand out, and so on until nothing is added. A
//! count stands out if, among the windows that hold as much or more, the calm load would have put
//! one in a hundred at the most (Benjamini & Hochberg, J. R. Statist. Soc. B 57, 1995, p. 289);
//! where there is no storm at all, that is the probability of finding one.
//!
//! Non-goals: the order of the windows, and trends: a load that varies slowly is an uneven one.

/// A storm is at least so many times the calm: the s of Kleinberg, "Bursty and hierarchical
/// structure in streams" (KDD 2002, section 2), who takes 2.
pub(super) const TIMES: f64 = 2.0;

/// Shape of the rate of the most uneven calm load, whose rate varies by as much as its mean
/// (exponentially). Without such a bound, rare clumps between long silences would explain
/// themselves.
const UNEVEN: f64 = 1.0;

/// Requests a window of a calm load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Calm {
    /// Requests a window.
    pub(super) mean: f64,
    /// Shape of the gamma distribution of the rate; infinite for a Poisson load.
    pub(super) shape: f64,
    /// The fewest requests of a window that stands out; none does if there is none.
    pub(super) least: Option<u64>,
}

impl Calm {
    /// Fits the calm load of so many windows. `counts` are those of the windows that hold any, in
    /// any order; `price` is the logarithm of the odds against a window that would have to stand
    /// out alone.
    pub(super) fn fit(mut counts: Vec<u64>, windows: u64, price: f64) -> Self {
        counts.sort_unstable();
        let empty = windows.saturating_sub(counts.len() as u64);
        let mut sums = Sums { windows: empty as f64, ..Sums::default() };
        let mut rest = counts.as_slice();
        let mut calm = Self::uneven(empty, windows);
        if let Some(nth) = (windows / 2).checked_sub(empty) {
            let median = usize::try_from(nth).ok().and_then(|nth| counts.get(nth)).copied();
            let most = TIMES * median.unwrap_or(0) as f64;
            rest = sums.take(rest, rest.partition_point(|count| *count as f64 <= most));
            calm = sums.calm();
        }
        loop {
            let above = (1..=rest.len()).rev();
            let first = rest.iter().zip(above).position(|(count, above)| {
                calm.is_beyond(*count) && calm.odds(*count as f64) >= price - (above as f64).ln()
            });
            match first {
                Some(0) => break,
                None if rest.is_empty() => break,
                first => rest = sums.take(rest, first.unwrap_or(rest.len())),
            }
            calm = sums.calm();
        }
        Self { least: rest.first().copied(), ..calm }
    }

    /// The most uneven load that leaves so many windows empty: of shape 1, so that 1 / (1 + mean)
    /// of them are.
    fn uneven(empty: u64, windows: u64) -> Self {
        let mean = (windows as f64 + 0.5) / (empty as f64).max(0.5) - 1.0;
        Self { mean, shape: UNEVEN, least: None }
    }

    fn is_beyond(&self, requests: u64) -> bool {
        requests as f64 >= TIMES * self.mean
    }

    /// Logarithm of the odds against so many requests, or more, in a calm window: Chernoff's bound
    /// of the tail (Ann. Math. Statist. 23, 1952, p. 493), which is never below the truth and needs
    /// no tables. It is the likelihood ratio of the window's own rate to the calm one, as in
    /// Kulldorff's scan statistic (Commun. Statist. 26, 1997, p. 1481).
    pub(super) fn odds(&self, requests: f64) -> f64 {
        if requests <= self.mean {
            return 0.0;
        }
        let poisson = requests * (requests / self.mean).ln();
        if self.shape.is_finite() {
            let (own, calm) = (requests + self.shape, self.mean + self.shape);
            poisson - own * (own / calm).ln()
        } else {
            poisson - requests + self.mean
        }
    }
}

#[derive(Debug, Default)]
struct Sums {
    windows: f64,
    requests: f64,
    squares: f64,
}

impl Sums {
    /// Adds the first so many; returns the rest.
    fn take<'a>(&mut self, counts: &'a [u64], first: usize) -> &'a [u64] {
        let (taken, rest) = counts.split_at(first.min(counts.len()));
        for requests in taken.iter().map(|count| *count as f64) {
            self.windows += 1.0;
            self.requests += requests;
            self.squares += requests * requests;
        }
        rest
    }

    fn calm(&self) -> Calm {
        // Half a request more than there was: a rate is not zero because none was seen (Jeffreys'
        // prior).
        let mean = (self.requests + 0.5) / self.windows.max(1.0);
        let excess = self.squares / self.windows.max(1.0) - mean * mean - mean;
        let shape = if excess > 0.0 { (mean * mean / excess).max(UNEVEN) } else { f64::INFINITY };
        Calm { mean, shape, least: None }
    }
}
