//! As mq-deadline, with its two tunables that decide how long a read waits for writes.

use super::{Kind, NOTHING, Remedy, of_queue, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "mq-deadline-strict",
    meaning: "I/O scheduler mq-deadline: one write after every 16 reads",
    kind: Kind::Scheduler,
    settings: |place| {
        let queue = |name: &str, value: u32| of_queue(place, name, value);
        Ok(vec![
            scheduler(place, "mq-deadline")?,
            queue("iosched/writes_starved", 16)?,
            queue("iosched/fifo_batch", 1)?,
        ])
    },
    ..NOTHING
};
