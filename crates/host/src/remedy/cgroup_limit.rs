//! The writer by itself is held to twice the rate at which it dirties pages: its sync is stretched.

use super::{Kind, NOTHING, PAGES_LEAST, Remedy, limit, numbers};

pub(super) const REMEDY: Remedy = Remedy {
    name: "cgroup-limit",
    meaning: "limit the writer's cgroup to twice the rate at which it dirties pages",
    kind: Kind::Group,
    group: |place| {
        let bytes_per_s = place.dirty_bytes as f64 * 2e9 / place.period_ns.max(1) as f64;
        let bytes_per_s = (bytes_per_s as u64).max(PAGES_LEAST);
        let limit_of = format!("{} {bytes_per_s}", numbers(place)?);
        limit("blkio.throttle.write_bps_device", limit_of)
    },
    by_hand: Some("run the writer with: systemd-run -p IOWriteBandwidthMax=\"DEVICE RATE\" WRITER"),
    ..NOTHING
};
