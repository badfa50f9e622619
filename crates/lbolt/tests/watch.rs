//! `lbolt watch` and `lbolt top` as a user runs them, on loop devices of the test's own.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Loop, Running, tool, wait_for};
use model::histogram::SparseHistogram;
use model::history::{History, Query, incidents};
use model::record::requests::RequestFile;
use model::record::{Context, Counted, Op, Request, Rollup, operations};
use rustix::process::Signal;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A watch of a device that has begun; none where nothing can be captured.
fn begun(lab: &Lab, words: &str) -> Option<Running> {
    begun_by(lab, lab.lbolt(words))
}

fn begun_by(lab: &Lab, command: Command) -> Option<Running> {
    let mut running = lab.start(command);
    let err = running.err_path();
    let is_begun = running.until("the watch", || {
        let said = std::fs::read_to_string(&err).unwrap();
        (said.contains("watching; ") || said.contains("failed to")).then_some(said)
    });
    if is_begun.contains("failed to load BPF") {
        println!("skipped: {is_begun}");
        running.wait();
        return None;
    }
    Some(running)
}

/// Reads of a device, past the cache, by several at once. Two that meet are not merged into one.
fn read(node: &str, count: u32) {
    let queue = Path::new("/sys/block").join(&node["/dev/".len()..]).join("queue");
    std::fs::write(queue.join("nomerges"), "2").unwrap();
    let reader = format!("dd if={node} of=/dev/null bs=4k count={count} iflag=direct status=none");
    let all = format!("for i in 1 2 3 4; do {reader} & done; wait");
    assert!(tool("sh", &["-c", &all]).is_some());
}

fn rows(directory: &Path, kinds: &[Counted]) -> Vec<Rollup> {
    let history = History::open(directory).unwrap();
    let (from_unix_ns, until_unix_ns) = (0, i64::MAX);
    let kinds = kinds.to_vec();
    let query = Query { from_unix_ns, until_unix_ns, kinds, ..Query::default() };
    let (rows, notes) = history.read(&query);
    assert!(notes.is_empty(), "{notes:?}");
    rows
}

/// The response times of dd's requests, from the first step to the completion, in order.
fn responses_of(path: &Path) -> Vec<i64> {
    let file = RequestFile::open(path).unwrap();
    let mut reader = file.read_all().unwrap();
    let mut all = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        let name = |row: &Request| row.command.map(|id| reader.commands.name(id).to_owned());
        let is_read = |row: &Request| row.parent_id.is_none() && name(row).as_deref() == Some("dd");
        let took = |row: Request| Some(row.completed_ns? - row.queued_ns.or(row.started_ns)?);
        all.extend(batch.rows().filter(is_read).filter_map(took));
    }
    all.sort_unstable();
    all
}

