//! Evidence that is made up: each kind of assertion holds, and fails for its own reason alone.

use super::super::evidence::{Counters, FioReport};
use super::*;
use crate::lab::plan::Case;
use crate::lab::table::Pattern;
use model::doubt::{Doubt, Judgement};
use model::record::{Call, Request, Rollup, Subject, Summed};
use serde_json::json;

const SDA: u32 = 8 << 20;

fn read(place: u64) -> (Request, String) {
    let begin = place as i64 * 1_000;
    let row = Request {
        request_id: place,
        device: SDA,
        op: Op::Read,
        offset_bytes: Some(place * 4096),
        length_bytes: 4096,
        queued_ns: Some(begin),
        started_ns: Some(begin),
        issued_ns: Some(begin + 10),
        completed_ns: Some(begin + 100),
        ..Request::default()
    };
    (row, LOAD.to_owned())
}

fn write(place: u64) -> (Request, String) {
    let (row, command) = read(place);
    (Request { op: Op::Write, ..row }, command)
}

/// A flush sequence of a write: its own row, and what the disk was given for it.
fn durable_write(place: u64) -> Vec<(Request, String)> {
    let (row, command) = write(place);
    let parent = (Request { issued_ns: None, ..row }, command);
    let part = |id: u64, op, length_bytes| {
        let parent_id = Some(place);
        (Request { request_id: id, op, length_bytes, parent_id, ..row }, String::new())
    };
    vec![parent, part(place + 100, Op::Flush, 0), part(place + 200, Op::Write, 4096)]
}

fn run(requests: Vec<(Request, String)>) -> Run {
    let mut run = Run { requests, ..Run::default() };
    run.provenance.matching = "by identity".into();
    run
}

fn counters(reads: u64, writes: u64, flushes: u64) -> Counters {
    Counters {
        name: "sda".into(),
        mapped: "sda".into(),
        number: SDA,
        is_of_requests: true,
        reads,
        read_sectors: reads * 8,
        writes,
        write_sectors: writes * 8,
        flushes,
        ..Counters::default()
    }
}

/// Counts that the load alone made.
fn alone(of: Counters) -> Option<[Vec<Counters>; 4]> {
    let none = Counters { number: of.number, ..counters(0, 0, 0) };
    let none = Counters { is_of_requests: of.is_of_requests, ..none };
    Some([vec![none.clone()], vec![none], vec![of.clone()], vec![of]])
}

fn case(holds: &[Kind]) -> Case<'static> {
    Case {
        kernel: "6.12",
        stack: "sata".into(),
        name: "reads".into(),
        holds: holds.to_vec(),
        delay_ms: Some(20.0),
        ..Case::default()
    }
}

fn faults(case: &Case, evidence: &Evidence) -> Vec<Fault> {
    match judge(case, evidence) {
        Outcome::Failed(faults) => faults,
        Outcome::Passed => vec![],
        lacks @ Outcome::Lacks(_) => panic!("{lacks:?}"),
    }
}

fn fault(wanted: &str, measured: &str) -> Vec<Fault> {
    vec![Fault::new(wanted, measured)]
}

#[test]
fn counts_are_the_kernels_to_the_last_request() {
    let mut rows = vec![read(1), read(2)];
    rows.extend(durable_write(3));
    let mut evidence = Evidence {
        run: Some(run(rows)),
        counters: alone(counters(2, 1, 1)),
        ..Evidence::default()
    };
    let case = case(&[Kind::Counts]);
    assert_eq!(judge(&case, &evidence), Outcome::Passed);
    evidence.counters = alone(counters(2, 1, 2));
    assert_eq!(faults(&case, &evidence), fault("sda: flushes: 2, by the kernel", "1, by lbolt"));
    evidence.counters = alone(Counters { read_sectors: 24, ..counters(2, 1, 1) });
    assert_eq!(judge(&case, &evidence), Outcome::Passed);
    assert_eq!(
        faults(&self::case(&[Kind::Bytes]), &evidence),
        fault("sda: bytes read: 12288, by the kernel", "8192, by lbolt")
    );
    evidence.counters = None;
    assert_eq!(faults(&case, &evidence), fault("the kernel's counts", "nothing"));
}

