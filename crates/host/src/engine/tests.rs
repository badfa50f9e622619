//! Every engine of the table, at every operation that it serves, against plain reads and writes of
//! the same file: on a disk's file system and on tmpfs, buffered and direct, alone and eight at
//! once. What a file system refuses must come out as an errno of `REFUSED`, and never hang.

use super::*;
use model::engine::{ENGINES, EngineFacts};
use model::seam::{Completion, Request};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What a file system or device may refuse of a request.
const REFUSED: [i64; 2] = [-(libc::EOPNOTSUPP as i64), -(libc::EINVAL as i64)];
const CLOSED: i64 = -(libc::EBADF as i64);

/// One engine under one set of circumstances.
struct Case<'a> {
    facts: &'a EngineFacts,
    folder: &'a Path,
    is_direct: bool,
    depth: u32,
    block: u32,
}

/// Hands an engine over as an object.
struct Use<F>(F);

impl<R, F: FnOnce(io::Result<&mut dyn Engine>) -> R> Visitor for Use<F> {
    type Output = R;

    fn visit<E: Engine>(self, engine: io::Result<E>) -> R {
        match engine {
            Ok(mut engine) => (self.0)(Ok(&mut engine)),
            Err(e) => (self.0)(Err(e)),
        }
    }
}

/// Asks for all at once, a token each, and gives the results by token.
fn ask_all(
    engine: &mut dyn Engine,
    operation: Operation,
    places: &[u64],
    length_bytes: u32,
) -> Vec<i64> {
    let mut found: Vec<Completion> = vec![];
    for (token, offset_bytes) in (0..).zip(places.iter().copied()) {
        let request = Request { token, operation, offset_bytes, length_bytes };
        engine.submit(&request, &mut found).unwrap();
        engine.reap(0, 0, &mut found).unwrap();
    }
    let begin = Instant::now();
    while found.len() < places.len() {
        let missing = places.len() - found.len();
        engine.reap(missing as u32, 100_000_000, &mut found).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(20), "{} hangs", engine.name());
    }
    engine.reap(0, 0, &mut found).unwrap();
    found.sort_by_key(|completion| completion.token);
    let tokens: Vec<_> = found.iter().map(|completion| completion.token).collect();
    let wanted: Vec<_> = (0..places.len() as u32).collect();
    assert_eq!(tokens, wanted, "{}: each is completed exactly once", engine.name());
    found.iter().map(|completion| completion.result).collect()
}

fn ask(engine: &mut dyn Engine, operation: Operation) -> i64 {
    ask_all(engine, operation, &[0], 0)[0]
}

/// Bytes that differ from place to place.
fn pattern(bytes: usize) -> Vec<u8> {
    static ALL: OnceLock<Vec<u8>> = OnceLock::new();
    let byte = |i: u32| (i.wrapping_mul(2_654_435_761) >> 13) as u8;
    ALL.get_or_init(|| (0..16 << 20).map(byte).collect())[..bytes].to_vec()
}

