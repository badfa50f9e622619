//! Replays a validation trace closed on a model: how near it comes, and how many requests a second.
//!
//! `cargo run --release -p sim --example replay_speed -- MODEL TRACE [REPEATS [KEY=VALUE …]]`; a trace's lines are
//! `R|W word block blocks access_us think_us`.

use model::record::{Op, Request};
use sim::drive::Drive;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(model), Some(trace)) = (arguments.next(), arguments.next()) else {
        return Err("usage: replay_speed MODEL TRACE [REPEATS]".into());
    };
    let repeats: u32 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let rows = parse(&std::fs::read_to_string(trace)?);
    let mut profile = sim::profile::load(&model)?;
    for (key, value) in arguments.filter_map(|set| {
        Some((set.split_once('=')?.0.to_owned(), set.split_once('=')?.1.to_owned()))
    }) {
        profile.set(&key, &value)?;
    }
    let fresh = Drive::read(&profile.reader().below("drive"))?;
    let mut simulated = Vec::new();
    let began = Instant::now();
    for _ in 0..repeats {
        let mut drive = fresh.clone();
        simulated =
            sim::replay::closed(&mut drive, rows.iter().copied()).collect::<Result<_, _>>()?;
    }
    let took = began.elapsed().as_secs_f64();
    let ms = |row: &Request| {
        row.completed_ns.zip(row.queued_ns).map(|(end, begin)| (end - begin) as f64 / 1e6)
    };
    let dump = std::env::var_os("DUMP").is_some();
    if dump {
        for (row, real) in simulated.iter().zip(&rows) {
            let block = row.offset_bytes.unwrap_or_default() / 512;
            println!(
                "{:?} {block} {} {:.3} {:.3}",
                row.op,
                row.length_bytes / 512,
                ms(real).unwrap_or(0.0),
                ms(row).unwrap_or(0.0)
            );
        }
    }
    let demerit = sim::replay::demerit(simulated.iter().filter_map(ms), rows.iter().filter_map(ms));
    let demerit = demerit.ok_or("the trace is empty")?;
    eprintln!(
        "{model}: demerit {:.3} ms, {:.1} % of the real mean {:.3} ms; model's mean {:.3} ms; {:.2} million requests/s",
        demerit.distance,
        100.0 * demerit.share,
        demerit.real_mean,
        demerit.mean,
        f64::from(repeats) * rows.len() as f64 / took / 1e6,
    );
    Ok(())
}

fn parse(text: &str) -> Vec<Request> {
    let mut now_ns = 0.0;
    let mut rows = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [op, _, block, blocks, access_us, think_us] = words.as_slice() else { continue };
        let number = |word: &str| word.parse::<f64>().unwrap_or(0.0);
        let end_ns = now_ns + number(access_us) * 1e3;
        rows.push(Request {
            request_id: rows.len() as u64,
            op: if *op == "R" { Op::Read } else { Op::Write },
            offset_bytes: Some(number(block) as u64 * 512),
            length_bytes: number(blocks) as u32 * 512,
            queued_ns: Some(now_ns as i64),
            completed_ns: Some(end_ns as i64),
            ..Request::default()
        });
        now_ns = end_ns + number(think_us) * 1e3;
    }
    rows
}
