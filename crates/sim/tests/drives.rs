//! The drives of the catalog: they can be read whole, they come as near to what real drives did as
//! DiskSim does, and they are the same each time.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and says what it skips"
)]

use model::record::{Op, Request};
use sim::drive::{Access, CachedDrive};
use sim::profile::{CATALOG, ProfileError};
use sim::replay::{ReplayMachine, closed, demerit, each};
use std::path::PathBuf;

fn drive(name: &str) -> CachedDrive {
    let profile = CATALOG.load(name).unwrap();
    let reader = profile.reader();
    let drive = CachedDrive::read(&reader.below("drive")).unwrap();
    ReplayMachine::read(&reader).unwrap();
    reader.finish().unwrap();
    drive
}

/// A validation trace (`R|W word block blocks access_us think_us`); none where the data are not.
fn trace(name: &str) -> Option<Vec<Request>> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/disks").join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: there is no {}", path.display());
        return None;
    };
    let mut now_ns = 0.0;
    let mut rows = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| words[index].parse::<f64>().unwrap();
        let end_ns = now_ns + number(4) * 1e3;
        rows.push(Request {
            request_id: rows.len() as u64,
            op: if words[0] == "R" { Op::Read } else { Op::Write },
            offset_bytes: Some(number(2) as u64 * 512),
            length_bytes: number(3) as u32 * 512,
            queued_ns: Some(now_ns as i64),
            completed_ns: Some(end_ns as i64),
            ..Request::default()
        });
        now_ns = end_ns + number(5) * 1e3;
    }
    Some(rows)
}

fn ms(row: &Request) -> f64 {
    (row.completed_ns.unwrap() - row.queued_ns.unwrap()) as f64 / 1e6
}

fn demerit_ms(model: &str, rows: &[Request]) -> f64 {
    let machine = ReplayMachine::read(&CATALOG.load(model).unwrap().reader()).unwrap();
    let mut simulated_ms = Vec::new();
    closed(machine, each(rows.iter().copied()), |row| simulated_ms.push(ms(row))).unwrap();
    assert_eq!(simulated_ms.len(), rows.len());
    demerit(simulated_ms, rows.iter().map(ms)).unwrap().distance
}

/// Where a model comes no nearer than this many times DiskSim's own demerit, it fails.
const TIMES_DISKSIM: f64 = 1.25;

fn check_demerit(model: &str, file: &str, disksim_ms: f64) {
    let Some(rows) = trace(file) else { return };
    let demerit_ms = demerit_ms(model, &rows);
    println!("{model}: {demerit_ms:.3} ms, DiskSim {disksim_ms} ms");
    assert!(demerit_ms <= TIMES_DISKSIM * disksim_ms, "{model}: {demerit_ms} ms");
}

#[test]
fn the_hp_c2490a_is_as_near_as_disksims() {
    check_demerit("hp-c2490a", "hp_c2490a.trace", 0.254);
}

#[test]
fn the_dec_rz26_is_as_near_as_disksims() {
    check_demerit("dec-rz26", "dec_rz26.trace", 0.340);
}

#[test]
fn the_barracuda_is_as_near_as_disksims() {
    check_demerit("barracuda", "barracuda.trace", 0.349);
}

#[test]
fn the_cheetah_9lp_is_as_near_as_disksims() {
    check_demerit("cheetah9lp", "cheetah9LP.trace", 0.107);
}

#[test]
fn the_atlas_10k_is_as_near_as_disksims() {
    check_demerit("atlas10k", "atlas10k.trace", 0.268);
}

#[test]
fn every_drive_can_be_read_whole_and_serves_all_of_itself() {
    for known in CATALOG.profiles().filter(|known| known.text.contains("DiskSim")) {
        let mut drive = drive(known.name);
        let end = drive.mechanics.layout.blocks;
        let mut now_ns = 0.0;
        for (index, block) in [0, end / 2, end - 8, end / 3, end / 3 + 8].into_iter().enumerate() {
            for is_write in [false, true] {
                let request = match is_write {
                    true => Access::write(block, 8),
                    false => Access::read(block, 8),
                };
                let done_ns = drive.serve(now_ns, request).unwrap();
                assert!(done_ns > now_ns && done_ns < now_ns + 3e8, "{} {index}", known.name);
                now_ns = done_ns + 1e6;
            }
        }
        let past = drive.serve(now_ns, Access::read(end - 7, 8));
        let error = past.unwrap_err().to_string();
        assert!(error.contains(&format!("end at block {end}")), "{error}");
    }
}

/// What the makers promise, of the drives whose parameters hold all of their layout; it tells,
/// among others, whether a spare is one of a track or of a cylinder.
#[test]
fn capacities_are_the_published_ones() {
    for (name, blocks) in [
        ("hp-c2247a", 2_054_864),
        ("hp-c2490a", 4_165_272),
        ("hp-c3323a", 2_056_008),
        ("st41601n", 2_676_846),
        ("dec-rz26", 2_050_860),
    ] {
        assert_eq!(drive(name).mechanics.layout.blocks, blocks, "{name}");
    }
}