impl Case<'_> {
    fn path(&self) -> std::path::PathBuf {
        self.folder.join("file")
    }

    fn shown(&self) -> String {
        let Self { facts, folder, is_direct, depth, block } = self;
        format!("{} {} direct={is_direct} depth={depth} bs={block}", facts.name, folder.display())
    }

    /// Blocks of the file's first half, one for each request.
    fn half(&self) -> usize {
        self.depth as usize * self.block as usize
    }

    fn places(&self, from: usize) -> Vec<u64> {
        (0..u64::from(self.depth)).map(|i| from as u64 + i * u64::from(self.block)).collect()
    }

    fn with<R>(&self, action: impl FnOnce(&mut dyn Engine) -> R) -> R {
        let directory = Arc::new(OwnedFd::from(std::fs::File::open(self.folder).unwrap()));
        let placement = JobPlacement {
            engine: self.facts.kind,
            direct: self.is_direct,
            depth: self.depth,
            block_bytes: self.block,
            file_bytes: 2 * self.half() as u64,
            ..JobPlacement::default()
        };
        let file = JobFile::new(directory, "file".into(), &placement);
        make(file, &placement, Use(|engine: io::Result<&mut dyn Engine>| action(engine.unwrap())))
    }

    /// Whether all was moved; a refusal must be one of the known ones.
    fn is_served(&self, results: &[i64]) -> bool {
        if results.iter().all(|result| *result == i64::from(self.block)) {
            return true;
        }
        let is_refused = results.iter().all(|result| REFUSED.contains(result));
        assert!(is_refused, "{}: {results:?}", self.shown());
        println!("{}: refused with errno {}", self.shown(), -results[0]);
        false
    }

    /// What is read is what a plain write wrote: it is written again, elsewhere, and read plainly.
    fn reads_and_writes_back(&self) {
        let (half, pattern) = (self.half(), pattern(self.half()));
        std::fs::write(self.path(), [&pattern[..], &vec![0; half]].concat()).unwrap();
        let is_served = self.with(|engine| {
            assert_eq!(ask(engine, Operation::OpenReadWrite), 0, "{}", self.shown());
            let read = ask_all(engine, Operation::Read, &self.places(0), self.block);
            let written = ask_all(engine, Operation::Write, &self.places(half), self.block);
            for sync in [Operation::Fdatasync, Operation::Fsync] {
                assert_eq!(ask(engine, sync), 0, "{} {sync:?}", self.shown());
            }
            assert_eq!(ask(engine, Operation::Close), 0, "{}", self.shown());
            for operation in [Operation::Read, Operation::Write] {
                let closed = ask_all(engine, operation, &self.places(0), self.block);
                assert!(closed.iter().all(|r| *r == CLOSED), "{}: {closed:?}", self.shown());
            }
            self.is_served(&read) & self.is_served(&written)
        });
        let found = std::fs::read(self.path()).unwrap();
        assert!(found[..half] == pattern[..], "{}: the source is as it was", self.shown());
        if is_served && self.facts.kind != EngineKind::Splice {
            assert!(found[half..] == pattern[..], "{}: what was read", self.shown());
        }
    }

    /// What is written into a new file is what a plain read sees.
    fn creates(&self) {
        let is_served = self.with(|engine| {
            assert_eq!(ask(engine, Operation::Unlink), 0);
            assert_eq!(ask(engine, Operation::Create), 0, "{}", self.shown());
            let written = ask_all(engine, Operation::Write, &self.places(0), self.block);
            assert_eq!(ask(engine, Operation::Close), 0, "{}", self.shown());
            self.is_served(&written)
        });
        let mut buffers = Buffers::new(self.depth, self.block).unwrap();
        let tokens = 0..self.depth;
        let wanted: Vec<_> = tokens.map(|token| buffers.get(token, self.block).to_vec()).collect();
        let wanted = wanted.concat();
        let found = std::fs::read(self.path()).unwrap();
        let is_there = match self.facts.not_extending {
            None => is_served,
            Some(_) => false,
        };
        let wanted = if is_there { wanted } else { vec![] };
        assert!(found == wanted, "{}: {} bytes", self.shown(), found.len());
    }

    /// At the end of the file there is less than was requested, and behind it nothing.
    fn ends(&self) {
        let (block, tail) = (self.block as usize, 512.min(self.block as usize / 2));
        std::fs::write(self.path(), pattern(block + tail)).unwrap();
        self.with(|engine| {
            assert_eq!(ask(engine, Operation::OpenRead), 0);
            let mut read =
                |at: usize| ask_all(engine, Operation::Read, &[at as u64], self.block)[0];
            if !self.is_served(&[read(0)]) {
                return;
            }
            // A mapping has no short reads: it is all or EINVAL.
            let is_mapped = self.facts.kind == EngineKind::Mmap;
            let (short, none) = if is_mapped { (-22, -22) } else { (tail as i64, 0) };
            assert_eq!(read(block), short, "{}", self.shown());
            assert_eq!(read(4 * block), none, "{}", self.shown());
            assert_eq!(read(0), block as i64, "{}", self.shown());
            let refused = ask_all(engine, Operation::Write, &[0], self.block)[0];
            // The C library takes what it has space for and says so later.
            if !self.facts.name.starts_with("stdio") && refused != -i64::from(libc::EOPNOTSUPP) {
                assert_eq!(refused, CLOSED, "{}: opened for reading", self.shown());
            }
        });
    }

    fn copies(&self) {
        let (half, pattern) = (self.half(), pattern(self.half()));
        std::fs::write(self.path(), [&pattern[..], &vec![0; half]].concat()).unwrap();
        let is_served = self.with(|engine| {
            assert_eq!(ask(engine, Operation::OpenReadWrite), 0);
            let copied = ask_all(engine, Operation::Copy, &self.places(0), self.block);
            let reading = ask_all(engine, Operation::Read, &[0], self.block)[0];
            assert_eq!(reading, -i64::from(libc::EOPNOTSUPP));
            assert_eq!(ask(engine, Operation::Close), 0);
            assert_eq!(ask_all(engine, Operation::Copy, &[0], self.block), [CLOSED]);
            self.is_served(&copied)
        });
        let found = std::fs::read(self.path()).unwrap();
        assert!(!is_served || found[half..] == pattern[..], "{}", self.shown());
    }

    fn check(&self) {
        if self.facts.serves.contains(&Operation::Copy) {
            return self.copies();
        }
        self.reads_and_writes_back();
        self.creates();
        self.ends();
    }
}