#[test]
fn root_a_watch_counts_as_a_record_of_the_same_time_does_and_as_the_kernel() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let node = &device.node;
    let Some(watch) = begun(&lab, &format!("watch history -d {node}")) else { return };
    let mut record = lab.lbolt(&format!("record -d {node} -o run --"));
    record.args(["sh", "-c", "touch ready; exec sleep 300"]);
    let mut record = lab.start(record);
    record.until("its command", || lab.path("ready").exists().then_some(()));
    let began = std::time::Instant::now();
    read(node, 3000);
    std::thread::sleep(Duration::from_secs(1));
    record.signal(Signal::INT);
    record.wait();
    let history = lab.path("history");
    watch.signal(Signal::USR1);
    let kept = wait_for("the last seconds as a run", || incidents(&history).unwrap().0.pop());
    let elapsed_ns = began.elapsed().as_nanos() as u64;
    watch.signal(Signal::INT);
    let ended = watch.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);

    // Others may look at a new device, too, while but one of the two captures.
    let is_read = |row: &&Rollup| row.role.as_deref() == Some("dd");
    let all = rows(&history, &[Counted::Requests]);
    let watched: Vec<&Rollup> = all.iter().filter(is_read).collect();
    let recorded = responses_of(&lab.path("run/requests.parquet"));
    assert_eq!(recorded.len(), 12_000);
    assert_eq!(watched.iter().map(|row| row.count).sum::<u64>(), 12_000);
    assert_eq!(watched.iter().map(|row| row.bytes).sum::<u64>(), 4096 * 12_000);
    // Two tracers stamp a request one after the other: only the watch's own rows have its times.
    // Its incident has a row of each, or a sum of those that came often while nobody else did.
    let own = responses_of(&kept.0.join("requests.parquet"));
    let sums = Context::read(&kept.0).unwrap().summed;
    let mut of_incident = SparseHistogram::default();
    own.iter().for_each(|ns| of_incident.record(*ns as u64));
    assert!(sums.iter().all(|sum| sum.op == Op::Read && sum.add_responses(&mut of_incident)));
    println!("{} rows, {} sums", own.len(), sums.len());
    assert_eq!(of_incident.count(), 12_000);
    let mut responses = SparseHistogram::default();
    for row in &watched {
        let of_row: Option<SparseHistogram> = row.responses();
        responses.merge(&of_row.unwrap());
    }
    assert!(responses.nonzero().eq(of_incident.nonzero()));
    assert_eq!(responses.sum_ns(), of_incident.sum_ns());
    // Of all that have rows, the quantiles are those of the rows.
    for quantile in [0.5, 0.9, 0.99, 1.0].into_iter().filter(|_| sums.is_empty()) {
        let rank = (quantile * own.len() as f64).ceil() as usize - 1;
        let ratio = responses.quantile_ns(quantile).unwrap() as f64 / own[rank] as f64;
        assert!((ratio - 1.0).abs() <= 0.004, "{quantile}: {ratio}");
    }
    let of_kernel = rows(&lab.path("history"), &[Counted::Disk]);
    let reads = |rows: &[Rollup]| {
        let reads = rows.iter().filter(|row| row.operation == "read").map(|row| row.count);
        reads.sum::<u64>()
    };
    assert_eq!(reads(&of_kernel), reads(&all), "by the kernel and by the watch");
    let of_watch = rows(&lab.path("history"), &[Counted::Watch]);
    let of = |operation: &str| {
        let found = of_watch.iter().filter(|row| row.operation == operation);
        found.map(|row| row.sum_ns).sum::<u64>()
    };
    // The watch began before that, and tells of whole looks.
    let watched_ns = of(operations::WATCHED);
    assert!(watched_ns + 500_000_000 >= elapsed_ns, "{watched_ns} of {elapsed_ns} ns");
    drop(device);
    lab.assert_clean();
}

/// Whether they are told or in a sum, while one role comes after the other and both at once, and by
/// many of a role.
#[test]
fn root_all_are_counted_whoever_comes_and_goes() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let node = &device.node;
    let Some(watch) = begun(&lab, &format!("watch history -d {node}")) else { return };
    // So many at least; on a quick machine for so long that it is seen that they come often.
    let read = "dd if=$0 of=/dev/null bs=512 iflag=direct status=none";
    let again = format!(
        "until_then() {{
            end=$(($(date +%s) + 2)); while $@; [ $(date +%s) -lt $end ]; do :; done
        }}
        until_then eval 'for i in 1 2 3 4 5 6 7 8; do {read} count=20000; done' &
        for i in 1 2 3; do sleep 0.7; head -c 4000000 $0 | wc -c; done
        wait
        for i in $(seq 24); do until_then {read} count=10000 & done
        wait"
    );
    assert!(tool("sh", &["-c", &again, node]).is_some());
    let history = lab.path("history");
    watch.signal(Signal::USR1);
    let kept = wait_for("the last seconds as a run", || incidents(&history).unwrap().0.pop());
    watch.signal(Signal::INT);
    let ended = watch.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
    let counts = |counted: Counted| -> u64 {
        let rows = rows(&history, &[counted]).into_iter();
        rows.filter(|row| row.operation == "read").map(|row| row.count).sum()
    };
    let (of_kernel, of_requests) = (counts(Counted::Disk), counts(Counted::Requests));
    let summed = Context::read(&kept.0).unwrap().summed;
    let count: u64 = summed.iter().map(|sum| sum.count).sum();
    let watch = rows(&history, &[Counted::Watch]);
    let lost = watch.iter().filter(|row| row.operation == operations::EVENTS_LOST);
    let lost: u64 = lost.map(|row| row.count).sum();
    println!("{of_requests} reads, {of_kernel} by the kernel, {count} in sums, {lost} events lost");
    assert!(of_kernel >= 400_000);
    assert!(summed.iter().any(|sum| !sum.other_pids.is_empty()), "{summed:?}");
    assert_eq!(counts(Counted::Waits), of_requests);
    // Of each that is missing two or three steps are: a machine may be so busy that it is told.
    let missing = of_kernel - of_requests;
    assert!(2 * missing <= lost, "{missing} missing");
    drop(device);
    lab.assert_clean();
}

