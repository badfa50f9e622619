//! Storms of made-up traces, and of series made by hand.

use super::detect::{Calmness, Detection, Series, detect};
use super::period::period;
use super::synthetic::{Kind, Random, STEADY, STORMY, Trace};
use std::ops::Range;
use std::time::Instant;

/// How the storms that were found compare with those that were planted.
#[derive(Default, Clone, Copy)]
struct Score {
    cases: u64,
    cases_false: u64,
    planted: u64,
    found: u64,
    planted_found: u64,
    found_planted: u64,
    bins: u64,
    bins_false: u64,
}

impl Score {
    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.cases_false += other.cases_false;
        self.planted += other.planted;
        self.found += other.found;
        self.planted_found += other.planted_found;
        self.found_planted += other.found_planted;
        self.bins += other.bins;
        self.bins_false += other.bins_false;
    }

    fn of(detection: &Detection, trace: &Trace, series: &Series) -> Self {
        let bin_ns = series.bin_ns;
        let overlap = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
        let bins = |storm: &Range<u64>| storm.start / bin_ns..(storm.end - 1) / bin_ns + 1;
        let planted: Vec<_> = trace.planted.iter().map(bins).collect();
        let found = &detection.storms;
        let hit = |storm: &Range<u64>, others: &[Range<u64>]| others.iter().any(|o| overlap(storm, o));
        let common = |storm: &Range<u64>| -> u64 {
            let both = |p: &Range<u64>| storm.end.min(p.end).saturating_sub(storm.start.max(p.start));
            planted.iter().map(both).sum()
        };
        let beyond = |s: &Range<u64>| (s.end - s.start).saturating_sub(common(s));
        let found_planted = found.iter().filter(|s| hit(s, &planted)).count() as u64;
        Self {
            cases: 1,
            cases_false: u64::from(found_planted < found.len() as u64),
            planted: planted.len() as u64,
            found: found.len() as u64,
            planted_found: planted.iter().filter(|s| hit(s, found)).count() as u64,
            found_planted,
            bins: series.last - series.first + 1,
            bins_false: found.iter().map(beyond).sum(),
        }
    }

    fn precision(&self) -> f64 {
        self.found_planted as f64 / (self.found as f64).max(1.0)
    }

    fn recall(&self) -> f64 {
        self.planted_found as f64 / (self.planted as f64).max(1.0)
    }
}

fn judged(kind: &Kind, random: &mut Random, is_told: bool) -> Score {
    let seed = random.0;
    let mut trace = (kind.1)(random);
    let (bins, bin_ns) = trace.bins(65_536);
    let series = trace.series(&bins, bin_ns);
    let detection = detect(&series);
    let score = Score::of(&detection, &trace, &series);
    if is_told && (score.found_planted < score.found || score.planted_found < score.planted) {
        println!(
            "  {} ({seed:#x}): {} of {} planted found, {} of {} found planted; bin {} ms, {} requests, {} s, {:?}",
            kind.0, score.planted_found, score.planted, score.found_planted, score.found,
            bin_ns as f64 / 1e6, trace.arrivals.len(), (series.last - series.first) * bin_ns / 1_000_000_000,
            Detection { storms: Vec::new(), ..detection },
        );
    }
    score
}

fn table(seed: u64, rounds: usize, is_told: bool) -> [Score; 2] {
    let mut random = Random(seed);
    println!("kind                       cases  planted  found  precision  recall  false cases  false bins");
    [&STORMY, &STEADY].map(|kinds| {
        let mut all = Score::default();
        for kind in kinds {
            let mut score = Score::default();
            for _ in 0..rounds {
                score.add(&judged(kind, &mut random, is_told));
            }
            line(kind.0, &score);
            all.add(&score);
        }
        line("all", &all);
        all
    })
}

fn line(name: &str, s: &Score) {
    println!(
        "{name:26} {:5} {:8} {:6} {:9.2} % {:5.2} % {:11} {:9.3} %",
        s.cases, s.planted, s.found, 100.0 * s.precision(), 100.0 * s.recall(), s.cases_false,
        100.0 * s.bins_false as f64 / s.bins as f64,
    );
}

#[test]
#[ignore = "for development"]
fn development() {
    let seed = std::env::var("SEED").map_or(1, |s| s.parse().unwrap());
    let rounds = std::env::var("ROUNDS").map_or(10, |s| s.parse().unwrap());
    let start = Instant::now();
    table(seed, rounds, true);
    println!("{:?}", start.elapsed());
}

#[test]
#[ignore = "for development"]
fn from_file() {
    let text = std::fs::read_to_string(std::env::var("FILE").unwrap()).unwrap();
    let arrivals: Vec<u64> = text.lines().map(|l| l.parse().unwrap()).collect();
    let mut trace = Trace { arrivals, ..Trace::default() };
    let (bins, bin_ns) = trace.bins(65_536);
    let series = Series { bins: &bins, first: bins[0].0, last: bins[bins.len() - 1].0, bin_ns };
    let d = detect(&series);
    println!("{} bins of {} ms", bins.len(), bin_ns as f64 / 1e6);
    println!("{:?}", Detection { storms: Vec::new(), ..d.clone() });
    let requests = |s: &Range<u64>| bins.iter().filter(|b| s.contains(&b.0)).map(|b| b.1).sum::<u64>();
    println!("{} storms, of {} requests of {}", d.storms.len(), d.storms.iter().map(requests).sum::<u64>(), trace.arrivals.len());
    let starts: Vec<i64> = d.storms.iter().map(|s| (s.start * bin_ns) as i64).collect();
    println!("{:?}", period(&starts));
    let _ = Calmness::Few;
}
