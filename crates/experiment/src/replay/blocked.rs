//! When the target kept the replay from going on: its queue was full, or taking a request lasted.

use std::collections::VecDeque;

/// Stretches that are remembered. What was due before the oldest of them is charged with all.
const KEPT: usize = 1 << 16;

/// Stretches that are no further apart are one.
const APART_NS: u64 = 200;

/// A stretch of time, and how much was blocked before it.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from_ns: u64,
    to_ns: u64,
    before_ns: u64,
}

/// The stretches so far, in order.
#[derive(Debug, Default)]
pub(super) struct Blocked {
    stretches: VecDeque<Stretch>,
    total_ns: u64,
}

impl Blocked {
    /// Adds a stretch that begins where the last ended, or later.
    pub(super) fn add(&mut self, from_ns: u64, to_ns: u64) {
        let length_ns = to_ns.saturating_sub(from_ns);
        match self.stretches.back_mut() {
            Some(last) if from_ns <= last.to_ns + APART_NS => {
                // The gap counts too: it is no longer than a few instructions.
                self.total_ns += to_ns.saturating_sub(last.to_ns);
                last.to_ns = to_ns.max(last.to_ns);
            }
            _ => {
                if self.stretches.len() == KEPT {
                    self.stretches.pop_front();
                }
                self.stretches.push_back(Stretch { from_ns, to_ns, before_ns: self.total_ns });
                self.total_ns += length_ns;
            }
        }
    }

    /// How much was blocked from a moment on until now.
    pub(super) fn since(&self, moment_ns: u64) -> u64 {
        let next = self.stretches.partition_point(|stretch| stretch.to_ns <= moment_ns);
        let Some(stretch) = self.stretches.get(next) else { return 0 };
        let inside_ns = moment_ns.saturating_sub(stretch.from_ns);
        self.total_ns - stretch.before_ns - inside_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_blocked_since_a_moment_is_summed() {
        let mut blocked = Blocked::default();
        blocked.add(1_000, 2_000);
        blocked.add(5_000, 5_500);
        blocked.add(5_600, 6_000);
        for (moment_ns, since_ns) in
            [(0, 2_000), (1_500, 1_500), (2_000, 1_000), (5_100, 900), (6_000, 0), (9_000, 0)]
        {
            assert_eq!(blocked.since(moment_ns), since_ns, "{moment_ns}");
        }
    }

    #[test]
    fn what_is_forgotten_is_charged_with_all_that_is_remembered() {
        let mut blocked = Blocked::default();
        (0..2 * KEPT as u64).for_each(|n| blocked.add(1_000 * n, 1_000 * n + 10));
        assert_eq!(blocked.stretches.len(), KEPT);
        assert_eq!(blocked.since(0), 10 * KEPT as u64);
    }
}
