//! What the machine tells of a process while it lives: its arguments, its name, its cgroup.
//!
//! Source: proc(5): cmdline, comm, cgroup. A program may write over its arguments, as PostgreSQL
//! does with what each process is for.
//!
//! Non-goals: what is made of it (roles).

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
    /// Its arguments with blanks between them; none of a kernel's thread.
    pub title: Option<String>,
    /// The path of its cgroup; none of the root.
    pub unit: Option<String>,
}

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

/// When a thread was started, in the kernel's ticks since its own start; none if it is gone. Who
/// has its number later was started later.
pub fn started(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.started)
}

/// What proc_pid_stat(5) tells of a process or a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Its parent's number.
    pub(crate) parent: u32,
    /// Its process group: the number of the process that made it.
    pub(crate) group: u32,
    /// When it was started, in the kernel's ticks since its own start.
    pub(crate) started: u64,
    /// Whether it has ended, and nobody has waited for it yet.
    pub(crate) has_ended: bool,
}

/// Of that number; none if it is gone.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    Stat::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

impl Stat {
    /// Fields 3, 4, 5 and 22 of a line. The second is a name, with any character in it.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut fields = line.rsplit_once(')')?.1.split_ascii_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X" | "x");
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        Some(Self { parent, group, started: fields.nth(16)?.parse().ok()?, has_ended })
    }
}

/// Whether there is a thread of that number.
pub fn is_there(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// The same, where `proc` is mounted.
pub(crate) fn seen_in(proc: &Path, process: u32) -> Option<Seen> {
    let directory = proc.join(process.to_string());
    let command = std::fs::read(directory.join("comm")).ok()?;
    Some(Seen {
        command: harmless(&command),
        title: title(&directory.join("cmdline")),
        unit: std::fs::read_to_string(directory.join("cgroup")).ok().and_then(|text| unit(&text)),
    })
}

fn title(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(TITLE_BYTES).read_to_end(&mut bytes).ok()?;
    let text = harmless(&bytes);
    (!text.is_empty()).then_some(text)
}

/// Text without control characters, and without blanks at its ends. What is not UTF-8 is replaced.
fn harmless(bytes: &[u8]) -> String {
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
    fn who_has_a_number_later_was_started_later() {
        let own = started(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let later = started(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(later >= own && started(child.id()).is_none());
        let named = "7 (a) b ) c) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 99 1";
        let stat = Stat { parent: 1, group: 7, started: 4242, has_ended: false };
        assert_eq!(Stat::parse(named), Some(stat));
        let ended = named.replace("c) S", "c) Z");
        assert_eq!(Stat::parse(&ended), Some(Stat { has_ended: true, ..stat }));
        assert_eq!([Stat::parse("7 (a"), Stat::parse("7 (a) S 1")], [None, None]);
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
        let seen = seen_in(proc.path(), 7).unwrap();
        assert_eq!(seen.command, "a [31mb");
        let title = seen.title.unwrap();
        assert!(title.starts_with("java -jar \u{fffd} xyyy") && title.len() < 1100, "{title}");
        assert_eq!(seen.unit.unwrap(), "/system.slice/db.service");
        write("cmdline", b"");
        write("cgroup", b"0::/\n");
        let seen = seen_in(proc.path(), 7).unwrap();
        assert_eq!((seen.title, seen.unit), (None, None));
    }
}
