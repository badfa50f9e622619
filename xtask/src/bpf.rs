//! The committed BPF objects of crate `trace`: compiled from their C sources, which a build of
//! the workspace does not do, so that it needs no clang.
//!
//! The same clang makes the same bytes anywhere: paths in the object are relative, and only
//! the types (BTF) are kept of what is for debuggers. clang.txt says which clang it was.

use crate::command::output;
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where sources and objects lie side by side, and what paths in an object are relative to.
const HOME: &str = "crates/trace";
/// The first line of `clang --version` of the clang that made the committed objects.
const COMPILER: &str = "crates/trace/src/bpf/clang.txt";

/// Sources that are built twice (bpf/kernel.h); the second build has this word in its name, and is
/// told so.
const BUILT_TWICE: [&str; 1] = ["block.bpf.c"];
const SECOND: (&str, &str) = ("_plain.bpf.o", "-DPLAIN");

/// An object, of which source, and how that is told which build it is.
struct Object {
    source: PathBuf,
    path: PathBuf,
    options: &'static [&'static str],
}

/// All objects.
fn objects(root: &Path) -> anyhow::Result<Vec<Object>> {
    let mut found = Vec::new();
    for source in sources(&root.join(HOME).join("src"))? {
        let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let first = source.with_extension("o");
        found.push(Object { source: source.clone(), path: first, options: &[] });
        if BUILT_TWICE.contains(&name.as_str()) {
            let path = source.with_file_name(name.replace(".bpf.c", SECOND.0));
            found.push(Object { source, path, options: &[SECOND.1] });
        }
    }
    Ok(found)
}

/// Rebuilds every object.
pub(crate) fn build(root: &Path) -> anyhow::Result<()> {
    for object in objects(root)? {
        // A clang that fails takes away what it has begun to write.
        let new = object.path.with_extension("new");
        compile(root, &object, &new)?;
        std::fs::rename(&new, &object.path)?;
        println!("wrote {}", object.path.strip_prefix(root)?.display());
    }
    std::fs::write(root.join(COMPILER), clang_version()? + "\n")?;
    println!("wrote {COMPILER}");
    Ok(())
}

/// All `*.bpf.c` at or under a directory.
fn sources(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.to_string_lossy().ends_with(".bpf.c") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn compile(root: &Path, object: &Object, into: &Path) -> anyhow::Result<()> {
    let home = std::fs::canonicalize(root.join(HOME))?;
    let source = std::fs::canonicalize(&object.source)?;
    let mut clang = Command::new("clang");
    clang
        .args(["-target", "bpfel", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror"])
        .args(object.options)
        .arg(format!("-ffile-prefix-map={}=.", home.display()))
        .arg("-c")
        .arg(source.strip_prefix(&home)?)
        .arg("-o")
        .arg(into)
        .current_dir(&home);
    output(&mut clang).context("it comes with clang and llvm")?;
    // Of the same version: what it leaves is a part of the bytes.
    let strip = output(Command::new("clang").arg("-print-prog-name=llvm-strip"))?;
    output(Command::new(strip.trim()).arg("-g").arg(into))?;
    Ok(())
}

fn clang_version() -> anyhow::Result<String> {
    let said = output(Command::new("clang").arg("--version"))?;
    Ok(said.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objects_are_made_from_their_sources() {
        let root = crate::root();
        let objects = objects(&root).unwrap();
        assert!(objects.len() > BUILT_TWICE.len());
        let recorded = std::fs::read_to_string(root.join(COMPILER)).unwrap();
        let recorded = recorded.trim();
        match clang_version() {
            Ok(version) if version == recorded => {}
            Ok(version) => return println!("skipped: made by {recorded}, and here is {version}"),
            Err(e) => return println!("skipped: made by {recorded}; here {e:#}"),
        }
        for object in objects {
            let rebuilt = std::env::temp_dir().join(format!("lbolt-{}.bpf.o", std::process::id()));
            compile(&root, &object, &rebuilt).unwrap();
            let bytes = std::fs::read(&rebuilt).unwrap();
            std::fs::remove_file(&rebuilt).unwrap();
            let kept = std::fs::read(&object.path).unwrap_or_default();
            let path = object.path.display();
            assert!(kept == bytes, "{path} has changed: run cargo xtask bpf");
        }
    }

    /// A path of the machine that compiled it would make it another object elsewhere.
    #[test]
    fn no_object_names_its_makers_directory() {
        let root = crate::root();
        let home = std::fs::canonicalize(&root).unwrap();
        for object in objects(&root).unwrap() {
            let bytes = std::fs::read(&object.path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            let absolute = |line: &str| line.starts_with('/') && line.contains(".bpf.c");
            assert!(!text.split('\0').any(absolute), "{}", object.path.display());
            assert!(!text.contains(home.to_str().unwrap()), "{}", object.path.display());
        }
    }
}
