//! Who acts, and whose files are whose.

use super::*;
use model::record::NamedFile;

#[test]
fn of_ever_more_threads_the_first_are_remembered() {
    let mut threads = Learned::default();
    for pid in 0..LEARNED_MOST as u32 + 9 {
        threads.learn_first(pid, RoleId(1));
    }
    assert_eq!(threads.since.len(), LEARNED_MOST);
    threads.learn(0, RoleId(2));
    threads.learn_first(0, RoleId(3));
    assert_eq!(threads.get(&0), Some(RoleId(2)));
    assert_eq!(threads.get(&(LEARNED_MOST as u32)), None);
}

#[test]
fn threads_of_a_name_of_their_own_have_a_role_of_it() {
    let of = |thread: Option<&str>| {
        let thread = thread.map(str::to_owned);
        role_of(&Process { thread, ..process(9, Some("db_bench --x"), "db_bench") })
    };
    assert_eq!(of(None), "db_bench");
    assert_eq!(of(Some("rocksdb:low")), "db_bench: rocksdb:low");
    assert_eq!(of(Some("worker-12")), "db_bench: worker");
    assert_eq!(of(Some("lbolt-job-write")), "writer", "what runs it says nothing more");
}

fn process(pid: u64, title: Option<&str>, command: &str) -> Process {
    let (command, title) = (command.to_owned(), title.map(str::to_owned));
    Process { pid, process: Some(pid), command, title, ..Process::default() }
}

#[test]
fn a_role_is_of_the_cgroup_that_all_its_processes_are_in() {
    let mut actors = Actors::new(&Context::default(), None);
    let mut learn = |pid, title, unit: Option<&str>| {
        let unit = unit.map(str::to_owned);
        actors.learn(&Process { unit, ..process(pid, Some(title), title) });
        actors.cgroup(title).map(str::to_owned)
    };
    let shop = Some("/shop.service");
    assert_eq!(learn(1, "cron", None), None);
    assert_eq!(learn(2, "redis", shop).as_deref(), shop);
    assert_eq!(learn(3, "redis", shop).as_deref(), shop);
    assert_eq!(learn(4, "redis", Some("/b")), None, "of two");
    assert_eq!(learn(5, "redis", Some("/b")), None);
    assert_eq!(learn(6, "cron", shop), None, "of the root, too");
    assert_eq!(actors.cgroup("nobody"), None);
}

#[test]
fn the_kernel_writes_for_the_owner_of_the_file() {
    let context = Context {
        processes: vec![
            process(7, None, "kworker/u8:1-flush-7:0"),
            process(8, Some("postgres: checkpointer"), "postgres"),
            process(9, Some("dd of=x"), "dd"),
        ],
        calls: vec![Call { file_system: 1, inode: 20, pid: 8, ..Call::default() }],
        files: vec![NamedFile {
            file_system: 1,
            inode: 30,
            writers: vec![9],
            ..NamedFile::default()
        }],
        ..Context::default()
    };
    let mut actors = Actors::new(&context, None);
    let mut commands = Commands::default();
    let command = Some(commands.number(b"gzip"));
    let mut name = |pid, kind, inode| {
        let file =
            Some(FileKey { kind, number: FileNumber { file_system: 1, inode, generation: 0 } });
        let row = Request { op: Op::Write, pid: Some(pid), command, file, ..Request::default() };
        let role = actors.of_request(&row, &commands);
        actors.name(role).to_owned()
    };
    assert_eq!(name(7, FileKind::Regular, 20), "postgres: checkpointer");
    assert_eq!(name(7, FileKind::Regular, 30), "dd");
    assert_eq!(name(7, FileKind::Regular, 40), "kernel writeback");
    assert_eq!(name(55, FileKind::Regular, 40), "gzip");
    assert_eq!(name(7, FileKind::Regular, 40), "gzip", "who wrote it himself owns it");
    assert_eq!(name(9, FileKind::Regular, 20), "dd", "what he does himself is his");
    assert_eq!(name(8, FileKind::Journal, 0), "journal");
}

