//! What the machine tells of a process while it lives: its arguments, its name, its cgroup.
//!
//! Source: proc(5): cmdline, comm, cgroup, stat. A program may write over its arguments, as
//! PostgreSQL does with what each process is for.
//!
//! Non-goals: what is made of it (roles).

use model::process::{Started, Stat, line};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The most that is read of a process's arguments, in bytes: they may be of megabytes.
const TITLE_BYTES: u64 = 1024;

/// A process as it was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Its name.
    pub command: String,
    /// Its arguments with blanks between them, its name where it has none; none of a kernel's
    /// thread.
    pub title: Option<String>,
    /// The path of its cgroup; none of the root.
    pub unit: Option<String>,
    /// The first of its ancestors that are called as it is, one after the other; or itself.
    pub main_process: u32,
}

/// Ancestors that are looked at.
const ANCESTORS_MOST: usize = 8;

/// A thread's own name, where it is not its process's.
pub fn thread_name(process: u32, thread: u32, command: &str) -> Option<String> {
    let path = format!("/proc/{process}/task/{thread}/comm");
    let name = harmless(&std::fs::read(path).ok()?);
    (name != command).then_some(name)
}

/// The process of that number; none if it is gone.
pub fn seen(process: u32) -> Option<Seen> {
    seen_in(Path::new("/proc"), process)
}