#[test]
fn root_what_is_waited_for_becomes_a_run_again_and_again_and_the_least_goes_first() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let words = format!(
        "watch history -d {} --when max(read)>1us --before 3s --after 1s --max-incidents 2 \
         --before-size 100k",
        device.node
    );
    let Some(watch) = begun(&lab, &words) else { return };
    let history = lab.path("history");
    let err = watch.err_path();
    for number in 1..=3 {
        // A condition is judged each second: what comes after it tells that the second is over.
        // The third may itself be the least, and go.
        wait_for("an incident", || {
            read(&device.node, 200);
            let (found, damaged) = incidents(&history).unwrap();
            assert!(damaged.is_empty() && found.len() <= 3, "{damaged:?}");
            let said = std::fs::read_to_string(&err).unwrap();
            (said.matches("written because").count() >= number).then_some(())
        });
        // What goes on is no new one: it has to be over for as long as is kept after it.
        std::thread::sleep(Duration::from_secs(3));
    }
    watch.signal(Signal::INT);
    let ended = watch.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("written because max(read)"), "{}", ended.err);
    assert!(ended.err.contains("removed to make room"), "{}", ended.err);
    let (found, _) = incidents(&history).unwrap();
    assert_eq!(found.len(), 2);
    for (path, incident) in &found {
        assert!(incident.why.contains("max(read) of the last "), "{}", incident.why);
        let kept = RequestFile::open(&path.join("requests.parquet")).unwrap();
        assert_eq!(kept.rows(), incident.requests);
        assert!(incident.verdict.contains("did not fit into memory"), "{}", incident.verdict);
        let opened = lab.run(&format!("response {}", path.display()));
        assert!(opened.code == 0 && opened.out.contains("Devices"), "{}", opened.err);
    }
    drop(device);
    lab.assert_clean();
}

#[test]
fn root_the_part_that_writes_has_no_privileges_and_the_one_that_captures_ends_with_it() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let Some(watch) = begun(&lab, &format!("watch history -d {}", device.node)) else { return };
    let pid = watch.child.id();
    let status = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let of = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        u64::from_str_radix(line.split_ascii_whitespace().nth(1).unwrap(), 16).unwrap()
    };
    let writer = status(&pid.to_string());
    assert_eq!(["CapPrm", "CapEff", "CapAmb"].map(|name| of(&writer, name)), [0, 0, 0]);
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let thread = thread.unwrap().path();
        let text = std::fs::read_to_string(thread.join("status")).unwrap();
        assert_eq!(of(&text, "CapPrm"), 0, "{text}");
    }
    let part = tool("pgrep", &["-P", &pid.to_string(), "-f", "capture-part"]).unwrap();
    let part = part.trim();
    let captures = of(&status(part), "CapPrm");
    // The rings are emptied in time where others want the CPUs, too; nothing else is more urgent.
    let nice = |of: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{of}/stat")).unwrap();
        let nice = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19 - 3).unwrap();
        nice.parse::<i32>().unwrap()
    };
    assert_eq!((nice(part), nice(&pid.to_string())), (-10, 0));
    assert!(captures != 0 && captures & (1 << 12) == 0, "no network: {captures:x}");
    // The one that cleans up may end the COMMAND, and no more.
    let caretaker = watch.caretaker().as_raw_nonzero().get().to_string();
    // What it gives up last tells that it has.
    wait_for("less for the caretaker", || (of(&status(&caretaker), "Seccomp:") == 2).then_some(()));
    assert!(of(&status(&caretaker), "CapPrm") <= 1 << 5);
    for of_watch in [part, &caretaker] {
        let text = status(of_watch);
        assert_eq!([of(&text, "NoNewPrivs"), of(&text, "CapInh"), of(&text, "CapAmb")], [1, 0, 0]);
        assert_eq!(of(&text, "Seccomp:"), 2, "a filter");
    }
    let second = lab.run(&format!("watch history -d {}", device.node));
    second.assert_refused(2, &["another lbolt watch already uses it"]);
    // Killed: nothing of the other part stays.
    watch.signal(Signal::KILL);
    watch.wait();
    let directory = format!("/proc/{part}");
    wait_for("its end", || (!Path::new(&directory).exists()).then_some(()));
    let again = begun(&lab, &format!("watch history -d {} --duration 1s", device.node)).unwrap();
    assert_eq!(again.wait().code, 0);
    drop(device);
    lab.assert_clean();
}

