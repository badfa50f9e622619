//! An instance of the kernel's own tracer, which records tracepoints of the block layer in the
//! threads of one process: ends, and bios that are not told by requests.
//!
//! An instance is a directory of the tracing file system: making it makes the buffers, removing it
//! removes them. It outlives its maker, if that is killed; so its name says who made it, and
//! [`abandoned`] finds those of the dead.
//!
//! The threads are chosen by the filter of each tracepoint: `set_event_pid` would look at each
//! switch and each wakeup of the machine. It is for processes of more threads than a filter should
//! have terms.
//!
//! Source: Documentation/trace/ftrace.rst, sections "set_event_pid" and "Instances", events.rst,
//! "Event filtering"; the buffer's pages, include/linux/ring_buffer.h and events/header_page,
//! header_event.
//!
//! Non-goals: what a record says (`perf::decode`), which process, and why (`second`).

use super::perf::{Decoder, DeviceSelection, Kind, PerfError, Seen, Tracefs, tracepoints};
use super::ring_page::{Record, records};
use super::{CaptureOptions, bios};
use crate::event::{Event, Step};
use crate::intake::Steps;
use crate::process;
use model::process::Started;
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The room of each CPU's buffer: for some ten thousand steps, which come in bursts of a device's
/// whole queue.
const BUFFER_KIB: u32 = 1024;

/// How long an instance of the dead may be in use.
const BUSY: Duration = Duration::from_secs(5);

/// Completions come first: what is seen to begin is seen to end.
const TRACEPOINTS: [(&str, Kind); 4] = [
    ("block_rq_complete", Kind::Complete),
    ("block_bio_complete", Kind::BioComplete),
    ("block_rq_merge", Kind::BackMerge),
    ("block_bio_queue", Kind::Queue),
];
/// Those that tell something of disks whose bios never become requests.
const OF_BIOS: [&str; 2] = ["block_bio_complete", "block_bio_queue"];

/// A filter's terms are looked at for each request of the machine.
const THREADS_IN_A_FILTER: usize = 32;
/// Of so many looks one lists the threads, though they are as many as before.
const LISTED: u32 = 10;

/// Takes a tracepoint's filter away.
const ALL: &str = "0";

const PREFIX: &str = "lbolt-";

/// The instance; dropping it removes it.
pub(super) struct Instance {
    root: Tracefs,
    name: String,
    directory: OwnedFd,
    /// Of each CPU, the pages of its buffer.
    cpus: Vec<(u16, File)>,
    process: u32,
    threads: Vec<u32>,
    /// How often it was looked for threads.
    looks: u32,
    /// Which devices, as a filter; none: all.
    devices: Option<String>,
    /// The tracepoints that are to be on.
    wanted: Vec<&'static str>,
    decoder: Decoder,
    page: Vec<u8>,
    events: Vec<Event>,
}

shows!(Instance: name);

impl Instance {
    /// Makes an instance and lets it record.
    /// Errors: whatever stands in the way, with its remedy.
    pub(super) fn new(process: u32, options: &CaptureOptions) -> Result<Self, PerfError> {
        let selection = DeviceSelection::new(&options.devices)?;
        let root = Tracefs::open().map_err(PerfError::Tracefs)?;
        let layouts = tracepoints(&root, &TRACEPOINTS)?;
        let devices = selection.filter().and_then(|filter| filter.into_string().ok());
        let decoder =
            Decoder::new(layouts.into_iter().map(|(_, layout)| layout).collect(), selection, 0);
        // Of a capture that was killed.
        for name in abandoned_in(&root) {
            let _ = remove(&root, &name);
        }
        let own = Started::own().map_err(PerfError::Tracefs)?;
        let made = make(&root, &own).map_err(PerfError::Tracefs)?;
        let mut instance = Self {
            root,
            name: made.0,
            directory: made.1,
            cpus: Vec::new(),
            process,
            threads: Vec::new(),
            looks: 0,
            devices,
            wanted: Vec::new(),
            decoder,
            page: vec![0; rustix::param::page_size()],
            events: Vec::new(),
        };
        // Whatever is refused: dropping it removes the directory.
        instance.begin().map_err(PerfError::Tracefs)?;
        Ok(instance)
    }