#[test]
fn of_a_command_whole_sectors_are_counted() {
    let command = |id: u64, length_bytes| {
        let (row, name) = read(id);
        (Request { op: Op::Other, offset_bytes: None, length_bytes, ..row }, name)
    };
    let rows = vec![read(1), command(2, 36), command(3, 36), command(4, 512)];
    let evidence = |read_sectors| Evidence {
        run: Some(run(rows.clone())),
        counters: alone(Counters { read_sectors, ..counters(4, 0, 0) }),
        ..Evidence::default()
    };
    let case = case(&[Kind::Bytes]);
    assert_eq!(judge(&case, &evidence(9)), Outcome::Passed);
    assert_eq!(
        faults(&case, &evidence(10)),
        fault("sda: bytes read: 5120, by the kernel", "4096, by lbolt")
    );
}

#[test]
fn of_bcache_the_kernel_may_count_fewer_bytes_written_and_never_more() {
    let evidence = |name: &str, write_sectors| Evidence {
        run: Some(run(durable_write(1))),
        counters: alone(Counters { name: name.into(), write_sectors, ..counters(0, 1, 1) }),
        ..Evidence::default()
    };
    let case = case(&[Kind::Bytes]);
    for (name, sectors, outcome) in
        [("bcache0", 0, true), ("bcache0", 8, true), ("bcache0", 9, false), ("sda", 0, false)]
    {
        let judged = judge(&case, &evidence(name, sectors)) == Outcome::Passed;
        assert_eq!(judged, outcome, "{name}: {sectors}");
    }
}

#[test]
fn a_request_without_its_completion_is_not_counted() {
    let (lost, command) = read(2);
    let lost = Request { completed_ns: None, completed_by_ns: Some(5_000), ..lost };
    let evidence = Evidence {
        run: Some(run(vec![read(1), (lost, command)])),
        counters: alone(counters(2, 0, 0)),
        ..Evidence::default()
    };
    let found = faults(&case(&[Kind::Counts]), &evidence);
    assert_eq!(found[0], Fault::new("sda: reads: 2, by the kernel", "1, by lbolt"));
}

#[test]
fn others_may_use_the_device_before_and_after_the_load_alone() {
    let [before, begin] = [counters(0, 0, 0), counters(1, 0, 0)];
    let [end, after] = [counters(3, 0, 0), counters(4, 0, 0)];
    let counters = Some([vec![before], vec![begin], vec![end], vec![after]]);
    let mut evidence = Evidence { counters, ..Evidence::default() };
    for (traced, is_held) in [(1, false), (2, true), (4, true), (5, false)] {
        evidence.run = Some(run((0..traced).map(read).collect()));
        assert_eq!(faults(&case(&[Kind::Counts]), &evidence).is_empty(), is_held, "{traced}");
    }
}

#[test]
fn a_device_of_bios_counts_no_flush_and_an_empty_one_as_a_write_or_not_at_all() {
    let (row, command) = read(2);
    let empty = (Request { op: Op::Flush, offset_bytes: None, length_bytes: 0, ..row }, command);
    let run = Some(run(vec![write(1), empty]));
    let mut evidence = Evidence { run, ..Evidence::default() };
    for (writes, is_held) in [(0, false), (1, true), (2, true), (3, false)] {
        let of = Counters { is_of_requests: false, write_sectors: 8, ..counters(0, writes, 0) };
        evidence.counters = alone(of);
        assert_eq!(faults(&case(&[Kind::Counts]), &evidence).is_empty(), is_held, "{writes}");
    }
}

