//! The role of a process: what it is for, in words that all processes of that purpose share.
//!
//! Titles are what programs say of themselves: arguments, or what was written over them. From
//! these go what tells one process of a role from the others: numbers, users, addresses, the
//! command of the moment. Source: PostgreSQL's ps_status.c and backend types; proc(5).
//!
//! Non-goals: who has which role (`super::actors`).

use model::job_role::JobRole;

/// Programs whose first argument that is no option says more than they do.
const INTERPRETERS: [&str; 9] =
    ["python", "perl", "ruby", "node", "bash", "sh", "dash", "php", "Rscript"];

/// A program that runs itself anew (`/proc/self/exe`): how containers' runtimes begin.
const ITSELF: &str = "exe";

/// Whether a role says nothing of what a process is for.
pub(crate) fn says_nothing(role: &str) -> bool {
    role == ITSELF || INTERPRETERS.contains(&without_version(role))
}

/// The role of all programs of a build: hundreds of short processes that are one job. They are
/// known by their names alone, for many are gone before anything else can be asked. What a build
/// also runs, but others too (shells, cp, dd, servers under test), keeps a role of its own.
pub(crate) const BUILD: &str = "software build";

/// These programs, without the numbers at their ends.
const OF_BUILDS: [&str; 20] = [
    "ar", "as", "c++", "cargo", "cc", "cc1plus", "clang", "clang++", "collect", "g++", "gcc",
    "gmake", "ld", "ld.bfd", "ld.gold", "ld.lld", "lto", "make", "ninja", "rustc",
];

/// The role of a program that is called so.
fn of_program(name: &str) -> &str {
    let name = without_number(name);
    if OF_BUILDS.contains(&name) { BUILD } else { name }
}

/// What a PostgreSQL process that serves nobody's connection calls itself.
const POSTGRES_OWN: [&str; 15] = [
    "archiver",
    "autovacuum launcher",
    "autovacuum worker",
    "background writer",
    "checkpointer",
    "io worker",
    "logger",
    "logical replication",
    "parallel worker",
    "slotsync worker",
    "startup",
    "stats collector",
    "walreceiver",
    "walsender",
    "walwriter",
];

/// The role that a title tells; of a kernel's thread, or one that is gone, what its name tells.
pub fn role(title: Option<&str>, command: &str) -> String {
    if let Some(job) = JobRole::of_thread(command) {
        return job.name().to_owned();
    }
    match title.map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => of_title(title, command),
        None => of_kernel(command).unwrap_or_else(|| of_program(command).to_owned()),
    }
}

/// What a process by itself is called: what it says of itself, as far as a table has room for it,
/// and its number.
pub(crate) fn of_process(title: Option<&str>, command: &str, pid: u64) -> String {
    const CHARS: usize = 28;
    let title = title.map(str::trim).filter(|title| !title.is_empty()).unwrap_or(command);
    let (program, rest) = title.split_at(title.find(' ').unwrap_or(title.len()));
    let title = format!("{}{rest}", base(program));
    let number = format!(" ({pid})");
    let room = CHARS.saturating_sub(number.len());
    match title.char_indices().nth(room) {
        Some(_) => format!("{}…{number}", title.chars().take(room - 1).collect::<String>()),
        None => title + &number,
    }
}

fn of_title(title: &str, command: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    let program = base(words.first().copied().unwrap_or(command));
    // A title that was written over: `name: what it does`.
    if let Some((name, rest)) = title.split_once(": ").filter(|(name, _)| !name.contains('/')) {
        return match name {
            "postgres" => match cluster(rest) {
                Some(cluster) => format!("postgres {cluster}: {}", of_postgres(rest)),
                None => format!("postgres: {}", of_postgres(rest)),
            },
            name => format!("{name}: {}", first_words(rest)),
        };
    }
    let script = words.iter().skip(1).find(|word| !word.starts_with('-'));
    let runs_script = match program {
        ITSELF => script.is_some_and(|script| script.contains('/')),
        _ => INTERPRETERS.contains(&without_version(program)) && words.get(1) != Some(&"-c"),
    };
    match (program, script) {
        ("java", _) => format!("java: {}", java_main(&words)),
        (_, Some(script)) if runs_script => base(script).to_owned(),
        (program, _) if runs_script => program.to_owned(),
        (program, _) => of_program(program).to_owned(),
    }
}

/// A cluster that has a name says it first (cluster_name).
fn cluster(rest: &str) -> Option<&str> {
    let (name, _) = rest.split_once(": ")?;
    (!name.contains(' ') && !name.is_empty()).then_some(name)
}

/// A connection's process has user, database and address; a cluster's name may stand before.
fn of_postgres(rest: &str) -> &'static str {
    let parts = std::iter::successors(Some(rest), |rest| rest.split_once(": ").map(|(_, r)| r));
    let own = |part: &str| POSTGRES_OWN.into_iter().find(|own| part.starts_with(own));
    parts.into_iter().find_map(own).unwrap_or("backend")
}

/// What the rest of a title says before it becomes particular.
fn first_words(rest: &str) -> String {
    let is_general = |word: &&str| word.chars().all(|c| c.is_alphabetic() || "-_".contains(c));
    let words: Vec<&str> = rest.split_whitespace().take_while(is_general).take(3).collect();
    words.join(" ")
}

/// The class or archive that java runs.
fn java_main<'a>(words: &[&'a str]) -> &'a str {
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        match *word {
            "-jar" => return words.next().map_or("", |jar| base(jar)),
            "-cp" | "-classpath" | "--class-path" | "-p" | "--module-path" => {
                words.next();
            }
            word if word.starts_with('-') => {}
            class => return class.rsplit('.').next().unwrap_or(class),
        }
    }
    "java"
}