#[test]
fn root_a_watch_of_root_s_is_a_user_of_the_system_and_so_is_its_command() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    // Nobody but root gets there by its name.
    lab.allow(".", 0o700);
    lab.file("shadow", "secret");
    lab.allow("shadow", 0o600);
    let command = "id -u; cat shadow /etc/shadow; touch /etc/cron.d/lbolt-must-not-be here";
    let mut words = lab.lbolt(&format!("watch history -d {} --", device.node));
    words.args(["sh", "-c", command]);
    let ended = lab.end(words);
    if ended.err.contains("failed to load BPF") {
        return println!("skipped: {}", ended.err);
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    let user: u32 = ended.out.trim().parse().unwrap();
    assert!(user != 0 && !ended.out.contains("secret"), "{}", ended.out);
    assert!(!Path::new("/etc/cron.d/lbolt-must-not-be").exists() && !lab.path("here").exists());
    // What it wrote is that user's, and a later watch goes on with it.
    use std::os::unix::fs::MetadataExt as _;
    let owner = |name: &str| std::fs::metadata(lab.path(name)).unwrap().uid();
    assert_eq!((owner("history"), owner("history/incidents")), (user, user));
    assert!(!rows(&lab.path("history"), &[Counted::Watch]).is_empty());
    let again = begun(&lab, &format!("watch history -d {} --duration 1s", device.node)).unwrap();
    assert_eq!(again.wait().code, 0);
    // A directory of other things is not handed over.
    lab.run(&format!("watch d/.. -d {}", device.node))
        .assert_refused(2, &["also contains", "name another"]);
    assert_eq!(owner("shadow"), 0);
    drop(device);
    lab.assert_clean();
}

#[test]
fn root_metrics_are_served_to_this_machine_alone() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let node = &device.node;
    lab.run(&format!("watch history -d {node} --prometheus 0.0.0.0:0"))
        .assert_refused(2, &["--listen-public"]);
    // Nobody else is given a port of this address meanwhile.
    let taken = std::net::TcpListener::bind("127.0.0.2:0").unwrap();
    let address = taken.local_addr().unwrap();
    lab.run(&format!("watch history -d {node} --prometheus {address}"))
        .assert_refused(2, &["in use"]);
    drop(taken);
    let words = format!("watch history -d {node} --prometheus {address}");
    let Some(watch) = begun(&lab, &words) else { return };
    let text = wait_for("metrics of what was read", || {
        read(node, 100);
        let text = get(&address.to_string());
        text.contains("lbolt_request_response_seconds_count").then_some(text)
    });
    let name = node.trim_start_matches("/dev/");
    assert!(text.contains(&format!("device=\"{name}\"")), "{text}");
    watch.signal(Signal::TERM);
    assert_eq!(watch.wait().code, 0);
    drop(device);
    lab.assert_clean();
}