#[test]
fn only_fios_own_requests_are_held_against_its_report() {
    let operations = |ios: u64| json!({"total_ios": ios, "io_bytes": ios * 4096});
    let report = json!({"jobs": [{"read": operations(2)}]});
    let (other, _) = read(9);
    let rows = vec![read(1), read(2), (other, "udev-worker".to_owned())];
    let mut evidence =
        Evidence { run: Some(run(rows)), fio: Some(FioReport(report)), ..Evidence::default() };
    assert_eq!(judge(&case(&[Kind::Fio]), &evidence), Outcome::Passed);
    evidence.fio.as_mut().unwrap().0["jobs"][0]["write"] = operations(1);
    let found = faults(&case(&[Kind::Fio]), &evidence);
    assert_eq!(found[0], Fault::new("bytes of fio's writes: 4096, by fio", "0"));
    assert_eq!(found[1], Fault::new("fio's writes: 1, by fio", "0"));
    let found = faults(&case(&[Kind::FioBytes]), &evidence);
    assert_eq!(found, fault("bytes written: 4096, by fio", "0"));
}

#[test]
fn calls_of_fsync_are_fios_and_there_must_be_any() {
    let call = |command: &str| Call { command: command.into(), ..Call::default() };
    let mut run = run(vec![]);
    run.context.calls = vec![call(LOAD), call("systemd")];
    let fio = Some(FioReport(json!({"jobs": [{"sync": {"total_ios": 1}}]})));
    let mut evidence = Evidence { run: Some(run), fio, ..Evidence::default() };
    let case = case(&[Kind::Fsyncs]);
    assert_eq!(judge(&case, &evidence), Outcome::Passed);
    evidence.run.as_mut().unwrap().context.calls.clear();
    assert_eq!(faults(&case, &evidence), fault("fsync calls: 1, by fio", "0"));
    evidence.fio.as_mut().unwrap().0 = json!({"jobs": []});
    assert_eq!(faults(&case, &evidence), fault("fsync calls: 0, by fio", "0"));
}

#[test]
fn each_request_is_there_once_and_whole() {
    let mut evidence = Evidence { run: Some(run(vec![read(1), read(2)])), ..Evidence::default() };
    let case = case(&[Kind::Once]);
    assert_eq!(judge(&case, &evidence), Outcome::Passed);
    evidence.run.as_mut().unwrap().requests.push(read(1));
    assert_eq!(faults(&case, &evidence), fault("each request once", "1 are there again"));
    let run = evidence.run.as_mut().unwrap();
    run.requests.pop();
    run.provenance.counts.orphaned = 3;
    assert_eq!(faults(&case, &evidence), fault("orphaned: 0", "3"));
}

#[test]
fn what_began_with_the_capture_has_a_time_of_queueing() {
    let issued = |issued_ns| {
        let (row, command) = read(3);
        let (queued_ns, started_ns) = (None, None);
        (Request { queued_ns, started_ns, issued_ns: Some(issued_ns), ..row }, command)
    };
    let evidence =
        |ns| Evidence { run: Some(run(vec![read(1), issued(ns)])), ..Evidence::default() };
    let case = case(&[Kind::Once]);
    assert_eq!(judge(&case, &evidence(-5)), Outcome::Passed);
    let unqueued = fault("requests without a time of queueing: 0", "1");
    assert_eq!(faults(&case, &evidence(5)), unqueued);
}

#[test]
fn what_is_asked_for_after_the_load_may_have_no_end() {
    let open = |place| {
        let (row, _) = read(place);
        (Request { completed_ns: None, ..row }, "udevd".to_owned())
    };
    let evidence = |last| Evidence {
        run: Some(run(vec![read(1), read(5), open(last)])),
        ..Evidence::default()
    };
    let case = case(&[Kind::Once]);
    assert_eq!(judge(&case, &evidence(6)), Outcome::Passed);
    assert_eq!(faults(&case, &evidence(4)), fault("unanswered, of the load's time: 0", "1"));
}

