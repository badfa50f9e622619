//! What the capture costs, measured: fio reads 4 KiB at random from a loop device over a cached
//! image, in turns with and without the capture. `cargo test -p trace --release --test capture --
//! --ignored --nocapture` on a quiet machine.

use super::lab::{Loop, capture_of, run};
use std::process::Command;
use std::time::Duration;
use trace::bpf::RunCounting;
use trace::capture::Capture;
use trace::intake::Collected;

const ROUNDS: usize = 5;
const SECONDS: u32 = 3;

/// A pass of fio.
#[derive(Debug, Clone, Copy)]
struct Pass {
    iops: f64,
    /// CPU time of fio and of the kernel's workers for each request, in ns.
    cpu_ns: f64,
}

/// CPU time of kernel threads that work for requests, in ns.
fn workers_ns() -> u64 {
    let time = |entry: std::fs::DirEntry| {
        let path = entry.path();
        let name = std::fs::read_to_string(path.join("comm")).ok()?;
        let works = name.starts_with("kworker") || name.starts_with("ksoftirqd");
        let text = works.then(|| std::fs::read_to_string(path.join("schedstat")).ok())??;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(time).sum()
}

/// CPU time of this process's children that have ended, in ns: to the µs.
fn children_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = |n: usize| fields[n].parse::<u64>().unwrap();
    (ticks(13) + ticks(14)) * 10_000_000
}

fn pass(disk: &Loop, mut meanwhile: impl FnMut()) -> Pass {
    let (workers, children) = (workers_ns(), children_ns());
    let mut fio = Command::new("fio")
        .args(["--name=x", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=libaio"])
        .args(["--iodepth=16", "--time_based", "--output-format=terse", "--readonly"])
        .arg(format!("--runtime={SECONDS}"))
        .arg(format!("--filename={}", disk.text()))
        .arg("--output=/dev/null")
        .spawn()
        .unwrap();
    let before = reads(disk);
    while fio.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(50));
        meanwhile();
    }
    let done = (reads(disk) - before) as f64;
    let cpu = (workers_ns() - workers) + (children_ns() - children);
    Pass { iops: done / f64::from(SECONDS), cpu_ns: cpu as f64 / done }
}

/// Reads that the device has completed.
fn reads(disk: &Loop) -> u64 {
    let text = std::fs::read_to_string(disk.attribute("stat")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

fn traced(disk: &Loop, capture: &mut Capture) -> (Pass, u64, u64) {
    let mut steps = Collected::default();
    let (mut events, mut user_ns) = (0, 0);
    let pass = pass(disk, || {
        let begun = cpu_ns();
        events += capture.drain(&mut steps).unwrap().events;
        steps.events.clear();
        user_ns += cpu_ns() - begun;
    });
    (pass, events, user_ns)
}

fn cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[test]
#[ignore = "a measurement, for a quiet machine"]
fn what_the_capture_costs() {
    if run("fio", &["--version"]).is_none() {
        return println!("skipped: needs fio");
    }
    let Some(disk) = Loop::new(64) else { return };
    let (mut bare, mut with) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(pass(&disk, || {}));
        let Some(mut capture) = capture_of(&[disk.number], 16 << 20) else { return };
        let (pass, events, user_ns) = traced(&disk, &mut capture);
        let lost: u64 = capture.losses().unwrap().records.iter().sum();
        let missed: u64 = capture.losses().unwrap().queue_times.iter().sum();
        let user_ns = user_ns as f64 / events as f64;
        println!(
            "{:?} {pass:?} {events} events, {lost} lost, {missed} times missed, {user_ns:.0} ns to \
             drain each",
            bare.last()
        );
        with.push(pass);
    }
    let least = |passes: &[Pass]| passes.iter().map(|p| p.cpu_ns).fold(f64::INFINITY, f64::min);
    let most = |passes: &[Pass]| passes.iter().map(|p| p.iops).fold(0.0, f64::max);
    let added = least(&with) - least(&bare);
    println!(
        "least CPU a request {:.0} ns, with capture {:.0}: +{added:.0}, {:.0} an event",
        least(&bare),
        least(&with),
        added / 3.0
    );
    println!("most requests a second {:.0}, with capture {:.0}", most(&bare), most(&with));
}

#[test]
#[ignore = "a measurement, for a quiet machine"]
fn what_each_program_costs() {
    let Some(disk) = Loop::new(64) else { return };
    let Some(mut capture) = capture_of(&[disk.number], 16 << 20) else { return };
    let _counting = RunCounting::start().unwrap();
    traced(&disk, &mut capture);
    for time in capture.run_times().iter().filter(|time| time.runs > 0) {
        println!("{}: {} runs, {} ns each", time.program, time.runs, time.time_ns / time.runs);
    }
}
