//! Response times as numbers of a logarithmic scale: fine ones, by which requests are listed, and
//! bins of 256 of these, by which they are counted.
//!
//! Non-goals: which times there are.

/// Bins in a decade: each is 10 % wide.
const IN_DECADE: f64 = 24.0;
/// Fine numbers in a bin: each is 0.04 % wide.
const IN_BIN: u16 = 256;
/// Where the first bin begins; what is quicker is in it too.
const LEAST_NS: f64 = 100.0;

/// How many bins there are.
pub(super) const BINS: usize = 256;
/// The bin of what was never completed, as far as the trace tells.
pub(super) const NEVER: u8 = u8::MAX;
/// Its fine number.
pub(super) const NEVER_FINE: u16 = u16::MAX;
/// The last number of a time.
const LAST: u16 = (NEVER as u16) * IN_BIN - 1;

/// The fine number of a response time.
pub(super) fn fine(response_ns: i64) -> u16 {
    fine_of(response_ns as f64)
}

fn fine_of(response_ns: f64) -> u16 {
    let number = (response_ns.max(1.0) / LEAST_NS).log10() * IN_DECADE * f64::from(IN_BIN);
    (number.max(0.0) as u16).min(LAST)
}

/// The bin that a fine number is in.
pub(super) fn bin(fine: u16) -> u8 {
    (fine / IN_BIN) as u8
}

/// The bin that a time of so many nanoseconds is in. Where a bin begins, as it is answered, is in
/// that bin, although it is no whole number of nanoseconds and was rounded.
pub(super) fn bin_of(response_ns: f64) -> u8 {
    bin(fine_of(response_ns * (1.0 + 1e-9)))
}

/// Where a bin begins, ns.
pub fn from_ns(bin: usize) -> f64 {
    LEAST_NS * 10f64.powf(bin as f64 / IN_DECADE)
}

/// The middle of a bin, ns.
pub(super) fn middle_ns(bin: usize) -> f64 {
    LEAST_NS * 10f64.powf((bin as f64 + 0.5) / IN_DECADE)
}

/// The middle of a fine number, ns; none of what was never completed.
pub(super) fn of_fine_ns(fine: u16) -> Option<f64> {
    let decades = (f64::from(fine) + 0.5) / f64::from(IN_BIN) / IN_DECADE;
    (fine <= LAST).then(|| LEAST_NS * 10f64.powf(decades))
}

/// How far off the middle of a bin can be, in percent of it.
pub fn within_percent() -> f64 {
    100.0 * (10f64.powf(0.5 / IN_DECADE) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_its_bin_and_near_its_fine_number() {
        for response_ns in [100, 101, 999, 1_000_000, 123_456_789, 3_600_000_000_000] {
            let number = fine(response_ns);
            let of = usize::from(bin(number));
            let value = response_ns as f64;
            let ends = from_ns(of) * (1.0 - 1e-9)..from_ns(of + 1) * (1.0 + 1e-9);
            assert!(ends.contains(&value), "{response_ns}");
            let off = of_fine_ns(number).unwrap() / value - 1.0;
            assert!(off.abs() < 0.000_25, "{response_ns}: {off}");
            assert!((middle_ns(of) / value - 1.0).abs() * 100.0 <= within_percent() + 1e-6);
        }
        assert!((4.0..5.0).contains(&within_percent()));
    }

    #[test]
    fn the_ends_of_the_scale_hold() {
        assert_eq!((fine(-5), fine(0), fine(99)), (0, 0, 0));
        assert_eq!(bin(fine(i64::MAX)), NEVER - 1);
        assert_eq!((bin(NEVER_FINE), of_fine_ns(NEVER_FINE)), (NEVER, None));
        for number in 0..NEVER {
            assert_eq!(bin_of(from_ns(number.into())), number);
        }
        assert_eq!((bin(7 * IN_BIN), bin(7 * IN_BIN - 1)), (7, 6));
    }
}
