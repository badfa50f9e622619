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

fn lints() -> Sample {
    files(
        "lints-are-on",
        &[
            ("crates/host/Cargo.toml", "[package]\n"),
            ("crates/report/Cargo.toml", "[lints]\nworkspace = true\n"),
            ("Cargo.toml", "[workspace]\n"),
        ],
        &["crates/host/Cargo.toml:1"],
    )
}

fn circles() -> Sample {
    let a = "//! crate::b\nuse crate::c::D;\nuse crate::b::{C};\nlet s = \"crate::z\";\n";
    files(
        "no-circles",
        &[
            ("crates/trace/src/a/x.rs", a),
            ("crates/trace/src/a/tests.rs", "use crate::d;\n"),
            ("crates/trace/src/b.rs", "use crate::b::x;\npub(crate) fn f() -> crate::e::F {}\n"),
            ("crates/trace/src/c.rs", "use crate::d::E;\n"),
            ("crates/trace/src/d.rs", "use super::a;\n"),
            ("crates/trace/src/e.rs", "use crate::a::{X};\n"),
            ("crates/trace/src/lib.rs", "use crate::a::X;\n"),
            ("crates/report/src/b.rs", "use crate::a::X;\n"),
        ],
        &["crates/trace/src/a/x.rs:3"],
    )
}

fn wide_lines() -> Sample {
    let [wide, table, word] = [("ab ", 34), ("|ab", 34), ("abc", 34)].map(|(w, n)| w.repeat(n));
    let mark = concat!("// Wi", "de: as it is told");
    let code = format!(
        "{mark}\n{wide}\n#[cfg(test)]\nmod tests {{\n {mark}\n{wide}\n{wide};\n{wide}\n}}\n"
    );
    let page = format!("{wide}\n{table}\n```\n{wide}\n```\n- <{word}>\nabc\n{wide}\n");
    let mut sample = files("narrow-lines", &[], &[]);
    sample.files = vec![("crates/host/src/a.rs", code), ("a.md", page), ("docs/cli.md", wide)];
    sample.faults = vec!["crates/host/src/a.rs:2", "crates/host/src/a.rs:8", "a.md:1", "a.md:8"];
    sample
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

fn tests_named() -> Sample {
    let page =
        "`b::all_is_well_as_ever` `b::f` `b::all_is_ill_as_ever`\n`c::all_is_well_as_ever`\n";
    files(
        "tests-that-pages-name",
        &[("docs/a.md", page), ("crates/a/src/b.rs", "//! x\nfn all_is_well_as_ever() {}\n")],
        &["docs/a.md:1", "docs/a.md:2"],
    )
}

fn writers() -> Sample {
    let bad = "//! x\nfn f() { std::fs::write(\"a\", \"b\"); }\n\
        fn g() { File::create_new(\"a\"); }\n\
        // std::fs::rename(a, b)\n#[cfg(test)]\nmod tests {\nfn f() { remove_file(\"a\") }\n}\n";
    let test = "//! x\nfn f() { std::fs::write(\"a\", \"b\"); }\n";
    files(
        "one-way-to-write",
        &[
            ("crates/lbolt/src/a.rs", bad),
            ("crates/host/src/scratch.rs", bad),
            ("crates/lbolt/tests/a.rs", test),
            ("xtask/src/a.rs", bad),
        ],
        &["crates/lbolt/src/a.rs:2", "crates/lbolt/src/a.rs:3"],
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

#[test]
fn every_invariant_is_broken_by_its_bad_tree_and_only_there() {
    let samples = [
        directions(),
        bpf(),
        seams(),
        licences(),
        lints(),
        circles(),
        wide_lines(),
        introductions(),
        loose_ends(),
        tests_named(),
        writers(),
        long_files(),
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
