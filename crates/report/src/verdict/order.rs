//! In which order losses are told: whoever is hurt stands before whoever hurts.
//!
//! The rule. First come programs that only lost; then programs that made others lose as well, a
//! tenth of what they lost or more, whose own syncs are often the longest waits; then threads of
//! the kernel. Among these, the largest loss is first.
//!
//! Non-goals: which losses matter (`verdict`).

use super::told::{Loss, Told, waker};
use model::role_name::is_of_kernel;

/// Who made others lose less than this part of what was lost only lost.
const HURTS_LEAST: f64 = 0.1;

/// Who it is that lost, the first to be told of first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Hurt,
    Hurts,
    Kernel,
}

impl Rank {
    pub(super) fn of(loss: &Loss<'_>, told: &Told<'_>) -> Self {
        let victim = &loss.of.victim;
        // Who waited for a victim's thread lost the same time again.
        let is_behind = |one: &&Loss<'_>| {
            let of = one.of;
            let is_others = of.is_role && of.cause == *victim && of.victim != *victim;
            is_others && one.matters() && waker(of).is_none()
        };
        let caused_ns: f64 = told.losses.iter().filter(is_behind).map(Loss::lost_ns).sum();
        let is_own = |one: &&Loss<'_>| one.of.victim == *victim && one.matters();
        let lost_ns: f64 = told.losses.iter().filter(is_own).map(Loss::lost_ns).sum();
        match caused_ns > 0.0 && caused_ns >= HURTS_LEAST * lost_ns {
            _ if is_of_kernel(victim) => Self::Kernel,
            true => Self::Hurts,
            false => Self::Hurt,
        }
    }
}