#[test]
fn blocks_of_a_real_layout_have_places_of_their_own() {
    for name in ["cheetah9lp", "ibm18es", "hp-c2247a", "st41601n", "barracuda", "dec-rz26"] {
        let layout = drive(name).mechanics.layout;
        let mut places = std::collections::HashSet::new();
        // Around the seams of zones and slips, and here and there.
        let mut block = 0;
        while block < layout.blocks {
            let run = layout.run(block);
            assert!(places.insert((run.cylinder, run.head, run.sector)), "{name} {block}");
            assert!(run.first == block && run.end > block, "{name} {block} {run:?}");
            block = run.end;
        }
        assert_eq!(block, layout.blocks, "{name}");
    }
}

#[test]
fn the_same_requests_give_the_same_completions() {
    let run = || {
        let mut drive = drive("atlas10k");
        let mut random = sim::random::Random::new(7);
        let mut now_ns = 0.0;
        let mut sum = 0u64;
        for _ in 0..2000 {
            let block = random.below(drive.mechanics.layout.blocks - 64);
            let blocks = 1 + random.below(63);
            let request = match random.unit() < 0.4 {
                true => Access::write(block, blocks),
                false => Access::read(block, blocks),
            };
            let done_ns = drive.serve(now_ns, request).unwrap();
            sum = sum.wrapping_mul(31).wrapping_add((done_ns - now_ns).to_bits());
            now_ns = done_ns + random.exponential(5e6);
        }
        sum
    };
    assert_eq!(run(), run());
}

#[test]
fn a_generic_drive_streams_at_its_tracks_rate_less_its_skews() {
    let mut drive = drive("generic-7200rpm");
    let (heads, sectors, revolution_ns) = (4.0, 2560.0, drive.mechanics.revolution_ns);
    // A cylinder takes a revolution a track, and the skews: three heads are switched, one cylinder.
    let cylinder_ns = heads * revolution_ns + (3.0 * 230.0 + 360.0) / sectors * revolution_ns;
    let rate = heads * sectors * 512.0 / cylinder_ns * 1e9;
    assert!((rate / 143e6 - 1.0).abs() < 0.01, "{rate}");
    let blocks = 1024;
    let (mut now_ns, mut begin_ns) = (0.0, 0.0);
    for index in 0..4000u64 {
        if index == 100 {
            begin_ns = now_ns;
        }
        let request = Access::read(index * blocks, blocks);
        now_ns = drive.serve(now_ns, request).unwrap();
    }
    let measured = 3900.0 * blocks as f64 * 512.0 / (now_ns - begin_ns) * 1e9;
    assert!((measured / rate - 1.0).abs() < 0.01, "{measured} for {rate}");
}

#[test]
fn a_generic_drives_random_reads_are_those_of_a_measured_one() {
    let mut drive = drive("generic-7200rpm");
    let mut random = sim::random::Random::new(1);
    let places = drive.mechanics.layout.blocks / 8;
    let mut now_ns = 0.0;
    let mut times: Vec<f64> = (0..20_000)
        .map(|_| {
            let block = random.below(places) * 8;
            let done_ns = drive.serve(now_ns, Access::read(block, 8)).unwrap();
            let took_ms = (done_ns - now_ns) / 1e6;
            now_ns = done_ns + 1e5;
            took_ms
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    assert!((17.2..=17.8).contains(&median), "{median}");
}

#[test]
fn impossible_drives_are_refused_with_file_key_and_reason() {
    let text = CATALOG.profiles().find(|known| known.name == "barracuda").unwrap().text;
    let read = |text: &str| -> Result<(), ProfileError> {
        let profile = CATALOG.load_text("b", "b.toml", text)?;
        let reader = profile.reader();
        ReplayMachine::read(&reader)?;
        reader.finish()
    };
    assert_eq!(read(text), Ok(()));
    for (from, to, key, reason) in [
        ("7200 rpm", "0 rpm", "drive.rotation.speed", "above zero"),
        ("7200 rpm", "7200", "drive.rotation.speed", "unit"),
        ("[4, 2.175]", "[4, 0.175]", "", ""),
        ("[4, 2.175], [5, 2.176]", "[4, 0.1], [5, 0.1]", "drive.seek.points_ms", "falls"),
        ("[1129, 2352", "[1127, 2352", "drive.layout.zones", "overlap"),
        (
            "read_ahead = \"blocks\"",
            "read_ahead = \"block\"",
            "drive.cache.read_ahead",
            "did you mean",
        ),
        ("segment_blocks = 281", "segment_block = 281", "drive.cache", ""),
        (
            "head_switch = \"0.1 ms\"",
            "head_swich = \"0.1 ms\"",
            "drive.seek.head_swich",
            "did you mean",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let Err(error) = read(&text.replace(from, to)) else {
            assert!(key.is_empty(), "{to} was taken");
            continue;
        };
        assert_eq!(error.file, "b.toml", "{error}");
        assert!(error.key.starts_with(key) && error.reason.contains(reason), "{error}");
    }
}
