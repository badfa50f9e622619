//! The scheduler bfq with a hundredth of the usual share for the writer.

use super::{Kind, NOTHING, Remedy, limit, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "cgroup-weight",
    meaning: "a cgroup of the writer's with the least share, by the scheduler bfq",
    // It needs a scheduler of its own.
    kind: Kind::Scheduler,
    settings: |place| Ok(vec![scheduler(place, "bfq")?]),
    group: |_| limit("blkio.bfq.weight", "1".into()),
    by_hand: Some("set the scheduler bfq, and run the writer by: systemd-run -p IOWeight=1 WRITER"),
    ..NOTHING
};
