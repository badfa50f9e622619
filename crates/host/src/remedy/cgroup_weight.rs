//! The scheduler bfq with a hundredth of the usual share for the writer.

use super::{Kind, NOTHING, Remedy, limit, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "cgroup-weight",
    meaning: "give the writer's cgroup the lowest weight (I/O scheduler bfq)",
    // It needs a scheduler of its own.
    kind: Kind::Scheduler,
    settings: |place| Ok(vec![scheduler(place, "bfq")?]),
    group: |_| limit("blkio.bfq.weight", "1".into()),
    by_hand: Some(
        "set the I/O scheduler bfq, and run the writer with: systemd-run -p IOWeight=1 \
                   WRITER",
    ),
    ..NOTHING
};