    fn begin(&mut self) -> io::Result<()> {
        self.write("trace_clock", "mono")?;
        self.write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        // Those that are offline, too: they may come online.
        for cpu in 0..super::cpus() {
            let path = format!("per_cpu/cpu{cpu}/trace_pipe_raw");
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            match openat(&self.directory, path, flags, Mode::empty()) {
                Err(Errno::NOENT) => {}
                opened => self.cpus.push((cpu as u16, opened?.into())),
            }
        }
        let with_bios = bios::are_alone_anywhere();
        let is_wanted = |name: &&str| with_bios || !OF_BIOS.contains(name);
        let names = TRACEPOINTS.into_iter().map(|(name, _)| name).filter(is_wanted);
        self.wanted = names.filter(|name| self.has(name)).collect();
        self.follow_threads()?;
        self.wanted
            .iter()
            .try_for_each(|name| self.write(&format!("events/block/{name}/enable"), "1"))
    }

    fn has(&self, tracepoint: &str) -> bool {
        let path = format!("events/block/{tracepoint}/enable");
        // By what this process may do, and not by who started it: it may have capabilities alone.
        rustix::fs::accessat(&self.directory, path, rustix::fs::Access::EXISTS, AtFlags::EACCESS)
            .is_ok()
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.directory, path, flags, Mode::empty())?);
        file.write_all(text.as_bytes())
    }

    /// Chooses the threads that the process has now. Most often how many they are tells that they
    /// are the same.
    pub(super) fn follow_threads(&mut self) -> io::Result<()> {
        self.looks = self.looks.wrapping_add(1);
        let count = process::thread_count(self.process)?;
        if !self.looks.is_multiple_of(LISTED) && count == self.threads.len() as u64 {
            return Ok(());
        }
        let mut threads = process::threads(self.process)?;
        threads.sort_unstable();
        if threads == self.threads {
            return Ok(());
        }
        let few = threads.len() <= THREADS_IN_A_FILTER;
        let chosen = if few { &threads[..] } else { &[] };
        let filter = filter(self.devices.as_deref(), chosen);
        // At no moment is a thread left out, or everybody recorded.
        if few {
            self.set_filters(&filter)?;
            self.set_process_threads(&[])?;
        } else {
            self.set_process_threads(&threads)?;
            self.set_filters(&filter)?;
        }
        self.threads = threads;
        Ok(())
    }

    fn set_filters(&self, filter: &str) -> io::Result<()> {
        self.wanted
            .iter()
            .try_for_each(|name| self.write(&format!("events/block/{name}/filter"), filter))
    }

    /// At once: the kernel waits for all CPUs at each writing. None: it does not look at threads.
    fn set_process_threads(&self, threads: &[u32]) -> io::Result<()> {
        let text: Vec<String> = threads.iter().map(u32::to_string).collect();
        self.write("set_event_pid", &text.join(" "))
    }

    /// The steps since the last time, in the order of their time.
    pub(super) fn take(&mut self, names: &mut impl Steps) -> impl Iterator<Item = Event> {
        let Self { cpus, decoder, page, events, .. } = self;
        for (cpu, file) in cpus {
            // Nothing there is EAGAIN; whatever else there may be, there is nothing more.
            while let Ok(length @ 1..) = file.read(page) {
                for Record { time_ns, bytes } in records(&page[..length]) {
                    let seen = Seen { time_ns, cpu: Some(*cpu), is_own: false };
                    // What is no record of these tracepoints is none of ours.
                    let _ = decoder.add_record(seen, bytes, names, events);
                }
            }
        }
        // The bios of a device with requests.
        events.retain(|event| !matches!(event.step, Step::Queue(_)));
        events.sort_by_key(|event| (event.time_ns, event.step.rank(), event.cpu));
        events.drain(..)
    }

    /// Steps for which there was no space.
    pub(super) fn lost(&self) -> u64 {
        let of = |cpu: &u16| {
            let path = format!("per_cpu/cpu{cpu}/stats");
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let file = openat(&self.directory, path, flags, Mode::empty()).ok()?;
            Some(lost(&io::read_to_string(File::from(file)).ok()?))
        };
        self.cpus.iter().filter_map(|(cpu, _)| of(cpu)).sum()
    }

    /// No more is recorded.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.write("tracing_on", "0")
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Whoever has a buffer open keeps the instance.
        self.cpus.clear();
        let _ = remove(&self.root, &self.name);
    }
}