#[test]
fn a_capture_by_perf_and_a_suspect_finding_are_faults() {
    let mut run = run(vec![]);
    run.provenance.matching = "by place (inexact)".into();
    let doubt = Doubt::new(Code::CompletionsLost, [("lost", 2u64.into())]);
    let finding = Finding::new(&Subject::device("sda"), "requests_count", Some(1.0), 1, "");
    run.findings = vec![finding.clone().judged(Judgement::default().with(Some(doubt))), finding];
    let mut evidence = Evidence { run: Some(run), ..Evidence::default() };
    let found = faults(&case(&[Kind::Bpf, Kind::Trusted]), &evidence);
    assert_eq!(found[0].measured, "matched by place (inexact)");
    let run = &mut evidence.run.as_mut().unwrap();
    run.findings[0].doubts = vec![Doubt::new(Code::FewTicks, [("cpu_ns", 2e6.into())])];
    assert_eq!(judge(&case(&[Kind::Trusted]), &evidence), Outcome::Passed);
    assert_eq!((found[1].wanted.as_str(), found.len()), ("nothing suspect", 2));
}

#[test]
fn a_published_median_is_within_a_tenth_of_the_delay() {
    let subject: Subject = serde_json::from_value(json!({"device": "dm-0", "op": "read"})).unwrap();
    let evidence = |ms: Option<f64>, fio_ms: f64| {
        let mut run = run(vec![]);
        let finding = |ms| Finding::new(&subject, "response_p50_ns", Some(ms * 1e6), 1, "");
        run.findings = ms.map(finding).into_iter().collect();
        let times = json!({"percentile": {"50.000000": fio_ms * 1e6}});
        let fio = Some(FioReport(json!({"jobs": [{"read": {"clat_ns": times}}]})));
        Evidence { run: Some(run), fio, ..Evidence::default() }
    };
    let case = case(&[Kind::Delay]);
    for (ms, is_held) in [(17.9, false), (18.1, true), (21.9, true), (22.1, false)] {
        assert_eq!(faults(&case, &evidence(Some(ms), 20.0)).is_empty(), is_held, "{ms}");
    }
    // As late as fio says, and no later.
    assert_eq!(judge(&case, &evidence(Some(26.0), 25.0)), Outcome::Passed);
    assert_eq!(
        faults(&case, &evidence(Some(29.0), 25.0)),
        fault("p50 of reads 18.0 to 27.5 ms", "29.00 ms")
    );
    assert_eq!(faults(&case, &evidence(None, 1.0))[0].measured, "none published");
}

#[test]
fn what_is_printed_the_code_and_the_checksum_are_judged() {
    let patterns = ["in use", "panic"].map(|text| Pattern::try_from(text.to_owned()).unwrap());
    let [says, silent] = Box::leak(Box::new(patterns));
    let case = Case {
        exit: 3,
        says: std::slice::from_ref(says),
        silent: std::slice::from_ref(silent),
        ..case(&[Kind::Unchanged])
    };
    let mut evidence = Evidence {
        end: End::Exit(3),
        stderr: "lbolt: sda is in\nuse".into(),
        sum: Some("unchanged".into()),
        ..Evidence::default()
    };
    let found = faults(&case, &evidence);
    assert_eq!(found, fault("printed: \"in use\"", "lbolt: sda is in use"));
    evidence.stderr = "sda is in use; panicked".into();
    evidence.sum = Some("changed".into());
    evidence.end = End::Exit(0);
    let found: Vec<_> = faults(&case, &evidence).into_iter().map(|f| f.wanted).collect();
    assert_eq!(found, ["exit code 3", "not printed"]);
    evidence.end = End::Exit(3);
    evidence.stderr = "sda is in use".into();
    assert_eq!(faults(&case, &evidence), fault("the device unchanged", "changed"));
}

#[test]
fn a_lack_must_be_said_in_its_sentence() {
    let sentence = Pattern::try_from("use Linux 6.1".to_owned()).unwrap();
    let sentence: &'static Pattern = Box::leak(Box::new(sentence));
    let case = Case { lacks: Some(sentence), ..case(&[Kind::Bpf]) };
    let mut evidence = Evidence { end: End::Exit(2), ..Evidence::default() };
    evidence.stderr = "no BPF; use Linux 6.1".into();
    assert_eq!(judge(&case, &evidence), Outcome::Lacks("use Linux 6.1".into()));
    let more = Case { is_rest_held: true, ..case };
    assert_eq!(faults(&more, &evidence)[0].wanted, "exit code 0");
    let case = Case { is_rest_held: false, ..more };
    evidence.stderr = "no".into();
    let wanted = "the sentence \"use Linux 6.1\"";
    assert_eq!(faults(&case, &evidence), fault(wanted, "exit code 2: no"));
    evidence.end = End::Setup;
    let found = faults(&self::case(&[Kind::Bpf]), &evidence);
    assert_eq!(found, fault("exit code 0", "the stack could not be set up: no"));
}

