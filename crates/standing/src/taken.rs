//! What the kernel has summed up, as a watch takes it: counted, held against what is waited for,
//! and kept for an incident.
//!
//! Non-goals: what is summed up (`capture::Repeats`).

use super::capture::Shared;
use ::capture::{Alarm, Sums, TakesSums};
use ::verdict::watched::{InCommon, Many};
use model::record::{Commands, Request};

/// Where sums go.
pub(super) struct Taker<'a> {
    pub(super) shared: &'a Shared,
    pub(super) alarm: &'a Alarm,
    pub(super) sums: &'a mut Sums,
}

impl TakesSums for Taker<'_> {
    fn in_common(&mut self, like: &Request, commands: &Commands) -> Option<InCommon> {
        // Who asks is to be known.
        like.pid.filter(|pid| self.shared.losses.borrow().knows(*pid))?;
        let what = self.shared.tally.borrow_mut().in_common(like, commands);
        Some(what).filter(InCommon::are_of_a_role)
    }

    fn span_end_ns(&mut self, now_ns: i64) -> Option<i64> {
        self.shared.spans.borrow().of(now_ns).map(|span| span.until_ns)
    }

    fn take(&mut self, what: InCommon, many: &Many, until_ns: i64, commands: &Commands) {
        let now_ns = many.until_ns;
        self.alarm.see_many(many.like.op, &many.responses, now_ns);
        self.sums.add(what, many, commands);
        let mut spans = self.shared.spans.borrow_mut();
        spans.reach(now_ns);
        let began_ns = now_ns.min(until_ns.saturating_sub(1));
        self.shared.tally.borrow_mut().many(many, began_ns, commands, &spans);
        self.shared.losses.borrow_mut().many(many.clone());
    }
}