fn get(address: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn root_a_watch_ends_with_its_command_and_tells_of_its_files() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let mut command = lab.lbolt(&format!("watch history --host node-7 -d {} --", device.node));
    let reader =
        format!("dd if={} of=/dev/null bs=64k count=50 iflag=direct status=none", device.node);
    command.args(["sh", "-c", &format!("{reader}; exec sleep 1")]);
    // The command has no privileges.
    let readable = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&device.node, mode).unwrap();
    };
    readable(0o664);
    let ended = lab.end(command);
    readable(0o660);
    if ended.err.contains("failed to load BPF") {
        println!("skipped: {}", ended.err);
        return;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    let told = lab.run("history history");
    assert_eq!(told.code, 0, "{}", told.err);
    let name = device.node.trim_start_matches("/dev/");
    assert!(told.out.contains("tps") && told.out.contains("p99"), "{}", told.out);
    let by_role = lab.run("history history --by role");
    assert!(by_role.out.contains("dd"), "{}", by_role.out);
    let by_device = lab.run("history history --by device");
    assert!(by_device.out.contains(name), "{}", by_device.out);
    let by_host = lab.run("history history --by host");
    assert!(by_host.out.contains("node-7"), "{}", by_host.out);
    drop(device);
    lab.assert_clean();
}

/// A reader by one name, and then one of the same number by another.
const TWO_OF_A_NUMBER: &str = r#"
ln -sf "$(command -v dd)" first; ln -sf "$(command -v dd)" second
./first if="$0" of=/dev/null bs=4k count=2000 iflag=direct status=none & pid=$!
wait $pid
# Data at its pace, by a shell that starts nobody meanwhile.
rm -f data never; mkfifo data never; exec {never}<>never
while :; do printf '%4096s' x; read -rt 0.002 -u $never; done >data & pace=$!
for i in $(seq 500); do
  echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid
  ./second if=data of="$0" bs=4k iflag=fullblock oflag=direct status=none & again=$!
  if [ $again = $pid ]; then sleep 5; kill $again $pace; exit 0; fi
  kill $again
done
kill $pace; exit 3
"#;

#[test]
fn root_a_number_that_is_used_again_is_another_thread() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    if !Path::new("/proc/sys/kernel/ns_last_pid").exists() {
        println!("skipped: this kernel does not let numbers of processes be chosen");
        return;
    }
    let Some(watch) = begun(&lab, &format!("watch history -d {}", device.node)) else { return };
    let mut both = std::process::Command::new("bash");
    both.args(["-c", TWO_OF_A_NUMBER, &device.node]).current_dir(lab.path("."));
    // A process of somebody else may have taken the number first, and keep it.
    let runs = (1..=5).find(|_| both.status().unwrap().success());
    let runs = runs.expect("nobody else could take the number");
    watch.signal(Signal::INT);
    assert_eq!(watch.wait().code, 0);
    let all = rows(&lab.path("history"), &[Counted::Requests]);
    let count = |role: &str, operation: &str| {
        let of = |row: &&Rollup| row.role.as_deref() == Some(role) && row.operation == operation;
        all.iter().filter(of).map(|row| row.count).sum::<u64>()
    };
    assert_eq!((count("first", "read"), count("second", "read")), (2000 * runs, 0));
    // For a second, at the most, it was taken for the first.
    assert!(count("second", "write") > count("first", "write"), "{all:?}");
    drop(device);
    lab.assert_clean();
}

/// Where the history takes no more, the last minute is lost: a sentence and an exit code.
#[test]
fn root_a_watch_that_cannot_write_its_last_minute_says_what_is_lost() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    // As a full disk: no file may have more than 2 KiB.
    let mut command = lab.command("sh");
    let words = format!("watch -d {} history", device.node);
    command.args(["-c", &format!("ulimit -f 4; exec {} {words}", env!("CARGO_BIN_EXE_lbolt"))]);
    let Some(watch) = begun_by(&lab, command) else { return };
    read(&device.node, 50);
    watch.signal(Signal::INT);
    let ended = watch.wait();
    ended.assert_refused(1, &["failed to write", " of the last 1 minute are lost"]);
    assert!(rows(&lab.path("history"), &[Counted::Watch]).is_empty());
    drop(device);
    lab.assert_clean();
}

