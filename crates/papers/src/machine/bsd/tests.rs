//! What must hold on every machine: nothing is lost, nothing is busy for longer than time passed,
//! and impossible profiles are refused.

use super::BsdMachine;
use crate::CATALOG;
use crate::buffer_cache::State;
use crate::machine::Options;
use crate::throughput_1983::program::{FILE, PROGRAMS, run};
use sim::subject::Machine;

const MACHINES: [&str; 7] = [
    "vax750-sc750-eagle",
    "vax750-uda50-ra81",
    "vax780-sc780-eagle",
    "vax780-sc780-eagle-initial",
    "vax780-sc780-eagle-search-lead",
    "vax780-si9900-eagle",
    "vax780-uda50-ra81",
];

const MIB: u64 = 1 << 20;

fn machine(name: &str, drives: usize, seed: u64) -> BsdMachine {
    let options = Options { drives, block_bytes: None, seed };
    let mut machine = BsdMachine::new(&CATALOG.load(name).unwrap(), options).unwrap();
    machine.prepare().unwrap();
    machine
}

#[test]
fn what_a_program_writes_and_reads_is_what_the_drives_move() {
    for name in MACHINES {
        for drives in [1, 2] {
            let mut machine = machine(name, drives, 1);
            let written = run(&mut machine, &PROGRAMS[1], drives, MIB).unwrap();
            assert_eq!(written.bytes, drives as u64 * MIB, "{name}");
            // Flushes what is still in the cache, and forgets it.
            machine.make_cold(&[]).unwrap();
            let sectors = machine.controller.traffic(0).write_sectors;
            let extra = sectors * 512 - MIB;
            assert!(extra > 0 && extra < MIB / 4, "{name}: {extra} of administration");
            run(&mut machine, &PROGRAMS[0], drives, MIB).unwrap();
            let read = machine.controller.traffic(0).read_sectors * 512;
            assert!((MIB..MIB * 5 / 4).contains(&read), "{name}: {read}");
        }
    }
}

#[test]
fn nothing_is_busy_for_longer_than_time_passed() {
    for name in MACHINES {
        let mut machine = machine(name, 2, 3);
        run(&mut machine, &PROGRAMS[2], 2, MIB).unwrap();
        let now_ns = machine.now_ns() as f64;
        machine.processor.settle(machine.now_ns);
        let accounts = machine.processor.accounts();
        let all_ns =
            accounts.user_ns + accounts.system_ns + accounts.interrupt_ns + accounts.idle_ns;
        assert!((all_ns - now_ns).abs() < 1.0, "{name}: {all_ns} of {now_ns}");
        let of_processes: f64 = (0..2).map(|job| machine.process_time(job).system_ns).sum();
        assert!((of_processes - accounts.system_ns).abs() < 1.0, "{name}");
        assert!(machine.controller.channel_busy_ns() <= now_ns * 1.001, "{name}");
        for drive in 0..2 {
            assert!(machine.controller.traffic(drive).data_ns <= now_ns, "{name}");
        }
    }
}

/// A machine whose counters cannot be fails, and says by which law.
#[test]
fn a_law_that_is_broken_fails_the_run() {
    let broken = |law: &str, spoil: &dyn Fn(&mut BsdMachine)| {
        let mut machine = machine("vax750-uda50-ra81", 2, 1);
        run(&mut machine, &PROGRAMS[2], 2, MIB).unwrap();
        machine.make_cold(&[]).unwrap();
        assert!(machine.counters().is_ok());
        spoil(&mut machine);
        let error = machine.counters().unwrap_err().to_string();
        assert!(error.contains("model violates a law") && error.contains(law), "{error}");
    };
    broken("transfers in are transfers out", &|machine| machine.next_number += 1);
    broken("in one account", &|machine| machine.now_ns -= 1_000_000);
    broken("faster than its rate", &|machine| machine.settings.bus_bytes_per_s = 1000.0);
}

#[test]
fn the_same_seed_gives_the_same_time_and_another_one_another() {
    let wall_ns = |seed| {
        let mut machine = machine("vax780-uda50-ra81", 2, seed);
        run(&mut machine, &PROGRAMS[2], 2, MIB).unwrap().wall_ns
    };
    assert_eq!(wall_ns(5), wall_ns(5));
    assert_ne!(wall_ns(5), wall_ns(6));
}

#[test]
fn a_file_laid_out_lies_where_a_written_one_does() {
    let mut written = machine("vax780-sc780-eagle", 1, 1);
    run(&mut written, &PROGRAMS[2], 1, 4 * MIB).unwrap();
    let mut laid_out = machine("vax780-sc780-eagle", 1, 1);
    laid_out.lay_out(0, FILE, 4 * MIB);
    assert_eq!(written.files, laid_out.files);
}

#[test]
fn a_cold_cache_holds_nothing() {
    let mut machine = machine("vax750-sc750-eagle", 1, 1);
    run(&mut machine, &PROGRAMS[1], 1, MIB).unwrap();
    machine.make_cold(&[]).unwrap();
    assert_eq!(machine.cache.in_state(State::Clean).count(), machine.cache.len());
    assert!(machine.in_flight.is_empty());
}

#[test]
fn impossible_machines_are_refused_with_key_and_reason() {
    for (key, value, sentence) in [
        ("system.buffer_share", "0.1 %", "makes 0 buffers"),
        ("file_system.fragment_size", "3 KiB", "a block is 1, 2, 4 or 8 fragments"),
        ("file_system.fragment_size", "0.3 B", "less than a byte"),
        ("file_system.cylinders_per_group", "0", "not from 1"),
        ("system.update_interval", "0 s", "less than a second"),
        ("system.update_interval", "200000 s", "more than a day"),
        ("system.spindle_spread", "100 %", "more than 5 %"),
        ("processor.driver_factor", "-1", "below 0"),
        ("processor.driver_factor", "4294967295", "above 1000"),
        ("processor.spread", "101 %", "more than 100 %"),
        ("processor.copy", "99999999999 ms/KiB", "more than one second per byte"),
        ("bus.slowdown", "99999999999 %", "times slower"),
        ("drive.rotation.speed", "0.5 rpm", "rpm are not from 1 to"),
        ("processor.call", "200000 s", "more than a day"),
        ("controller.late_reads_per_kib", "-0.1", "below 0"),
        ("controller.search_lead", "-2", "below 0"),
        ("controller.buffer_sectors", "0", "not from 1"),
        ("controller.attached_drives", "1", "1 drives hang on it, and 2 are used"),
        ("controller.protocol", "rh11", "known are massbus, uda50"),
        ("bus.rate", "0 MB/s", "above zero"),
        ("bus.rate", "30 kB/s", "slower than the drive can wait"),
        ("processor.call", "1.3", "no unit"),
        ("queue.policy", "best", "is unknown"),
    ] {
        let mut profile = CATALOG.load("vax780-sc780-eagle-search-lead").unwrap();
        profile.set(key, value).unwrap();
        let options = Options { drives: 2, ..Options::default() };
        let error = BsdMachine::new(&profile, options).unwrap_err();
        assert_eq!(error.key, key, "{error}");
        assert!(error.reason.contains(sentence), "{error}");
    }
}