/// What a tracepoint records: of these devices, in these threads; of none: of all.
fn filter(devices: Option<&str>, threads: &[u32]) -> String {
    let terms: Vec<_> = threads.iter().map(|thread| format!("common_pid == {thread}")).collect();
    match (devices, &terms[..]) {
        (None, []) => ALL.into(),
        (Some(devices), []) => devices.into(),
        (None, _) => terms.join(" || "),
        (Some(devices), _) => format!("({devices}) && ({})", terms.join(" || ")),
    }
}

/// What a buffer's page of counts says that it lost.
fn lost(stats: &str) -> u64 {
    let count = |name: &str| {
        stats.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    ["overrun:", "commit overrun:", "dropped events:"].into_iter().filter_map(count).sum()
}

fn make(root: &Tracefs, own: &Started) -> io::Result<(String, OwnedFd)> {
    for number in 0.. {
        let name = format!("{PREFIX}{}-{}-{number}", own.pid, own.ticks);
        let path = format!("instances/{name}");
        match mkdirat(root.root(), &path, Mode::RWXU) {
            // Another capture of this process.
            Err(Errno::EXIST) => {}
            made => {
                made?;
                let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
                let opened = openat(root.root(), &path, flags, Mode::empty());
                return opened.map(|directory| (name.clone(), directory)).map_err(|errno| {
                    let _ = remove(root, &name);
                    errno.into()
                });
            }
        }
    }
    Err(Errno::EXIST.into())
}

fn remove(root: &Tracefs, name: &str) -> io::Result<()> {
    Ok(unlinkat(root.root(), format!("instances/{name}"), AtFlags::REMOVEDIR)?)
}

/// Where the kernel has its tracer's instances, open; what this process has of the tracer stays
/// open, too, for when it may mount nothing any more.
/// Errors: no right to look, or a kernel without a tracer.
pub fn instances() -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat(Tracefs::open()?.root(), "instances", flags, Mode::empty())?)
}

/// The instances whose maker is dead, by name. Without the right to look there are none to be seen.
pub fn abandoned() -> Vec<String> {
    Tracefs::open().map(|root| abandoned_in(&root)).unwrap_or_default()
}

fn abandoned_in(root: &Tracefs) -> Vec<String> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let entries = openat(root.root(), "instances", flags, Mode::empty())
        .and_then(rustix::fs::Dir::new)
        .map(|directory| directory.filter_map(Result::ok).collect::<Vec<_>>());
    let names = entries.unwrap_or_default().into_iter();
    let names = names.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    names.filter(|name| maker(name).is_some_and(|maker| !maker.is_alive())).collect()
}

/// Removes an instance whose maker is dead, if nobody else has by then. It is in use for a moment
/// after the death, and while somebody else looks at it or removes it.
/// Errors: a name that is none of a dead process of ours, or the kernel's refusal.
pub fn remove_abandoned(name: &str) -> io::Result<()> {
    if maker(name).is_none_or(|maker| maker.is_alive()) {
        return Err(io::Error::other("its maker is alive, or it is not lbolt's"));
    }
    let (root, began) = (Tracefs::open()?, Instant::now());
    loop {
        match remove(&root, name).map_err(|e| (Errno::from_io_error(&e), e)) {
            Err((Some(Errno::NOENT), _)) => return Ok(()),
            // In use; or removed just now, and its directory still goes (instance_rmdir,
            // kernel/trace/trace.c).
            Err((Some(Errno::BUSY | Errno::NODEV), _)) if began.elapsed() < BUSY => {
                std::thread::sleep(BUSY / 500);
            }
            removed => return removed.map_err(|(_, error)| error),
        }
    }
}