/// What a thread of the kernel works for.
fn of_kernel(command: &str) -> Option<String> {
    const FLUSH: &str = "flush";
    if let Some(rest) = command.strip_prefix("kworker/") {
        let work = rest.split_once(['-', '+']).map_or("", |(_, work)| work);
        // Behind its number stands what it did last, which says nothing of what it does now. But
        // what writes most, and what a worker does that has no such name, is writeback.
        let is_writeback = work.starts_with(FLUSH) || work.is_empty();
        return Some(if is_writeback { "kernel writeback" } else { "kernel worker" }.to_owned());
    }
    let is_journal = command.starts_with("jbd2/") || command.starts_with("xfsaild/");
    is_journal.then(|| "journal".to_owned())
}

fn base(word: &str) -> &str {
    let word = word.trim_start_matches('-');
    word.rsplit('/').find(|part| !part.is_empty()).unwrap_or(word)
}

/// `python3.11` is python.
fn without_version(program: &str) -> &str {
    program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// `worker-12` and `worker/3` are workers; what is a number alone stays.
fn without_number(name: &str) -> &str {
    let short = name.trim_end_matches(|c: char| c.is_ascii_digit() || "-_/:.#".contains(c));
    if short.is_empty() { name } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_tell_roles_and_nothing_particular() {
        for (title, expected) in [
            ("postgres: checkpointer ", "postgres: checkpointer"),
            ("postgres: 15/main: checkpointer", "postgres 15/main: checkpointer"),
            ("postgres: 15/main: app shop ::1(5512) idle", "postgres 15/main: backend"),
            ("postgres: postgres bench [local] COMMIT", "postgres: backend"),
            ("postgres: app shop 10.0.0.7(5512) idle in transaction", "postgres: backend"),
            ("postgres: autovacuum worker bench", "postgres: autovacuum worker"),
            ("/usr/lib/postgresql/15/bin/postgres -D /data", "postgres"),
            ("nginx: worker process", "nginx: worker process"),
            ("sshd: root@pts/0", "sshd: "),
            ("/usr/bin/python3.11 -u /srv/app.py --port 80", "app.py"),
            ("python3 -c import os", "python"),
            ("exe /srv/reindex.py /data 72", "reindex.py"),
            ("/proc/self/exe init", "exe"),
            ("exe --type=renderer --lang=en", "exe"),
            ("bash /etc/cron.daily/logrotate", "logrotate"),
            ("java -Xmx4g -cp a.jar:b.jar org.apache.Kafka config", "java: Kafka"),
            ("java -jar /opt/x/server.jar", "java: server.jar"),
            ("-bash", "bash"),
            ("dd if=/dev/zero of=x", "dd"),
            ("/usr/sbin/mariadbd --datadir=/x", "mariadbd"),
        ] {
            assert_eq!(role(Some(title), "x").trim(), expected.trim(), "{title}");
        }
    }

    #[test]
    fn programs_of_a_build_are_one_role_and_what_it_may_run_besides_is_not() {
        for title in ["make -j8", "/usr/lib/gcc/12/cc1 -quiet a.c", "as -o a.o", "gcc-13 a.c"] {
            assert_eq!(role(Some(title), "x"), BUILD, "{title}");
        }
        for gone in ["cc1", "cc1plus", "collect2", "lto1", "ld", "clang-17"] {
            assert_eq!(role(None, gone), BUILD, "{gone}");
        }
        for other in ["dd if=/x", "fio --name=a", "sh -c true", "cp a b", "postgres -D /a"] {
            let name = other.split(' ').next().unwrap();
            assert_eq!(role(Some(other), name), name);
        }
    }

    #[test]
    fn threads_of_the_kernel_and_processes_that_are_gone_have_their_names() {
        for (command, expected) in [
            ("kworker/u8:3-flush-254:0", "kernel writeback"),
            ("kworker/u8:3", "kernel writeback"),
            ("kworker/u8:2+loop0", "kernel worker"),
            ("kworker/0:1-ext4-rsv-conversion", "kernel worker"),
            ("jbd2/loop1-8", "journal"),
            ("xfsaild/loop1", "journal"),
            ("kswapd0", "kswapd"),
            ("gzip", "gzip"),
            ("worker-12", "worker"),
            ("1234", "1234"),
            ("lbolt-job-read", "reader"),
            ("lbolt-job-write", "writer"),
            ("lbolt-job-dsync", "committer"),
            ("lbolt-job", "lbolt-job"),
        ] {
            assert_eq!(role(None, command), expected);
            assert_eq!(role(Some(" "), command), expected);
        }
    }

    #[test]
    fn a_process_by_itself_has_its_title_and_its_number() {
        for (title, pid, expected) in [
            (Some("postgres: checkpointer "), 712, "postgres: checkpointer (712)"),
            (Some("postgres: bench bench [local] COMMIT"), 4711, "postgres: bench benc… (4711)"),
            (Some("/usr/bin/dd if=/x"), 9, "dd if=/x (9)"),
            (None, 33, "gzip (33)"),
        ] {
            assert_eq!(of_process(title, "gzip", pid), expected);
        }
    }

    #[test]
    fn no_title_is_too_strange() {
        for title in
            [":", ": ", "/", "-", "java", "java -cp", "postgres:", "postgres: ", "\u{fffd}"]
        {
            let _ = role(Some(title), "");
            assert!(of_process(Some(title), "", u64::MAX).ends_with("5)"));
        }
    }
}
