//! `lbolt profile` and `lbolt synthesize` from the command line: a profile's trace has the profile
//! again, within bounds; and what is no profile is refused in a sentence.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::Lab;
use model::mix::{Profile, Traffic};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::path::{Path, PathBuf};

/// A real trace; none, with a sentence, where it is absent.
fn data(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if !path.exists() {
        println!("skipped: no {name}");
    }
    path.exists().then_some(path)
}

fn profile(lab: &Lab, trace: &str) -> Profile {
    let ended = lab.run(&format!("profile {trace}"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    Profile::parse(&ended.out).unwrap()
}

/// The profile of a trace that is made of a profile.
fn again(lab: &Lab, profile: &Profile, seed: u64) -> Profile {
    let (toml, made) = (format!("p{seed}.toml"), format!("made{seed}"));
    lab.file(&toml, profile.text().unwrap());
    let ended = lab.run(&format!("synthesize {toml} --seed {seed} -o {made}"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    self::profile(lab, &made)
}

/// How far two lists of shares are apart: the sum of what one has more, per cent.
fn apart<T: Copy + PartialEq>(a: &[(T, f64)], b: &[(T, f64)]) -> f64 {
    let of = |list: &[(T, f64)], key: T| {
        list.iter().filter(|(known, _)| *known == key).map(|(_, share)| share).sum::<f64>()
    };
    a.iter().map(|(key, share)| (share - of(b, *key)).max(0.0)).sum()
}

/// The index of dispersion of a stretch of about so many s.
fn dispersion(traffic: &Traffic, stretch_s: f64) -> f64 {
    let far = |line: &&(f64, f64, f64)| (line.0 / stretch_s).ln().abs();
    traffic.bursts.iter().min_by(|a, b| far(a).total_cmp(&far(b))).unwrap().1
}

/// Holds a kind of requests to what it was made of.
fn assert_like(name: &str, made: &Traffic, of: &Traffic) {
    assert_eq!(made.requests, of.requests, "{name}");
    if of.requests < 1000 || name == "flush" {
        return;
    }
    let sizes = apart(&made.sizes, &of.sizes);
    assert!(sizes < 5.0, "{name}: {sizes} % of the sizes");
    let sequential = (made.sequential_percent - of.sequential_percent).abs();
    assert!(sequential < 5.0, "{name}: {sequential} % sequential");
    let zones = |traffic: &Traffic| -> Vec<(usize, f64)> {
        traffic.zones.iter().map(|(share, _)| *share).enumerate().collect()
    };
    let zones = apart(&zones(made), &zones(of));
    assert!(zones < 8.0, "{name}: {zones} % of the zones");
    for ((share, hot), (_, of)) in made.hot.iter().zip(&of.hot).filter(|(line, _)| line.0 >= 5.0) {
        assert!((hot - of).abs() < 15.0, "{name}: {share} % have {hot} %, and had {of} %");
    }
}

#[test]
fn the_profile_of_a_real_trace_comes_back_from_the_trace_made_of_it() {
    let Some(path) = data("hplajw/ajw.1week.srt") else { return };
    let lab = Lab::new();
    let of = profile(&lab, &path.display().to_string());
    assert!(of.requests > 40_000 && of.length_s > 500_000.0, "{of:?}");
    let made = again(&lab, &of, 1);
    assert!((made.length_s / of.length_s - 1.0).abs() < 0.05);
    for ((name, of), (_, made)) in of.traffic().zip(made.traffic()) {
        assert_like(name, made, of);
        for stretch_s in [1.0, 60.0, 3600.0] {
            let ratio = dispersion(made, stretch_s) / dispersion(of, stretch_s);
            assert!((0.4..2.5).contains(&ratio), "{name}: {ratio} × at {stretch_s} s");
        }
    }
    let analysed = lab.run("response made1");
    assert_eq!(analysed.code, 0, "{}", analysed.err);
}

#[test]
fn a_profile_goes_into_a_file_that_is_not_there_yet() {
    let lab = Lab::new();
    let reads: String =
        (0..50).map(|n| format!("{} /dev/x read {} 4096\n", n * 500 + 1, n << 12)).collect();
    lab.file("t.log", format!("fio version 3 iolog\n1 /dev/x add\n{reads}"));
    assert_eq!(lab.run("profile t.log -o p.toml").code, 0);
    let text = std::fs::read_to_string(lab.path("p.toml")).unwrap();
    assert!(
        text.starts_with("# A profile") && text.contains("sequential_percent = 98.0"),
        "{text}"
    );
    lab.run("profile t.log -o p.toml").assert_refused(2, &["p.toml", "choose another --output"]);
    let made = lab.run("synthesize p.toml --number_ios 500 -o ten");
    assert!(made.code == 0 && made.err.contains("nothing was measured"), "{}", made.err);
    let ten = profile(&lab, "ten");
    assert_eq!(ten.requests, 500);
    let one = lab.run("synthesize p.toml --runtime 10ms -o short");
    assert_eq!(one.code, 0, "{}", one.err);
    lab.assert_clean();
}

#[test]
fn what_is_no_trace_and_no_profile_is_refused_in_a_sentence() {
    let lab = Lab::new();
    lab.file("text", "hello");
    lab.file("none.log", "fio version 3 iolog\n1 /dev/x add\n");
    lab.file("long.toml", "#".repeat(2 << 20));
    for (words, sentence) in [
        ("profile missing", "missing"),
        ("profile none.log", "no reads or writes"),
        ("profile none.log --device sda", "--device sda is not in the trace"),
        ("synthesize missing.toml", "missing.toml"),
        ("synthesize text", "use the profile: line"),
        ("synthesize long.toml", "larger than 1 MiB"),
        ("synthesize d", "failed to read"),
    ] {
        lab.run(words).assert_refused(2, &[sentence]);
    }
    for (words, sentence) in [
        ("synthesize p --runtime 5", "5s"),
        ("synthesize p --number_ios 0", "--number_ios"),
        ("synthesize p --number_ios 9 --runtime 1s", "--runtime"),
        ("synthesize p --seed=-1", "seed"),
        ("profile t --device=", "--device"),
    ] {
        lab.run(words).assert_refused_by_usage(sentence);
    }
    assert_eq!(lab.runs().len(), 0);
    lab.assert_clean();
}

proptest! {
    // The bounds are of a sample: of few requests that begin anew (a thousand, three quarters of
    // them sequential) one in some hundred cases is beyond them. The same cases each time.
    #![proptest_config(ProptestConfig {
        cases: 40,
        rng_seed: RngSeed::Fixed(17),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_mix_comes_back(
        reads in 4000u64..8000,
        writes in 4000u64..8000,
        sequential in 0.0f64..60.0,
        small in 10.0f64..90.0,
        first in 1.0f64..99.0,
        hot in 12.0f64..90.0,
        uneven in prop::collection::vec(0.0f64..0.4, 12),
        seed in 1u64..1000,
    ) {
        let bursts = |(depth, uneven): (usize, &f64)| {
            (60.0 / 2f64.powi(depth as i32), 1.0, *uneven)
        };
        let traffic = |requests| Traffic {
            requests,
            sequential_percent: sequential,
            area_bytes: 4096,
            working_set_bytes: 0,
            sizes: vec![(4096, small), (65536, 100.0 - small)],
            streams: vec![(0, 60.0), (1, 40.0)],
            zones: (0..32).map(|zone| match zone {
                0 => (first, 40),
                31 => (100.0 - first, 60),
                _ => (0.0, 0),
            }).collect(),
            hot: vec![(10.0, hot), (100.0, 100.0)],
            bursts: uneven.iter().enumerate().map(bursts).collect(),
            response_us: vec![(0.0, 50.0), (100.0, 500.0)],
        };
        let of = Profile {
            schema: model::mix::SCHEMA.into(),
            source: "test".into(),
            device: "sda".into(),
            requests: reads + writes,
            left_out: 0,
            length_s: 60.0,
            end_bytes: 1 << 30,
            block_bytes: 4096,
            outstanding: Default::default(),
            read: Some(traffic(reads)),
            write: Some(traffic(writes)),
            flush: None,
        };
        let lab = Lab::new();
        // The first profile of what was made is of a trace; it comes back from that.
        let first = again(&lab, &of, seed);
        let second = again(&lab, &first, seed + 1);
        for ((name, first), (_, second)) in first.traffic().zip(second.traffic()) {
            assert_like(name, second, first);
        }
    }
}
