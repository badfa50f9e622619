//! The CPU account on the running kernel. Each test holds whatever else the machine does; all are
//! skipped, in a sentence, where BPF may not be loaded.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod cost;

use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use trace::account::{AccountError, CpuAccount, CpuTime};

/// One account at a time: each counts this whole process.
static ALONE: Mutex<()> = Mutex::new(());

fn account() -> Option<(CpuAccount, MutexGuard<'static, ()>)> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !rustix::process::geteuid().is_root() {
        println!("skipped: loading BPF needs root");
        return None;
    }
    match CpuAccount::load() {
        Ok(account) => Some((account, alone)),
        Err(e @ AccountError::Load(_)) => {
            println!("skipped: failed to {e}");
            None
        }
        Err(e) => panic!("failed to {e}"),
    }
}

fn now_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Uses `ns` of CPU time on one CPU and returns how much it was.
fn spin_ns(cpu: usize, ns: u64) -> u64 {
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one).unwrap();
    let begun = now_ns(ClockId::ThreadCPUTime);
    loop {
        let used = now_ns(ClockId::ThreadCPUTime) - begun;
        if used >= ns {
            return used;
        }
    }
}

/// Time that the hypervisor took, in ns, to a tick on each CPU: the scheduler leaves it out of a
/// thread's time, the account does not.
fn stolen_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let steal = text.lines().next().unwrap().split_whitespace().nth(8).unwrap();
    steal.parse::<u64>().unwrap() * 10_000_000
}

/// Runs something between two readings.
fn during(account: &mut CpuAccount, run: impl FnOnce() -> u64) -> (CpuTime, u64) {
    let before = account.read().unwrap();
    let used = run();
    (account.read().unwrap() - before, used)
}

/// A class holds a thread's time: all of it, but for the interrupts that the scheduler charges to
/// the thread; and no more, but for stolen time.
fn assert_charged(class_ns: u64, time: &CpuTime, used_ns: u64, stolen_ns: u64) {
    let interrupts_ns = time.hard_interrupts_ns + time.soft_interrupts_ns;
    let least = used_ns as f64 * 0.97 - interrupts_ns as f64;
    let most = used_ns as f64 * 1.03 + stolen_ns as f64;
    println!("used {used_ns}, charged {class_ns}, stolen {stolen_ns}; {time:?}");
    assert!((least..=most).contains(&(class_ns as f64)), "{class_ns} not in {least}..={most}");
}

/// A thread that never leaves its CPU by itself must be counted up to each reading. Each CPU is
/// read at some moment of the reading, so that the sum lies between the two intervals, however late
/// a busy CPU is reached.
#[test]
fn the_classes_sum_to_the_whole_time_of_all_cpus() {
    let Some((mut account, _alone)) = account() else { return };
    account.start().unwrap();
    let builder = std::thread::Builder::new().name("lbolt-job".into());
    let job = builder.spawn(|| spin_ns(sched_getcpu(), 500_000_000)).unwrap();
    let outer = Instant::now();
    let before = account.read().unwrap();
    let inner = Instant::now();
    std::thread::sleep(Duration::from_secs(2));
    let inner = inner.elapsed().as_nanos() as f64 * account.cpus() as f64;
    let time = account.read().unwrap() - before;
    let outer = outer.elapsed().as_nanos() as f64 * account.cpus() as f64;
    job.join().unwrap();
    let total = time.total_ns() as f64;
    let off = |whole: f64| 100.0 * (total / whole - 1.0);
    println!("sum {total}: {:+.4} % and {:+.4} %; {time:?}", off(inner), off(outer));
    println!("tracepoints missing: {:?}", account.missing());
    assert_eq!(time.total_ns(), time.covered_ns);
    assert!(off(inner) > -0.01 && off(outer) < 0.01, "{total} not in {inner}..={outer}");
    assert!(time.events > 0 && time.jobs_ns > 0);
}

