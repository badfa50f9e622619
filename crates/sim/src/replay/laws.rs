//! The laws that a replay keeps: requests in are requests out, nobody is busy for longer than time
//! goes, no bus is faster than its rate.

use super::outcome::{Outcome, ReplayError};
use crate::bus::Bus;

/// Rounding of sums of times, as a share of them.
const ROUNDING: f64 = 1e-9;

/// Checks a replay that took so many requests and completed so many, over these buses.
pub(super) fn check<'a>(
    outcome: &Outcome,
    (taken, completed): (u64, u64),
    buses: impl IntoIterator<Item = &'a Bus>,
) -> Result<(), ReplayError> {
    if taken != completed {
        return Err(ReplayError::Unbalanced { taken, completed });
    }
    let elapsed_ns = outcome.ended_ns.saturating_sub(outcome.began_ns);
    let overused = |what: String, busy_ns: u64| match busy_ns > elapsed_ns {
        true => Err(ReplayError::Overused { what, busy_ns, elapsed_ns }),
        false => Ok(()),
    };
    for device in &outcome.devices {
        overused("a drive".into(), device.busy_ns)?;
    }
    for bus in buses {
        overused("the bus".into(), bus.busy_ns as u64)?;
        if bus.move_ns(bus.moved_bytes) > bus.busy_ns * (1.0 + ROUNDING) + 1.0 {
            return Err(ReplayError::AboveRate {
                bytes: bus.moved_bytes,
                busy_ns: bus.busy_ns as u64,
                rate_bytes_per_s: bus.rate_bytes_per_s as u64,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::DeviceOutcome;

    #[test]
    fn a_broken_law_fails_the_replay() {
        let device = DeviceOutcome { device: 3, requests: 2, busy_ns: 50, ..Default::default() };
        let fine =
            Outcome { devices: vec![device], began_ns: 100, ended_ns: 150, ..Default::default() };
        let idle = Bus::new(1e9, 0.0);
        assert_eq!(check(&fine, (2, 2), [&idle]), Ok(()));
        let lost = check(&fine, (2, 1), [&idle]).unwrap_err();
        assert_eq!(lost, ReplayError::Unbalanced { taken: 2, completed: 1 });
        let short = Outcome { ended_ns: 149, ..fine.clone() };
        let error = check(&short, (2, 2), [&idle]).unwrap_err().to_string();
        assert_eq!(error, "a drive was busy for 50 ns within 49 ns");
        let mut bus = idle.clone();
        bus.reserve(0.0, 40.0, 40);
        assert_eq!(check(&fine, (2, 2), [&bus]), Ok(()));
        bus.reserve(0.0, 2.0, 20);
        let error = check(&fine, (2, 2), [&idle, &bus]).unwrap_err();
        assert!(matches!(error, ReplayError::AboveRate { bytes: 60, .. }), "{error}");
        bus.reserve(0.0, 20.0, 0);
        let error = check(&fine, (2, 2), [&bus]).unwrap_err();
        assert!(error.to_string().starts_with("the bus was busy for 62 ns"), "{error}");
    }
}
