//! Sentences of losses to who used the CPUs.

use super::*;

#[test]
fn who_used_the_cpus_is_said_to_have_used_them() {
    let of = |cpu, writes| {
        let by = [("lost_to_cpu_percent", cpu), ("lost_to_writes_percent", writes)];
        let lost = [("lost_ns", 24e9), ("matters", 1.0), by[0], by[1]];
        sentences(&[of_run(), blame("busy-loop", true, &lost, &[])].concat()).remove(0)
    };
    let used = "busy-loop, which used the CPUs that it waited for";
    assert!(of(100.0, 0.0).contains(&format!("behind {used}.")));
    assert!(of(60.0, 40.0).contains(&format!("behind writes of {used}, too.")));
    assert!(!of(3.0, 97.0).contains("CPU"));
}
