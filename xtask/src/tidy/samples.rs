//! For each invariant a bad tree, which shows that its check can fail, and
//! beside it what looks alike and is allowed.

use super::source::{Package, Source, Tree};
use super::{Fault, INVARIANTS};

/// A tree, and the places at which exactly the invariant is broken.
struct Sample {
    invariant: &'static str,
    files: Vec<(&'static str, String)>,
    packages: Vec<Package>,
    faults: Vec<&'static str>,
}

fn files(
    invariant: &'static str,
    files: &[(&'static str, &str)],
    faults: &[&'static str],
) -> Sample {
    let files = files.iter().map(|(path, text)| (*path, (*text).to_owned())).collect();
    Sample { invariant, files, packages: Vec::new(), faults: faults.to_vec() }
}

fn package(name: &str, dependencies: &[(&str, bool)]) -> Package {
    Package {
        name: name.into(),
        license: Some("MIT OR Apache-2.0".into()),
        dependencies: dependencies.iter().map(|(name, dev)| ((*name).into(), *dev)).collect(),
    }
}

fn directions() -> Sample {
    let manifest = "[package]\n\n[dependencies]\nserde = \"1\"\nhost.workspace = true\n";
    let mut sample = files(
        "crate-directions",
        &[("crates/report/Cargo.toml", manifest)],
        &["crates/model/Cargo.toml:1", "crates/report/Cargo.toml:5", "crates/sim/Cargo.toml:1"],
    );
    sample.packages = vec![
        package("model", &[("report", true), ("serde", false)]),
        package("host", &[("model", false)]),
        package("report", &[("model", false), ("host", false)]),
        package("experiment", &[("sim", true)]),
        package("papers", &[("sim", false), ("report", false)]),
        package("sim", &[("experiment", true)]),
        package("lbolt", &[("host", false), ("report", false)]),
        package("xtask", &[("lbolt", false)]),
    ];
    sample
}

fn bpf() -> Sample {
    let manifest = "[dependencies]\nmodel.workspace = true\naya.workspace = true\n";
    let mut sample = files(
        "bpf-in-trace",
        &[
            ("crates/host/Cargo.toml", manifest),
            ("crates/trace/Cargo.toml", manifest),
            ("crates/host/src/a.bpf.c", ""),
            ("crates/trace/src/a.bpf.c", ""),
        ],
        &["crates/host/Cargo.toml:3", "crates/host/src/a.bpf.c:1", "xtask/Cargo.toml:1"],
    );
    sample.packages = vec![
        package("host", &[("model", false), ("aya", false)]),
        package("trace", &[("aya", false)]),
        package("xtask", &[("aya-obj", true)]),
    ];
    sample
}

fn seams() -> Sample {
    let text = "//! x\npub trait Subject {\n fn a();\n}\npub trait Job: Send {\n fn a();\n // fn \
        x\n \
                fn b<J>() { fn_name(); }\n}\ntrait Engine {}\n";
    // Clock is missing.
    files(
        "small-seams",
        &[("crates/model/src/seam.rs", text)],
        &["crates/model/src/seam.rs:1", "crates/model/src/seam.rs:5"],
    )
}

fn licences() -> Sample {
    let mut sample = files(
        "licences",
        &[("LICENSE-MIT", "x")],
        &["crates/host/Cargo.toml:1", "LICENSE-APACHE:1"],
    );
    sample.packages =
        vec![Package { license: None, ..package("host", &[]) }, package("model", &[])];
    sample
}

fn unsafety() -> Sample {
    let host = "//! unsafe\n// SAFETY: it is\nlet a = unsafe { b() };\n\n\n\n\n\n\n\nunsafe { c() \
        }\n\
                unsafe fn d() {}\n";
    let report = "//! unsafe\n#![allow(unsafe_code)]\n#![deny(unsafe_code)]\nlet s = \"unsafe\";\n\
                  fn f() { unsafe { g() } }\n";
    files(
        "unsafe-at-the-edge",
        &[
            ("crates/host/src/lib.rs", host),
            ("crates/host/Cargo.toml", ""),
            ("crates/report/src/lib.rs", report),
            ("crates/report/Cargo.toml", "[lints]\nworkspace = true\n"),
            ("crates/sim/Cargo.toml", "[package]\n"),
        ],
        &[
            "crates/host/src/lib.rs:11",
            "crates/report/src/lib.rs:2",
            "crates/report/src/lib.rs:5",
            "crates/sim/Cargo.toml:1",
        ],
    )
}

fn purity() -> Sample {
    let sim = "//! std::fs\nuse std::time::{Duration, Instant};\nuse std::time::Duration;\n\
               use std::{collections::BTreeMap,\n  thread};\nuse crate::fs;\n\
               fn f() { std::fs::read(x); std::mem::swap(a, b) }\n\
               #[cfg(test)]\nmod tests {\n use std::fs;\n}\n";
    files(
        "purity",
        &[("crates/sim/src/lib.rs", sim), ("crates/host/src/lib.rs", "use std::fs;\n")],
        &["crates/sim/src/lib.rs:2", "crates/sim/src/lib.rs:4", "crates/sim/src/lib.rs:7"],
    )
}

fn silence() -> Sample {
    let bad = "fn f() {\n println!(\"x\");\n \"println!(\";\n std::process::exit(1);\n \
        pretty_print!(x);\n}\n\
               #[cfg(test)]\nmod tests {\n fn g() { dbg!(1); }\n}\n";
    files(
        "only-lbolt-speaks",
        &[
            ("crates/host/src/a.rs", bad),
            ("crates/host/tests/a.rs", bad),
            ("crates/host/build.rs", bad),
            (
                "crates/lbolt/src/a.rs",
                "fn f() {\n std::process::exit(1);\n writeln!(std::io::stderr(), x);\n}\n",
            ),
            ("crates/lbolt/src/print/output.rs", bad),
            ("xtask/src/a.rs", bad),
        ],
        &["crates/host/src/a.rs:2", "crates/host/src/a.rs:4", "crates/lbolt/src/a.rs:3"],
    )
}

fn introductions() -> Sample {
    files(
        "modules-introduce-themselves",
        &[("crates/host/src/a.rs", "// x\n"), ("crates/host/src/b.rs", "//! x\n"), ("a.toml", "x")],
        &["crates/host/src/a.rs:1"],
    )
}

fn loose_ends() -> Sample {
    let docs = concat!("fine\nsee /ho", "me/ann/x\nAutoTO", "DOs\n// TO", "DO: x\n");
    files(
        "no-private-paths-or-loose-ends",
        &[("docs/a.md", docs), ("Cargo.lock", docs)],
        &["docs/a.md:2", "docs/a.md:4"],
    )
}

fn long_files() -> Sample {
    let mut sample = files("short-files", &[], &["crates/host/src/a.rs:1"]);
    sample.files = vec![
        ("crates/host/src/a.rs", "x\n".repeat(601)),
        ("crates/host/src/b.rs", "x\n".repeat(600)),
        ("docs/a.md", "x\n".repeat(601)),
    ];
    sample
}

fn long_functions() -> Sample {
    let function = |lines: usize| format!("fn f() {{\n{}}}\n", "x;\n".repeat(lines - 2));
    let mut sample = files("short-functions", &[], &["crates/host/src/a.rs:81"]);
    sample.files = vec![("crates/host/src/a.rs", function(80) + &function(81))];
    sample
}

#[test]
fn every_invariant_is_broken_by_its_bad_tree_and_only_there() {
    let samples = [
        directions(),
        bpf(),
        seams(),
        licences(),
        unsafety(),
        purity(),
        silence(),
        introductions(),
        loose_ends(),
        long_files(),
        long_functions(),
    ];
    for invariant in INVARIANTS {
        let sample = samples.iter().find(|sample| sample.invariant == invariant.name);
        let sample = sample.unwrap_or_else(|| panic!("{} has no bad tree", invariant.name));
        let tree = Tree {
            files: sample.files.iter().map(|(p, text)| Source::new(p, text.clone())).collect(),
            packages: sample
                .packages
                .iter()
                .map(|p| Package {
                    name: p.name.clone(),
                    license: p.license.clone(),
                    dependencies: p.dependencies.clone(),
                })
                .collect(),
        };
        let place = |fault: Fault| format!("{}:{}", fault.file, fault.line);
        let mut found: Vec<String> = (invariant.check)(&tree).into_iter().map(place).collect();
        let mut expected = sample.faults.clone();
        found.sort();
        expected.sort_unstable();
        assert!(!expected.is_empty(), "{} has no bad tree", invariant.name);
        assert_eq!(found, expected, "{}", invariant.name);
    }
}