/// Who made an instance, by its name.
fn maker(name: &str) -> Option<Started> {
    let mut numbers = name.strip_prefix(PREFIX)?.split('-');
    let mut number = || numbers.next()?.parse::<u64>().ok();
    let (pid, ticks, _) = (number()?, number()?, number()?);
    Some(Started { pid: u32::try_from(pid).ok()?, ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_makers_name_is_read_back_and_others_are_not_ours() {
        let own = Started::own().unwrap();
        assert_eq!(maker(&format!("lbolt-{}-{}-0", own.pid, own.ticks)), Some(own));
        for name in ["lbolt-1", "lbolt-1-2", "lbolt-x-2-3", "trace-1-2-3", "lbolt--1-2"] {
            assert_eq!(maker(name), None, "{name}");
        }
        assert!(remove_abandoned("trace-1-2-3").is_err());
    }

    #[test]
    fn root_what_is_in_use_for_a_moment_is_removed_after_it() {
        if !rustix::process::geteuid().is_root() {
            return println!("skipped: needs root");
        }
        let root = Tracefs::open().unwrap();
        // Of a process that never was: no number is so large.
        let name = format!("{PREFIX}{}-1-{}", u32::MAX, std::process::id());
        mkdirat(root.root(), format!("instances/{name}"), Mode::RWXU).unwrap();
        let pipe = format!("instances/{name}/trace_pipe");
        let used = openat(root.root(), pipe, OFlags::RDONLY, Mode::empty()).unwrap();
        assert!(remove(&root, &name).is_err());
        let removal = std::thread::spawn({
            let name = name.clone();
            move || remove_abandoned(&name)
        });
        std::thread::yield_now();
        drop(used);
        removal.join().unwrap().unwrap();
        assert!(!abandoned().contains(&name));
        // Somebody else was first.
        remove_abandoned(&name).unwrap();
    }

    #[test]
    fn a_filter_names_devices_and_threads() {
        assert_eq!(filter(None, &[]), "0");
        assert_eq!(filter(None, &[1]), "common_pid == 1");
        assert_eq!(filter(Some("dev == 7"), &[]), "dev == 7");
        let both = "(dev == 7) && (common_pid == 1 || common_pid == 9)";
        assert_eq!(filter(Some("dev == 7"), &[1, 9]), both);
    }

    const START: &str = "block_io_start";

    /// Whether starts are recorded of this thread, and of another process: each syncs a file.
    fn recorded(instance: &Instance) -> [bool; 2] {
        instance.write("trace", "").unwrap();
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&[1; 4096]).unwrap();
        file.as_file().sync_all().unwrap();
        let to = format!("of={}", file.path().display());
        let dd = ["if=/dev/zero", "bs=4k", "count=1", "conv=fsync", "status=none", &to];
        let mut other = std::process::Command::new("dd").args(dd).spawn().unwrap();
        assert!(other.wait().unwrap().success());
        let trace = openat(&instance.directory, "trace", OFlags::RDONLY, Mode::empty()).unwrap();
        let trace = io::read_to_string(File::from(trace)).unwrap();
        [rustix::thread::gettid().as_raw_nonzero().get() as u32, other.id()].map(|thread| {
            let of_thread = format!("-{thread} ");
            trace.lines().any(|line| line.contains(&of_thread) && line.contains(START))
        })
    }

    #[test]
    fn root_threads_of_a_process_are_recorded_be_they_few_or_many() {
        use std::sync::mpsc::channel;
        if !rustix::process::geteuid().is_root() {
            return println!("skipped: needs root");
        }
        let mut instance = match Instance::new(std::process::id(), &CaptureOptions::default()) {
            Err(refused) => return println!("skipped: failed to {refused}"),
            Ok(instance) => instance,
        };
        if !instance.has(START) {
            return println!("skipped: no {START} in this kernel");
        }
        // Which the second source does without: it is what a thread surely causes itself.
        instance.wanted.push(START);
        instance.threads.clear();
        instance.follow_threads().unwrap();
        instance.write(&format!("events/block/{START}/enable"), "1").unwrap();
        let mut check = || {
            instance.follow_threads().unwrap();
            assert_eq!(recorded(&instance), [true, false], "{} threads", instance.threads.len());
        };
        check();
        let (ends, until): (Vec<_>, Vec<_>) =
            (0..=THREADS_IN_A_FILTER).map(|_| channel::<()>()).unzip();
        let wait = |until: std::sync::mpsc::Receiver<()>| std::thread::spawn(move || until.recv());
        let threads: Vec<_> = until.into_iter().map(wait).collect();
        check();
        drop(ends);
        threads.into_iter().for_each(|thread| assert!(thread.join().unwrap().is_err()));
        check();
    }

    #[test]
    fn all_kinds_of_losses_are_counted() {
        let stats = "entries: 4\noverrun: 2\ncommit overrun: 1\nbytes: 9\ndropped events: 3\n";
        assert_eq!(lost(stats), 6);
    }
}
