//! `lbolt explore` as a page asks it: how long the first opening takes and each answer, over
//! selections by rule. Each answer is taken to its last byte, from a connection of its own.

use super::super::turn::Turn;
use crate::served::Served;
use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use sim::random::Random;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

/// Questions of each kind: selections, lists of single requests, and requests with their steps.
const VIEWS: usize = 200;
const LISTS: usize = 40;
const ROWS: usize = 20;

/// The answer to a question, and the milliseconds that it took.
fn ask(served: &Served, what: &str, question: &Value) -> anyhow::Result<(Value, f64)> {
    let encoded: String = question.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect();
    let began = Instant::now();
    let mut stream = TcpStream::connect(&served.host)?;
    let (host, path) = (&served.host, &served.path);
    let head = format!("GET {path}{what}?{encoded} HTTP/1.1\r\nhost: {host}\r\n");
    stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes())?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    let took_ms = began.elapsed().as_secs_f64() * 1e3;
    let (head, body) = said.split_once("\r\n\r\n").context("no answer")?;
    ensure!(head.starts_with("HTTP/1.1 200 "), "{question}: {body}");
    Ok((serde_json::from_str(body)?, took_ms))
}

/// LBOLT TRACE: opens a trace twice, the first time without an index, and asks.
pub(in super::super) fn explore(words: &[&str], turn: &mut Turn) -> anyhow::Result<()> {
    let [lbolt, trace] = words else { bail!("explore LBOLT TRACE") };
    let _ = std::fs::remove_file(Path::new(trace).join(model::run::INDEX_FILE));
    for opening in ["index_s", "open_s"] {
        let began = Instant::now();
        let served = Served::new(Path::new(lbolt), Path::new("."), trace)?;
        turn.add(opening, began.elapsed().as_secs_f64());
        if opening == "open_s" {
            ask_all(&served, turn)?;
        }
    }
    Ok(())
}

fn ask_all(served: &Served, turn: &mut Turn) -> anyhow::Result<()> {
    let (known, _) = ask(served, "trace", &json!({}))?;
    let mut random = Random::new(18);
    let mut views = Vec::new();
    for _ in 0..VIEWS {
        let brush = brush(&known, &mut random);
        views.push(ask(served, "view", &brush)?.1);
    }
    let (mut lists, mut rows) = (Vec::new(), Vec::new());
    for number in 0..LISTS {
        let order = if number % 2 == 0 { "slowest" } else { "first" };
        let brush = brush(&known, &mut random);
        let question = json!({ "brush": brush, "order": order, "most": 50 });
        lists.push(ask(served, "requests", &question)?.1);
    }
    for _ in 0..ROWS {
        let row = random.below(known["requests"].as_u64().unwrap_or(1));
        rows.push(ask(served, "request", &json!({ "row": row }))?.1);
    }
    for (name, mut took) in [("view_ms", views), ("list_ms", lists), ("request_ms", rows)] {
        took.sort_by(f64::total_cmp);
        let at = |share: f64| took[(share * (took.len() - 1) as f64).round() as usize];
        turn.add(&format!("{name}_median"), at(0.5));
        turn.add(&format!("{name}_p95"), at(0.95));
        turn.add(&format!("{name}_max"), at(1.0));
    }
    Ok(())
}

/// A selection: each dimension is restricted in one of three, by as much as may be.
fn brush(known: &Value, random: &mut Random) -> Value {
    let mut brush = serde_json::Map::new();
    let number = |name: &str| known[name].as_i64().unwrap_or(0);
    let (from_ns, until_ns) = (number("from_ns"), number("until_ns"));
    if random.below(3) > 0 {
        // From the whole down to a millionth of it, evenly on a logarithmic scale.
        let width = (until_ns - from_ns) as f64 * 10f64.powf(-6.0 * random.unit());
        let begin = random.unit() * ((until_ns - from_ns) as f64 - width);
        brush.insert("from_ns".into(), json!(from_ns + begin as i64));
        brush.insert("until_ns".into(), json!(from_ns + (begin + width) as i64 + 1));
    }
    for (dimension, of) in [
        ("devices", "devices"),
        ("operations", "operations"),
        ("roles", "roles"),
        ("files", "files"),
    ] {
        let count = known[of].as_array().map_or(0, Vec::len) as u64;
        if random.below(3) == 0 && count > 0 {
            brush.insert(dimension.into(), json!([random.below(count)]));
        }
    }
    if random.below(3) == 0 {
        let from = random.below(60 << 30);
        brush.insert("shown_device".into(), json!(0));
        brush.insert("place_from_bytes".into(), json!(from));
        brush.insert("place_until_bytes".into(), json!(from + 1 + random.below(8 << 30)));
    }
    if random.below(3) == 0 {
        brush.insert("response_from_ns".into(), json!(1e5 * (1.0 + 20.0 * random.unit())));
    }
    Value::Object(brush)
}