/// Whether this machine lets the engine be made.
fn is_here(facts: &EngineFacts) -> bool {
    let root = Arc::new(OwnedFd::from(std::fs::File::open("/").unwrap()));
    let placement = JobPlacement {
        engine: facts.kind,
        depth: 8,
        block_bytes: 1 << 20,
        ..JobPlacement::default()
    };
    let said = |engine: io::Result<&mut dyn Engine>| engine.err().map(|e| refusal(&placement, &e));
    let refused = make(JobFile::new(root, "".into(), &placement), &placement, Use(said));
    refused.inspect(|reason| println!("skipped: {reason}")).is_none()
}

fn engines() -> impl Iterator<Item = &'static EngineFacts> {
    ENGINES.iter().filter(|facts| facts.kind != EngineKind::Null && is_here(facts))
}

fn check_all(folder: &Path) {
    for facts in engines() {
        let directs = [(false, facts.not_buffered), (true, facts.not_direct)];
        for (is_direct, _) in directs.into_iter().filter(|(_, reason)| reason.is_none()) {
            for depth in if facts.overlaps { &[1, 8][..] } else { &[1] } {
                for block in [if is_direct { 4096 } else { 512 }, 12288, 1 << 20] {
                    Case { facts, folder, is_direct, depth: *depth, block }.check();
                }
            }
        }
    }
}

#[test]
fn every_engine_agrees_with_plain_calls_on_a_disk() {
    check_all(tempfile::tempdir().unwrap().path());
}

#[test]
fn every_engine_agrees_with_plain_calls_on_tmpfs() {
    match tempfile::tempdir_in("/dev/shm") {
        Ok(folder) => check_all(folder.path()),
        Err(e) => println!("skipped: needs /dev/shm ({e})"),
    }
}

#[test]
fn random_access_in_both_directions_needs_no_order() {
    let folder = tempfile::tempdir().unwrap();
    let places: Vec<u64> = [7, 2, 2, 5, 0, 6, 7, 1].map(|block| block * 4096).to_vec();
    for facts in engines().filter(|facts| facts.not_buffered.is_none()) {
        let case = Case { facts, folder: folder.path(), is_direct: false, depth: 1, block: 4096 };
        if facts.kind == EngineKind::CopyFileRange || facts.kind == EngineKind::Splice {
            continue;
        }
        let mut wanted = pattern(8 * 4096);
        std::fs::write(case.path(), &wanted).unwrap();
        case.with(|engine| {
            assert_eq!(ask(engine, Operation::OpenReadWrite), 0);
            for pair in places.windows(2) {
                let read = ask_all(engine, Operation::Read, &pair[..1], 4096);
                let written = ask_all(engine, Operation::Write, &pair[1..], 4096);
                if case.is_served(&read) && case.is_served(&written) {
                    let source = pair[0] as usize..pair[0] as usize + 4096;
                    wanted.copy_within(source, pair[1] as usize);
                }
            }
            assert_eq!(ask(engine, Operation::Close), 0);
        });
        assert!(std::fs::read(case.path()).unwrap() == wanted, "{}", facts.name);
    }
}

/// How often this thread has left its CPU by itself.
fn times_slept() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let slept = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    slept.unwrap().trim().parse().unwrap()
}