#[test]
fn root_top_prints_a_screen_a_second_as_text() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let name = device.node.trim_start_matches("/dev/").to_owned();
    let mut top = lab.start(lab.lbolt(&format!("top -d {} --batch", device.node)));
    let (out, err) = (top.out_path(), top.err_path());
    let is_loaded = top.until("a screen with the reader", || {
        read(&device.node, 200);
        let screens = std::fs::read_to_string(&out).unwrap();
        let is_refused = std::fs::read_to_string(&err).unwrap().contains("failed to load BPF");
        (is_refused || screens.contains(&name) && screens.contains("dd")).then_some(!is_refused)
    });
    if is_loaded {
        top.signal(Signal::INT);
    }
    let ended = top.wait();
    if !is_loaded {
        println!("skipped: {}", ended.err);
        return;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!ended.out.contains('\u{1b}'), "no escape codes");
    // As rows: a line of JSON a second.
    let words = format!("top -d {} --batch --format json --duration 2s", device.node);
    let ended = lab.run(&words);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let lines: Vec<serde_json::Value> =
        ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has_rows = |line: &serde_json::Value| {
        line["rows"].as_array().is_some_and(|rows| rows.iter().all(|row| row["count"].is_u64()))
    };
    assert!(!lines.is_empty() && lines.iter().all(has_rows), "{}", ended.out);
    lines.iter().for_each(crate::machine::assert_described);
    assert!(lines.iter().all(|line| line["answer"][0]["sentence"].is_string()), "{}", ended.out);
    drop(device);
    lab.assert_clean();
}

/// What needs no privileges works: the kernel's own counts.
#[test]
fn root_top_of_an_ordinary_user_shows_the_kernels_counts_and_record_says_one_sentence() {
    let lab = Lab::for_everyone();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let name = device.node.trim_start_matches("/dev/").to_owned();
    let Some(top) = lab.lbolt_of_nobody("top --batch") else { return };
    let mut top = lab.start(top);
    let out = top.out_path();
    top.until("a screen with the device", || {
        read(&device.node, 200);
        let screens = std::fs::read_to_string(&out).unwrap();
        (screens.contains(&name) && screens.contains("unknown who waits")).then_some(())
    });
    top.signal(Signal::INT);
    let ended = top.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("only the kernel's counts of each device"), "{}", ended.err);
    assert!(!ended.out.to_lowercase().contains("nobody waits"), "{}", ended.out);
    let Some(record) = lab.lbolt_of_nobody("record --duration 1s -o run") else { return };
    let ended = lab.end(record);
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    assert!(ended.sentence().contains("not permitted; run as root"), "{}", ended.err);
    drop(device);
    lab.assert_clean();
}

#[test]
fn a_watch_without_privileges_says_so() {
    let lab = Lab::for_everyone();
    let Some(command) = lab.lbolt_of_nobody("watch history") else { return };
    let ended = lab.end(command);
    assert_ne!(ended.code, 0);
    assert!(ended.sentence().contains("failed to"), "{}", ended.err);
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
}

#[test]
fn bad_input_is_refused_in_a_sentence() {
    let lab = Lab::new();
    lab.run("top --format csv").assert_refused(2, &["--format table, or json"]);
    lab.run("watch history --when p98>1s").assert_refused_by_usage("p999");
    lab.run("watch history --otlp nowhere").assert_refused(2, &["http://127.0.0.1:4318"]);
    lab.run("watch history --prometheus nowhere").assert_refused_by_usage("nowhere");
    lab.run("watch history --history-size 1m").assert_refused(2, &["16 MiB", "--history-size"]);
    lab.run("watch history --history-size lots").assert_refused_by_usage("lots");
    lab.run("watch history --listen-public").assert_refused_by_usage("--prometheus");
    lab.run("top --keep never --batch").assert_refused_by_usage("never");
    lab.run("capture-part").assert_refused(2, &["lbolt watch"]);
}
