//! The static programs: cargo with zig as the C compiler and linker, for each processor on any
//! machine. No path of this machine is in them.

use super::names::Target;
use crate::command::{is_there, output, watch};
use anyhow::ensure;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Cargo.toml says what it is.
const PROFILE: &str = "packed";

/// Builds all, and says where each one is.
/// Errors: no cargo-zigbuild; Rust's library for a target that cannot be had; what rustc says.
pub(super) fn build(root: &Path, built: &Path, targets: &[Target]) -> anyhow::Result<Vec<PathBuf>> {
    ensure!(is_there("cargo-zigbuild"), "needs cargo-zigbuild and zig, which `make dist` installs");
    let triples: Vec<String> = targets.iter().map(Target::triple).collect();
    if is_there("rustup") {
        output(Command::new("rustup").args(["target", "add"]).args(&triples))?;
    }
    let mut cargo = Command::new("cargo-zigbuild");
    cargo.args(["zigbuild", "--locked", "--package", "lbolt", "--profile", PROFILE]);
    cargo.args(triples.iter().flat_map(|triple| ["--target", triple]));
    cargo.current_dir(root).env("RUSTFLAGS", without_paths(root)?).env("CARGO_TARGET_DIR", built);
    // Lints are of another build.
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER");
    watch(&mut cargo)?;
    Ok(triples.iter().map(|triple| built.join(triple).join(PROFILE).join("lbolt")).collect())
}

/// Flags by which sources are named as from the workspace, from cargo's home and from Rust's.
fn without_paths(root: &Path) -> anyhow::Result<String> {
    let rust = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root))?;
    let of_user = || std::env::home_dir().map(|home| home.join(".cargo"));
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(of_user);
    let root = root.canonicalize()?;
    let places = [cargo, Some(PathBuf::from(rust.trim())), Some(root)];
    let names = ["cargo", "rust", "."];
    let pairs = places.iter().zip(names).filter_map(|(place, name)| Some((place.as_ref()?, name)));
    let flags =
        pairs.map(|(place, name)| format!("--remap-path-prefix={}={name}", place.display()));
    Ok(flags.collect::<Vec<_>>().join(" "))
}