#[test]
fn who_changed_a_file_owns_it_when_he_is_gone_and_until_somebody_calls_for_it() {
    let mut actors = Actors::new(&Context::default(), None);
    actors.learn(&process(7, None, "kworker/u8:1-flush-7:0"));
    actors.learn(&process(9, Some("cp a b"), "cp"));
    let number = FileNumber { file_system: 1, inode: 20, generation: 0 };
    let owner = |actors: &mut Actors| {
        let file = Some(FileKey { kind: FileKind::Regular, number });
        let row = Request { op: Op::Write, pid: Some(7), file, ..Request::default() };
        let role = actors.of_request(&row, &Commands::default());
        actors.name(role).to_owned()
    };
    assert_eq!(owner(&mut actors), "kernel writeback");
    actors.change(number, 9, "");
    actors.forget_threads(&[9]);
    assert_eq!(owner(&mut actors), "cp");
    // Another one, with numbers of its own.
    let mut later = Actors::new(&Context::default(), None);
    later.learn(&process(11, Some("redis"), "redis"));
    later.learn(&process(7, None, "kworker/u8:1-flush-7:0"));
    later.learn_owners(&actors);
    assert_eq!(owner(&mut later), "cp");
    later.own(number, 11, "");
    assert_eq!(owner(&mut later), "redis");
    later.change(number, 12, "gzip");
    assert_eq!(owner(&mut later), "redis", "who calls for it, whoever changes it");
    later.forget_owners_beyond(0);
    assert_eq!(owner(&mut later), "redis", "of many those that were learned last are known");
    later.own(FileNumber { inode: 21, ..number }, 11, "");
    later.change(FileNumber { inode: 21, ..number }, 11, "");
    later.forget_owners_beyond(0);
    assert_eq!(owner(&mut later), "kernel writeback");
}

fn owner_of(actors: &Actors, inode: u64) -> Option<String> {
    let role = actors.owner(&FileNumber { file_system: 1, inode, generation: 0 })?;
    Some(actors.name(role).to_owned())
}

/// A call is told of as it ends, and what its thread is only when that was asked.
#[test]
fn who_called_before_it_was_known_what_he_is_owns_the_file_as_what_he_is() {
    let number = |inode| FileNumber { file_system: 1, inode, generation: 0 };
    let mut actors = Actors::new(&Context::default(), None);
    actors.own(number(20), 8, "postgres");
    actors.change(number(30), 8, "postgres");
    actors.own(number(40), 8, "postgres");
    actors.own(number(40), 9, "cp");
    assert_eq!(owner_of(&actors, 20).as_deref(), Some("postgres"));
    // One who goes on from there, with numbers of his own.
    let mut later = Actors::new(&Context::default(), None);
    later.learn(&process(5, Some("redis"), "redis"));
    later.learn_owners(&actors);
    for mut actors in [actors, later] {
        actors.learn(&process(8, Some("postgres: checkpointer"), "postgres"));
        let owners = [20, 30, 40].map(|inode| owner_of(&actors, inode).unwrap());
        assert_eq!(owners, ["postgres: checkpointer", "postgres: checkpointer", "cp"]);
        // He is another one now.
        actors.forget_threads(&[8]);
        actors.learn(&process(8, Some("dd of=x"), "dd"));
        assert_eq!(owner_of(&actors, 20).as_deref(), Some("postgres: checkpointer"));
    }
}

#[test]
fn what_somebody_did_who_was_gone_is_not_of_the_next_of_his_number() {
    let number = FileNumber { file_system: 1, inode: 20, generation: 0 };
    let mut actors = Actors::new(&Context::default(), None);
    actors.own(number, 8, "cp");
    let gone = Process { process: None, ..process(8, None, "cp") };
    assert_eq!(actors.learn(&gone), None);
    actors.learn(&process(8, Some("redis"), "redis"));
    assert_eq!(owner_of(&actors, 20).as_deref(), Some("cp"));
}

#[test]
fn owners_are_remembered_when_roles_make_room_for_others() {
    let number = |inode| FileNumber { file_system: 1, inode, generation: 0 };
    let mut actors = Actors::new(&Context::default(), None);
    let program = |n: u64| format!("{n}th");
    actors.own(number(5), 5, "redis");
    for n in 1..MOST as u64 + 9 {
        actors.change(number(10 + n), 1000 + n as u32, &program(n));
    }
    actors.change(number(6), 6, "redis");
    assert!(actors.has_all());
    assert_eq!(owner_of(&actors, 10 + MOST as u64 + 8).as_deref(), Some(OTHERS));
    let daemon = process(7, Some("daemon"), "daemon");
    let actors = actors.with_room([&daemon].into_iter());
    assert!(!actors.has_all());
    // Who became an owner last, whichever file's that was.
    let owners = [5, 6, 10 + 990].map(|inode| owner_of(&actors, inode));
    let expected = ["redis", "redis", "990th"].map(|name| Some(name.to_owned()));
    assert_eq!(owners, expected);
    let forgotten = [11, 10 + MOST as u64 + 8].map(|inode| owner_of(&actors, inode));
    assert_eq!(forgotten, [None, None], "the first of many, and what nobody can tell");
}
