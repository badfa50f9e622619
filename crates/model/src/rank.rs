//! In which order losses are told: whoever is hurt stands before whoever hurts.
//!
//! The rule. First come programs that only lost; then programs that made others lose as well, a
//! tenth of what they lost or more, whose own syncs are often the longest waits; then threads of
//! the kernel. Among these, the largest loss is first.
//!
//! Non-goals: which losses matter (`verdict`, `verdict::history`, `top`).

use crate::record::WAIT_FOR_THREAD;
use crate::role_name::is_of_kernel;
use std::collections::BTreeMap;

/// Who made others lose less than this part of what was lost only lost.
const HURTS_LEAST: f64 = 0.1;

/// Who it is that lost, the first to be told of first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Only lost.
    Hurt,
    /// Made others lose, too.
    Hurts,
    /// A thread of the kernel.
    Kernel,
}

/// A loss that matters, as far as it tells who is hurt.
#[derive(Debug, Clone, Copy)]
pub struct Lost<'a> {
    /// Of which host; empty where there is one alone.
    pub host: &'a str,
    /// The role that lost.
    pub victim: &'a str,
    /// The role that it lost to; none where that is no role.
    pub cause: Option<&'a str>,
    /// What it waited for.
    pub wait: &'a str,
    /// How much, in one unit for all.
    pub lost: f64,
}

/// The ranks of all who lost, by host and role: what each lost, and made others lose.
#[derive(Debug, Default)]
pub struct Ranks<'a>(BTreeMap<(&'a str, &'a str), (f64, f64)>);

impl<'a> FromIterator<Lost<'a>> for Ranks<'a> {
    fn from_iter<I: IntoIterator<Item = Lost<'a>>>(losses: I) -> Self {
        let mut ranks = Self::default();
        for Lost { host, victim, cause, wait, lost } in losses {
            ranks.0.entry((host, victim)).or_default().0 += lost;
            // Who waited for a victim's thread lost the same time again.
            let is_root = !wait.starts_with(WAIT_FOR_THREAD);
            if let Some(cause) = cause.filter(|cause| is_root && *cause != victim) {
                ranks.0.entry((host, cause)).or_default().1 += lost;
            }
        }
        ranks
    }
}

impl Ranks<'_> {
    /// The rank of a role on a host.
    pub fn of(&self, host: &str, victim: &str) -> Rank {
        let (lost, caused) = self.0.get(&(host, victim)).copied().unwrap_or_default();
        match caused > 0.0 && caused >= HURTS_LEAST * lost {
            _ if is_of_kernel(victim) => Rank::Kernel,
            true => Rank::Hurts,
            false => Rank::Hurt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost<'a>(victim: &'a str, cause: &'a str, lost: f64) -> Lost<'a> {
        Lost { host: "", victim, cause: Some(cause), wait: "fsync", lost }
    }

    #[test]
    fn who_makes_others_lose_a_tenth_of_its_own_loss_hurts() {
        let of = |losses: &[Lost<'_>], role: &str| {
            losses.iter().copied().collect::<Ranks<'_>>().of("", role)
        };
        let copy = lost("dd", "hog", 10.0);
        assert_eq!(of(&[copy, lost("orders", "dd", 1.0)], "dd"), Rank::Hurts);
        assert_eq!(of(&[copy, lost("orders", "dd", 1.0)], "orders"), Rank::Hurt);
        assert_eq!(of(&[copy, lost("orders", "dd", 0.9)], "dd"), Rank::Hurt);
        assert_eq!(of(&[copy, lost("dd", "dd", 9.0)], "dd"), Rank::Hurt, "itself alone");
        assert_eq!(of(&[lost("kernel worker", "dd", 9.0)], "kernel worker"), Rank::Kernel);
    }

    #[test]
    fn time_that_was_lost_again_and_other_hosts_do_not_count() {
        let sleeper = Lost { wait: "thread of orders", ..lost("web", "dd", 9.0) };
        let elsewhere = Lost { host: "b", ..lost("orders", "dd", 9.0) };
        let ranks: Ranks<'_> = [lost("dd", "hog", 10.0), sleeper, elsewhere].into_iter().collect();
        assert_eq!((ranks.of("", "dd"), ranks.of("b", "dd")), (Rank::Hurt, Rank::Hurts));
    }
}
