//! Calls that are held back before the device while a program uses the CPUs, while the hypervisor
//! has them, and while they are idle.

use super::*;
use model::record::{CallKind, CpuUse, FileKind, FileNumber};

/// What the CPUs do in each burst, in ms of the 500 ms of two CPUs; how long threads of `db` wait
/// for one in it; and which process uses the CPUs.
struct Burst {
    idle_ms: i64,
    stolen_ms: i64,
    waited_ms: i64,
    user: u64,
}

const BUSY: Burst = Burst { idle_ms: 0, stolen_ms: 0, waited_ms: 250, user: 2 };

/// `db` calls fsync every 20 ms for 20 s. Its write takes 1 ms, and the call 2 ms: in each of four
/// bursts 25 calls take 12 ms, and 1 s is lost in all.
fn load(took_ms: impl Fn(i64) -> i64, bursts: &Burst) -> Load {
    let mut load = Load::with(&["db", "busy-loop"]);
    let number = FileNumber { file_system: 8 << 20, inode: 12, generation: 1 };
    for call in 1..1000 {
        let begin_ns = call * 20 * MS;
        load.request(1, Op::Write, begin_ns, MS, 4096);
        let row = load.rows.last_mut().unwrap();
        row.file = Some(FileKey { kind: FileKind::Regular, number });
        load.context.calls.push(Call {
            kind: CallKind::Fsync,
            file_system: 8 << 20,
            inode: 12,
            pid: 1,
            begin_ns,
            end_ns: Some(begin_ns + took_ms(begin_ns) * MS),
            ..Call::default()
        });
    }
    for slice in 0..200 {
        let from_ns = slice * 100 * MS;
        let (idle_ms, stolen_ms) = match is_in_burst(from_ns) {
            true => (bursts.idle_ms / 5, bursts.stolen_ms / 5),
            false => (150, 0),
        };
        load.context.cpu_times.push(CpuTime {
            from_ns,
            until_ns: from_ns + 100 * MS,
            cpus: 2,
            idle_ns: (idle_ms * MS) as u64,
            stolen_ns: (stolen_ms * MS) as u64,
            io_stalled_ns: None,
        });
    }
    for second in [4, 9, 14, 19] {
        let (from_ns, until_ns) = (second * 1000 * MS, (second + 1) * 1000 * MS);
        let of = |pid: u64| CpuUse {
            from_ns,
            until_ns,
            pid,
            process: pid,
            command: "x".to_owned(),
            ..CpuUse::default()
        };
        let waited_ns = (bursts.waited_ms * MS) as u64;
        load.context.cpu_uses.extend([
            CpuUse { ran_ns: 700 * MS as u64, ..of(bursts.user) },
            CpuUse { ran_ns: 20 * MS as u64, ..of(3 - bursts.user) },
            CpuUse { waited_ns, ..of(1) },
        ]);
    }
    load
}

/// Causes of what `db` lost, and how much in s.
fn blamed(bursts: &Burst) -> Vec<(String, f64)> {
    let took_ms = |ns| if is_in_burst(ns) { 12 } else { 2 };
    let named = named(&load(took_ms, bursts).findings());
    assert!(named.iter().all(|(victim, ..)| victim == "db"), "{named:?}");
    named.into_iter().map(|(_, cause, lost_s)| (cause, lost_s)).collect()
}

#[track_caller]
fn assert_blamed(bursts: &Burst, expected: &[(&str, f64)]) {
    let mut found = blamed(bursts);
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let is_it = |(of, (cause, lost_s)): (&(String, f64), &(&str, f64))| {
        of.0 == *cause && (of.1 - lost_s).abs() < 0.05
    };
    let are_all = found.len() == expected.len() && found.iter().zip(expected).all(is_it);
    assert!(are_all, "{found:?} and not {expected:?}");
}

#[test]
fn who_used_the_cpus_is_behind_waits_for_one() {
    assert_blamed(&BUSY, &[("busy-loop", 1.0)]);
    let findings = load(|ns| if is_in_burst(ns) { 12 } else { 2 }, &BUSY).findings();
    let percent = values(&findings, "lost_to_cpu_percent");
    assert!(percent.len() == 1 && (99.0..101.0).contains(&percent[0]), "{percent:?}");
}

