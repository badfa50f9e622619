//! For each lint that keeps an invariant a bad sample, which clippy must refuse with the settings
//! of Cargo.toml and of a crate's clippy.toml, and beside it what is allowed.

use std::path::Path;
use std::process::Command;

/// A crate's settings, the lint, and code that breaks it.
const BAD: &[(&str, &str, &str)] = &[
    ("", "unsafe_code", "pub fn f(x: *const u8) -> u8 { unsafe { *x } }"),
    ("", "undocumented_unsafe_blocks", "pub fn f(x: *const u8) -> u8 { unsafe { *x } }"),
    ("", "missing_docs", "pub fn f() {}"),
    ("", "unwrap_used", "pub fn f(x: Option<u8>) -> u8 { x.unwrap() }"),
    ("", "expect_used", "pub fn f(x: Option<u8>) -> u8 { x.expect(\"y\") }"),
    ("", "print_stdout", "pub fn f() { println!(); }"),
    ("", "print_stderr", "pub fn f() { eprintln!(); }"),
    ("", "dbg_macro", "pub fn f() { dbg!(1); }"),
    ("", "exit", "pub fn f() { std::process::exit(1) }"),
    ("", "disallowed_methods", "pub fn f() { std::process::abort() }"),
    ("", "disallowed_methods", "pub fn f() -> std::io::Stdout { std::io::stdout() }"),
    ("", "disallowed_methods", "pub fn f() -> std::io::Stderr { std::io::stderr() }"),
    ("", "todo", concat!("pub fn f() { to", "do!() }")),
    ("", "unimplemented", "pub fn f() { unimplemented!() }"),
    ("crates/sim", "disallowed_types", "pub fn f(_: std::time::Instant) {}"),
    ("crates/sim", "disallowed_types", "pub fn f(_: std::time::SystemTime) {}"),
    ("crates/sim", "disallowed_types", "pub fn f(_: std::fs::File) {}"),
    ("crates/sim", "disallowed_types", "pub fn f(_: std::net::TcpStream) {}"),
    ("crates/sim", "disallowed_types", "pub fn f(_: std::process::Command) {}"),
    ("crates/sim", "disallowed_methods", "pub fn f() { std::thread::yield_now() }"),
    ("crates/sim", "disallowed_methods", "pub fn f() { let _ = std::fs::read(\"x\"); }"),
    ("crates/sim", "unwrap_used", "pub fn f(x: Option<u8>) -> u8 { x.unwrap() }"),
    ("crates/papers", "disallowed_methods", "pub fn f() { let _ = std::fs::read(\"x\"); }"),
    ("crates/experiment", "disallowed_methods", "pub fn f() { let _ = std::fs::read(\"x\"); }"),
];

/// What clippy says of code under a crate's settings.
fn said(settings: &str, code: &str) -> String {
    let root = crate::root();
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.rs"), code).unwrap();
    let mut clippy = Command::new(clippy());
    clippy.args(["--crate-type", "lib", "--edition", "2024", "--emit", "metadata", "a.rs"]);
    for (tool, prefix) in [("rust", ""), ("clippy", "clippy::")] {
        for lint in manifest["workspace"]["lints"][tool].as_table().unwrap().keys() {
            clippy.args(["-W", &format!("{prefix}{lint}")]);
        }
    }
    clippy.env("CLIPPY_CONF_DIR", root.join(settings)).current_dir(directory.path());
    String::from_utf8(clippy.output().unwrap().stderr).unwrap()
}

/// clippy as it is installed beside the compiler.
fn clippy() -> std::path::PathBuf {
    let rustc = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    Path::new(String::from_utf8(rustc.stdout).unwrap().trim()).join("bin/clippy-driver")
}

#[test]
fn every_lint_refuses_its_bad_sample() {
    for (settings, lint, code) in BAD {
        let said = said(settings, code);
        assert!(said.contains(&lint.replace('_', "-")) || said.contains(lint), "{code}: {said}");
    }
}

#[test]
fn functions_have_a_greatest_length() {
    let function = |lines: usize| {
        let body = "    core::hint::black_box(x);\n".repeat(lines - 2);
        format!("//! x\n/// x\npub fn f(x: u8) {{\n{body}}}\n")
    };
    assert_eq!(said("", &function(80)), "");
    assert!(said("", &function(81)).contains("too_many_lines"));
}

#[test]
fn what_is_like_them_is_allowed() {
    let alike = "//! x\n#[cfg(any())]\nmod tests { fn f() { dbg!(1); } }\n/// x\n\
        pub fn f(x: &mut dyn std::fmt::Write) { let _ = writeln!(x, \"println!()\"); }\n";
    for settings in ["", "crates/sim", "crates/papers", "crates/experiment"] {
        assert_eq!(said(settings, alike), "");
    }
}