#[test]
fn looking_waits_for_nothing_and_waiting_ends_in_time() {
    let folder = tempfile::tempdir().unwrap();
    for facts in engines() {
        let is_direct = facts.not_buffered.is_some();
        let case = Case { facts, folder: folder.path(), is_direct, depth: 1, block: 4096 };
        case.with(|engine| {
            let mut found = vec![];
            let (begin, slept) = (Instant::now(), times_slept());
            for _ in 0..100 {
                engine.reap(0, 0, &mut found).unwrap();
            }
            // Beside other programs it may take long all the same.
            let is_quick = begin.elapsed() < Duration::from_millis(200);
            assert!(is_quick || times_slept() == slept, "{}", facts.name);
            let begin = Instant::now();
            engine.reap(1, 5_000_000, &mut found).unwrap();
            assert!(begin.elapsed() >= Duration::from_millis(5), "{}", facts.name);
            assert!(engine.reap(1, u64::MAX, &mut found).is_err(), "{}", facts.name);
            assert!(found.is_empty());
        });
    }
}

/// A compute-and-test loop never waits: what is to be found must come by looking.
#[test]
fn looking_alone_finds_every_completion() {
    let folder = tempfile::tempdir().unwrap();
    for facts in engines().filter(|facts| facts.kind != EngineKind::CopyFileRange) {
        let is_direct = facts.not_direct.is_none();
        let depth = if facts.overlaps { 8 } else { 1 };
        let case = Case { facts, folder: folder.path(), is_direct, depth, block: 4096 };
        std::fs::write(case.path(), pattern(case.half())).unwrap();
        case.with(|engine| {
            assert_eq!(ask(engine, Operation::OpenRead), 0);
            let mut found = vec![];
            for (token, offset_bytes) in (0..).zip(case.places(0)) {
                let operation = Operation::Read;
                let request = Request { token, operation, offset_bytes, length_bytes: 4096 };
                engine.submit(&request, &mut found).unwrap();
            }
            let begin = Instant::now();
            while found.len() < depth as usize {
                engine.reap(0, 0, &mut found).unwrap();
                assert!(begin.elapsed() < Duration::from_secs(20), "{} is silent", facts.name);
            }
            found.sort_by_key(|completion| completion.token);
            assert!(found.iter().map(|completion| completion.token).eq(0..depth));
        });
    }
}

/// The kernel let it poll on for some 20 ms, beside the next pass.
#[test]
fn no_ring_is_polled_when_its_engine_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let Some(facts) = engines().find(|facts| facts.kind == EngineKind::IoUringSqpoll) else {
        println!("skipped: no ring may be polled here");
        return;
    };
    let case = Case { facts, folder: folder.path(), is_direct: false, depth: 1, block: 4096 };
    std::fs::write(case.path(), pattern(2 * case.half())).unwrap();
    for _ in 0..10 {
        case.with(|engine| {
            assert_eq!(ask(engine, Operation::OpenReadWrite), 0);
            // The thread names itself once it runs.
            let begun = Instant::now();
            while !io_uring::is_polled() {
                assert!(begun.elapsed() < Duration::from_secs(300), "no ring is polled");
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert!(!io_uring::is_polled());
    }
}

fn count(what: &str) -> usize {
    std::fs::read_dir(format!("/proc/self/{what}")).unwrap().count()
}

/// Runs in a process of its own, in which no other test opens files or makes threads.
#[test]
#[ignore = "the next test runs it alone"]
fn nothing_is_left_in_a_process_alone() {
    let folder = tempfile::tempdir().unwrap();
    for facts in engines() {
        let is_direct = facts.not_buffered.is_some();
        let depth = if facts.overlaps { 8 } else { 1 };
        let case = Case { facts, folder: folder.path(), is_direct, depth, block: 1 << 20 };
        std::fs::write(case.path(), pattern(2 * case.half())).unwrap();
        let before = (count("fd"), count("task"));
        case.with(|engine| {
            // Left with requests in flight and the file open.
            assert_eq!(ask(engine, Operation::OpenReadWrite), 0);
            for (token, offset_bytes) in (0..).zip(case.places(0)) {
                let operation = Operation::Read;
                let request = Request { token, operation, offset_bytes, length_bytes: case.block };
                engine.submit(&request, &mut vec![]).unwrap();
            }
        });
        // A ring's thread ends in the background, glibc's threads a second after their last
        // request; one of the engine before may still have been there at the beginning.
        let begin = Instant::now();
        loop {
            let after = (count("fd"), count("task"));
            if after.0 <= before.0 && after.1 <= before.1 {
                break;
            }
            let is_early = begin.elapsed() < Duration::from_secs(300);
            assert!(is_early, "{}: {before:?} {after:?}", facts.name);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn nothing_is_left_when_an_engine_goes() {
    let name = "engine::tests::nothing_is_left_in_a_process_alone";
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", name, "--ignored", "--test-threads=1"];
    let output = std::process::Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