/// Each of four used a quarter of what was used.
#[test]
fn of_many_who_used_the_cpus_nobody_is_behind_waits_for_one() {
    let mut load = load(|ns| if is_in_burst(ns) { 12 } else { 2 }, &BUSY);
    for one in std::mem::take(&mut load.context.cpu_uses) {
        if one.pid != BUSY.user {
            load.context.cpu_uses.push(one);
            continue;
        }
        let part = |(pid, name): (u64, &str)| CpuUse {
            pid,
            process: pid,
            command: name.to_owned(),
            ran_ns: one.ran_ns / 4,
            ..one.clone()
        };
        load.context.cpu_uses.extend((20..).zip(["red", "green", "blue", "white"]).map(part));
    }
    let named = named(&load.findings());
    assert!(matches!(&named[..], [(_, cause, _)] if cause == "held"), "{named:?}");
}

#[test]
fn what_was_not_measured_as_a_wait_for_a_cpu_stays_unknown() {
    let bursts = Burst { waited_ms: 100, ..BUSY };
    assert_blamed(&bursts, &[("busy-loop", 0.4), ("held", 0.6)]);
    assert_blamed(&Burst { waited_ms: 0, ..BUSY }, &[("held", 1.0)]);
}

/// A CPU quota of a cgroup makes threads wait on a run queue, too.
#[test]
fn while_cpus_were_idle_nobody_held_them() {
    assert_blamed(&Burst { idle_ms: 600, ..BUSY }, &[("held", 1.0)]);
}

#[test]
fn stolen_cpus_are_the_hypervisors_doing_and_the_rest_is_not() {
    assert_blamed(&Burst { stolen_ms: 1000, ..BUSY }, &[("stolen", 1.0)]);
    // Half of all CPU time, and so half of calls of 12 ms.
    assert_blamed(&Burst { stolen_ms: 500, ..BUSY }, &[("busy-loop", 0.4), ("stolen", 0.6)]);
}

/// The write itself takes 11 ms of the call's 12, as the device's worker waits for a CPU.
fn served_load(worker_waited_ms: u64, device_ms: i64) -> Load {
    let took_ms = |ns| if is_in_burst(ns) { 2 + device_ms } else { 2 };
    let mut load = load(took_ms, &Burst { waited_ms: 0, ..BUSY });
    for row in load.rows.iter_mut().filter(|row| is_in_burst(row.queued_ns.unwrap())) {
        let completed_ns = row.queued_ns.unwrap() + (1 + device_ms) * MS;
        row.completed_ns = Some(completed_ns);
    }
    let device = u64::from(load.rows[0].device);
    for one in &mut load.context.cpu_uses {
        if one.ran_ns == 0 {
            one.pid = 77;
            one.command = "kworker/u8:1-loop0".to_owned();
            one.waited_ns = worker_waited_ms * MS as u64;
            one.serves_device = Some(device);
        }
    }
    load
}

#[test]
fn while_who_serves_the_device_waits_for_a_cpu_who_used_them_is_behind_it() {
    let named = named(&served_load(250, 10).findings());
    let expected = ("db", "busy-loop");
    let are = named.iter().map(|(victim, cause, _)| (victim.as_str(), cause.as_str()));
    assert!(are.eq([expected]) && (0.8..1.05).contains(&named[0].2), "{named:?}");
}

#[test]
fn a_slow_device_whose_worker_waits_for_no_cpu_is_no_programs_doing() {
    let named = named(&served_load(0, 10).findings());
    assert!(named.iter().all(|(_, cause, _)| cause != "busy-loop"), "{named:?}");
}

#[test]
fn a_program_that_uses_the_cpus_itself_loses_nothing_to_others() {
    assert_blamed(&Burst { user: 1, ..BUSY }, &[]);
}

#[test]
fn calls_that_take_no_longer_lose_nothing_however_busy_the_cpus_are() {
    assert!(named(&load(|_| 2, &Burst { waited_ms: 25, ..BUSY }).findings()).is_empty());
}