/// Whether there is a thread of that number.
pub fn is_there(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// The name of a process, even of one that is ending, where `proc` is mounted.
pub(crate) fn command_in(proc: &Path, process: u32) -> Option<String> {
    let name = std::fs::read(proc.join(process.to_string()).join("comm")).ok()?;
    Some(harmless(&name))
}

/// What [`seen`] tells, where `proc` is mounted.
fn seen_in(proc: &Path, process: u32) -> Option<Seen> {
    let directory = proc.join(process.to_string());
    let command = command_in(proc, process)?;
    let cgroup = std::fs::read_to_string(directory.join("cgroup"));
    let title = title(&directory.join("cmdline"));
    // Last: all of the above is of one that lives.
    let stat = stat_in(proc, process).filter(|stat| !stat.is_ending)?;
    // Between two programs a process has no arguments: none is the kernel's mark.
    let title = title.or_else(|| (!stat.is_kernel_thread).then(|| command.clone()));
    let main_process = main_process(proc, process, stat.parent, &command);
    Some(Seen { command, title, unit: cgroup.ok().and_then(|text| unit(&text)), main_process })
}

/// A process and its ancestors in its process group, the nearest first: those that run it. A shell
/// at a terminal gives each of its commands a group; a script's commands stay in the script's.
pub fn lineage(process: u32) -> impl Iterator<Item = Started> {
    lineage_in(Path::new("/proc"), process)
}

fn lineage_in(proc: &Path, process: u32) -> impl Iterator<Item = Started> {
    let own = stat_in(proc, process).map(|stat| (process, stat));
    let group = own.map(|(_, stat)| stat.group).filter(|group| *group != 0);
    let next = move |(_, of): &(u32, Stat)| {
        let stat = stat_in(proc, of.parent)?;
        (Some(stat.group) == group).then_some((of.parent, stat))
    };
    let all = std::iter::successors(own, next).take(ANCESTORS_MOST);
    all.map(|(pid, stat)| Started { pid, ticks: stat.started })
}

fn stat_in(proc: &Path, process: u32) -> Option<Stat> {
    Stat::parse(&line(proc, process)?)
}

/// The numbers of all processes.
pub(crate) fn numbers() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn main_process(proc: &Path, process: u32, parent: u32, command: &str) -> u32 {
    let (mut main, mut parent) = (process, parent);
    for _ in 0..ANCESTORS_MOST {
        if parent == 0 || command_in(proc, parent).as_deref() != Some(command) {
            break;
        }
        main = parent;
        let Some(stat) = stat_in(proc, main) else { break };
        parent = stat.parent;
    }
    main
}

fn title(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(TITLE_BYTES).read_to_end(&mut bytes).ok()?;
    let text = harmless(&bytes);
    (!text.is_empty()).then_some(text)
}

/// Text without control characters, and without blanks at its ends. What is not UTF-8 is replaced.
pub(crate) fn harmless(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.replace(|c: char| c.is_control(), " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The path in the hierarchy of version 2, else in systemd's own, else of any: what is not the
/// root.
fn unit(text: &str) -> Option<String> {
    let entries = || text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let of = |controllers: &'static str| {
        let mut found = entries().filter(move |(name, path)| *name == controllers && *path != "/");
        found.next()
    };
    let any = || entries().find(|(_, path)| *path != "/");
    let (_, path) = of("").or_else(|| of("name=systemd")).or_else(any)?;
    Some(harmless(path.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_seen_by_its_arguments_and_one_that_is_gone_is_none() {
        let own = seen(std::process::id()).unwrap();
        let first = std::env::args().next().unwrap();
        assert!(own.title.unwrap().starts_with(&first) && !own.command.is_empty());
        assert_eq!(seen(u32::MAX), None);
    }

    #[test]
    fn a_thread_has_its_own_name_if_it_is_another_than_its_processes() {
        let named = std::thread::Builder::new().name("compaction".to_owned()).spawn(|| {
            let (process, thread) = (std::process::id(), rustix::thread::gettid());
            let thread = thread.as_raw_nonzero().get() as u32;
            (thread_name(process, thread, "host"), thread_name(process, thread, "compaction"))
        });
        let (named, alike) = named.unwrap().join().unwrap();
        assert_eq!((named.as_deref(), alike), (Some("compaction"), None));
        assert_eq!(thread_name(std::process::id(), u32::MAX, ""), None);
    }

    #[test]
    fn titles_of_megabytes_and_with_control_characters_are_cut_and_harmless() {
        let proc = tempfile::tempdir().unwrap();
        let directory = proc.path().join("7");
        std::fs::create_dir(&directory).unwrap();
        let write = |name: &str, text: &[u8]| std::fs::write(directory.join(name), text).unwrap();
        write("comm", b"a\x1b[31mb\n");
        write("cmdline", &[b"java\0\x07-jar\0\xff x".as_slice(), &vec![b'y'; 4 << 20]].concat());
        write("cgroup", b"0::/\n1:name=systemd:/system.slice/db.service\n2:cpu:/x\n");
        let stat = |flags: u64| format!("7 (a ) b) D 1 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 0 0 0 0 0");
        write("stat", stat(0x0040_0000).as_bytes());
        let seen = seen_in(proc.path(), 7).unwrap();
        assert_eq!(seen.command, "a [31mb");
        let title = seen.title.unwrap();
        assert!(title.starts_with("java -jar \u{fffd} xyyy") && title.len() < 1100, "{title}");
        assert_eq!(seen.unit.unwrap(), "/system.slice/db.service");
        write("cmdline", b"");
        write("cgroup", b"0::/\n");
        // Within an exec a user's process has no arguments; the kernel's threads have a flag.
        let seen = seen_in(proc.path(), 7).unwrap();
        assert_eq!((seen.title.as_deref(), seen.unit), (Some("a [31mb"), None));
        write("stat", stat(0x0420_8040 | 0x0020_0000).as_bytes());
        assert_eq!(seen_in(proc.path(), 7).unwrap().title, None);
        write("stat", stat(0x0040_0004).as_bytes());
        assert_eq!(seen_in(proc.path(), 7), None, "it is ending: its cgroup is not true any more");
        write("stat", b"7 (db) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
        assert_eq!(seen_in(proc.path(), 7), None, "it has ended");
    }

    #[test]
    fn a_name_that_is_cut_amid_a_letter_hides_no_process() {
        let proc = tempfile::tempdir().unwrap();
        let directory = proc.path().join("7");
        std::fs::create_dir(&directory).unwrap();
        let zeros = " 0".repeat(13);
        let stat = [b"7 (donn\xc3) S 1 1 1 0 -1 0".as_slice(), zeros.as_bytes()].concat();
        std::fs::write(directory.join("stat"), stat).unwrap();
        assert_eq!(stat_in(proc.path(), 7).map(|stat| stat.parent), Some(1));
    }

    #[test]
    fn a_command_is_run_by_its_ancestors_in_its_process_group() {
        let proc = tempfile::tempdir().unwrap();
        // A login shell, a script that it started as a job of its own, and what the script runs.
        for (pid, parent, group) in [(5, 1, 5), (6, 5, 6), (7, 6, 6), (8, 7, 6), (9, 5, 9)] {
            let directory = proc.path().join(pid.to_string());
            std::fs::create_dir(&directory).unwrap();
            let zeros = " 0".repeat(12);
            let stat = format!("{pid} (sh) S {parent} {group} 1 0 -1 0{zeros} {pid}00");
            std::fs::write(directory.join("stat"), stat).unwrap();
        }
        let of = |process| lineage_in(proc.path(), process).map(|of| (of.pid, of.ticks));
        assert_eq!(of(8).collect::<Vec<_>>(), [(8, 800), (7, 700), (6, 600)]);
        assert_eq!(of(9).collect::<Vec<_>>(), [(9, 900)]);
        assert_eq!(of(4).next(), None, "it is gone");
    }

    #[test]
    fn a_worker_is_its_first_ancestors_of_its_name() {
        let proc = tempfile::tempdir().unwrap();
        let processes = [(1, 0, "init"), (5, 1, "db"), (6, 5, "db"), (7, 6, "db"), (8, 7, "sh")];
        for (pid, parent, command) in processes {
            let directory = proc.path().join(pid.to_string());
            std::fs::create_dir(&directory).unwrap();
            std::fs::write(directory.join("comm"), command).unwrap();
            let stat = format!("{pid} ({command} )) S {parent} 1 1 0 -1 0{}", " 0".repeat(13));
            std::fs::write(directory.join("stat"), stat).unwrap();
        }
        let main = |pid| seen_in(proc.path(), pid).unwrap().main_process;
        assert_eq!([1, 5, 6, 7, 8].map(main), [1, 5, 5, 5, 8]);
    }
}