#[test]
fn job_threads_and_other_threads_have_their_own_classes() {
    let Some((mut account, _alone)) = account() else { return };
    account.start().unwrap();
    let cpu = sched_getcpu();
    let in_thread = |name: &str| {
        let builder = std::thread::Builder::new().name(name.into());
        builder.spawn(move || spin_ns(cpu, 200_000_000)).unwrap().join().unwrap()
    };
    for (name, is_job) in [("lbolt-job", true), ("iou-wrk-7", true), ("progress", false)] {
        let stolen = stolen_ns();
        let (time, used) = during(&mut account, || in_thread(name));
        let stolen = stolen_ns() - stolen + 20_000_000;
        let (own, other) = match is_job {
            true => (time.jobs_ns, time.harness_ns),
            false => (time.harness_ns, time.jobs_ns),
        };
        assert_charged(own, &time, used, stolen);
        assert!(other < 20_000_000, "{name}: {other} in the other class");
    }
}

#[test]
fn a_child_process_is_another_program() {
    let Some((mut account, _alone)) = account() else { return };
    account.start().unwrap();
    let stolen = stolen_ns();
    let (time, used) = during(&mut account, || {
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; cat /proc/$$/schedstat";
        let output = Command::new("sh").args(["-c", script]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_whitespace().next().unwrap().parse().unwrap()
    });
    println!("used {used}, stolen {}; {time:?}", stolen_ns() - stolen);
    let interrupts_ns = time.hard_interrupts_ns + time.soft_interrupts_ns;
    assert!(time.programs_ns + interrupts_ns > used / 100 * 97);
    assert!(time.jobs_ns == 0, "no thread runs a job");
}

#[test]
fn work_items_are_distinguished_from_other_kernel_threads() {
    let Some((mut account, _alone)) = account() else { return };
    account.start().unwrap();
    // Work items run all the time: the kernel's own, and the flushing of what is written here.
    let (time, _) = during(&mut account, || {
        std::thread::sleep(Duration::from_millis(1500));
        0
    });
    println!("{time:?}");
    assert!(time.work_items_ns > 0);
    assert!(time.hard_interrupts_ns > 0);
    assert!(time.soft_interrupts_ns > 0);
}

#[test]
fn a_stopped_account_is_not_read_and_a_new_run_begins_from_nothing() {
    let Some((mut account, _alone)) = account() else { return };
    assert!(matches!(account.read(), Err(AccountError::NotStarted)));
    account.start().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let first = account.read().unwrap();
    account.stop().unwrap();
    assert!(matches!(account.read(), Err(AccountError::NotStarted)));
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    account.start().unwrap();
    let second = account.read().unwrap();
    let since = begun.elapsed().as_nanos() as u64 * account.cpus() as u64;
    assert!(first.covered_ns > 250_000_000 * account.cpus() as u64, "{first:?}");
    assert!(second.covered_ns <= since, "{second:?} in {since}");
    assert_eq!(second.total_ns(), second.covered_ns);
}

/// In a PID namespace of its own a process knows only its number within.
#[test]
fn our_process_is_known_in_a_pid_namespace() {
    const WITHIN: &str = "LBOLT_TEST_WITHIN";
    if std::env::var_os(WITHIN).is_some() {
        let Some((mut account, _alone)) = account() else { return };
        account.start().unwrap();
        let stolen = stolen_ns();
        let (time, used) = during(&mut account, || spin_ns(sched_getcpu(), 100_000_000));
        assert_charged(time.harness_ns, &time, used, stolen_ns() - stolen + 20_000_000);
        return;
    }
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let own = std::env::current_exe().unwrap();
    let output = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", "--kill-child"])
        .arg(own)
        .args(["--exact", "our_process_is_known_in_a_pid_namespace", "--nocapture"])
        .env(WITHIN, "1")
        .stdin(Stdio::null())
        .output();
    drop(alone);
    let Ok(output) = output else {
        println!("skipped: there is no unshare");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    if !said.contains("running 1 test") {
        println!("skipped: no namespace: {complaint}");
        return;
    }
    println!("{said}");
    assert!(output.status.success(), "{said}{complaint}");
}

/// `cargo test -p trace --release -- --ignored --nocapture` shows the cost on this machine.
#[test]
#[ignore = "a measurement, for a quiet machine"]
fn what_the_account_costs() {
    let Some((account, _alone)) = account() else { return };
    drop(account);
    println!("{:?}", cost::measure());
}