#[test]
fn the_times_of_all_layers_sum_to_the_tops() {
    // Two requests of 100 ns each.
    let run = run(vec![read(1), read(2)]);
    let published = |own: &[(&str, f64)]| {
        let finding = |(device, ns): &(&str, f64)| {
            let subject = json!({"device": device, "layer": "any"});
            json!({"subject": subject, "quantity": "layer_own_ns", "value": ns})
        };
        json!({"findings": own.iter().map(finding).collect::<Vec<_>>()})
    };
    let devices = [counters(2, 0, 0), Counters { number: 1, ..counters(2, 0, 0) }];
    let found = |own: &[(&str, f64)]| layers::layers(&run, &published(own), &devices);
    assert_eq!(found(&[("sda", 150.0), ("sda", 49.0), ("other", 7.0)]), []);
    let off = found(&[("sda", 150.0), ("sda", 47.0)]);
    assert_eq!(off[0].wanted, "sda: the layers' times sum to 0.000 ms");
    assert_eq!(found(&[("sda", 200.0)]), fault("sda: 2 layers", "1"));
    assert_eq!(found(&[]).len(), 2);
}

#[test]
fn what_is_passed_through_may_be_counted_as_read() {
    let (row, command) = read(2);
    let passed = (Request { op: Op::Other, ..row }, command);
    let mut evidence = Evidence { run: Some(run(vec![read(1), passed])), ..Evidence::default() };
    for (reads, is_held) in [(0, false), (1, true), (2, true), (3, false)] {
        evidence.counters = alone(counters(reads, 0, 0));
        let found = faults(&case(&[Kind::Counts, Kind::Bytes]), &evidence);
        assert_eq!(found.is_empty(), is_held, "{reads}: {found:?}");
    }
}

#[test]
fn the_history_of_a_watch_has_the_kernels_counts_and_bytes() {
    let row = |operation: &str, count, bytes| Rollup {
        device: Some("sda".into()),
        operation: operation.into(),
        count,
        bytes,
        ..Rollup::default()
    };
    let mut evidence = Evidence {
        history: Some(vec![row("read", 2, 8192), row("write", 1, 4096), row("read", 1, 4096)]),
        counters: alone(counters(3, 1, 7)),
        ..Evidence::default()
    };
    let case = case(&[Kind::Watched]);
    assert_eq!(judge(&case, &evidence), Outcome::Passed, "it tells of no flush of a disk");
    // Of what is passed through it has all bytes, of which the kernel counts whole sectors.
    evidence.history.as_mut().unwrap()[2] = row("other", 1, 5000);
    assert_eq!(judge(&case, &evidence), Outcome::Passed);
    evidence.history.as_mut().unwrap().pop();
    let found = faults(&case, &evidence);
    assert_eq!(found[0], Fault::new("sda: reads: 3, by the kernel", "2, by lbolt"));
    assert_eq!(found[1], Fault::new("sda: bytes read: 12288, by the kernel", "8192, by lbolt"));
    assert_eq!(found.len(), 2);
}

#[test]
fn many_of_what_repeats_are_in_sums() {
    let mut evidence = Evidence { run: Some(run(vec![read(1); 9])), ..Evidence::default() };
    let case = case(&[Kind::Summed]);
    assert_eq!(faults(&case, &evidence), fault("many requests in sums", "0, and 9 told"));
    let sums = Summed { count: 1, ..Summed::default() };
    evidence.run.as_mut().unwrap().context.summed.push(sums);
    assert_eq!(judge(&case, &evidence), Outcome::Passed);
}
