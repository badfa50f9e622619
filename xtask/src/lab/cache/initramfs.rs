//! The initramfs of a kernel: the modules by which a guest reaches its shared folders and its root
//! image, and, where there is no image, programs of this machine with their libraries.

use crate::command::output;
use anyhow::Context as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const INIT: &str = include_str!("../guest/init.sh");

/// Modules that are loaded before anything else, with all that they need.
const MODULES: [&str; 5] = ["virtio_pci", "virtio_blk", "ext4", "9pnet_virtio", "9p"];

/// Where programs are.
const PATH: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Makes it anew.
/// Errors: a program or a module is missing; a refusal of the file system.
pub(super) fn make(
    to: &Path,
    kernel: &Path,
    version: &str,
    programs: &[String],
) -> anyhow::Result<()> {
    let root = tempfile::tempdir()?;
    let root = root.path();
    for folder in ["bin", "boot"] {
        std::fs::create_dir(root.join(folder))?;
    }
    std::fs::write(root.join("init"), INIT)?;
    std::fs::set_permissions(root.join("init"), Permissions::from_mode(0o755))?;
    let names: Vec<_> = programs.iter().map(String::as_str).chain(["busybox"]).collect();
    for name in names {
        program(root, name)?;
    }
    modules(root, kernel, version)?;
    let packed = "find . | busybox cpio -o -H newc >\"$0\"";
    output(Command::new("sh").args(["-c", packed]).arg(to).current_dir(root))?;
    Ok(())
}

/// A program of this machine, in /bin, and its libraries where they are here.
fn program(root: &Path, name: &str) -> anyhow::Result<()> {
    let mut places = PATH.iter().map(|place| Path::new(place).join(name));
    let found = places.find(|path| path.is_file());
    let found = found.with_context(|| format!("{name} is not installed"))?;
    std::fs::copy(&found, root.join("bin").join(name))?;
    // A static program is none of ldd's.
    let listed = output(Command::new("ldd").arg(&found)).unwrap_or_default();
    for library in libraries(&listed) {
        let to = root.join(library.strip_prefix("/")?);
        if !to.exists() {
            std::fs::create_dir_all(to.parent().context("a library in no folder")?)?;
            std::fs::copy(&library, &to)?;
        }
    }
    Ok(())
}

/// The files in what ldd prints.
fn libraries(listed: &str) -> Vec<PathBuf> {
    let words = listed.lines().filter_map(|line| {
        let line = line.split_once("=>").map_or(line, |(_, behind)| behind);
        line.split_whitespace().next()
    });
    words.filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

/// The modules, and their order. What is built into the kernel is passed over by modprobe.
fn modules(root: &Path, kernel: &Path, version: &str) -> anyhow::Result<()> {
    let mut order: Vec<String> = vec![];
    for module in MODULES {
        let mut command = Command::new("modprobe");
        command.arg("-d").arg(kernel).args(["-S", version, "--show-depends", module]);
        let listed = output(&mut command)?;
        let paths = listed.lines().filter_map(|line| line.trim().strip_prefix("insmod "));
        for path in paths.map(|path| Path::new(path.trim())) {
            let name = path.file_name().context("a module without a name")?.to_string_lossy();
            if !order.contains(&name.clone().into_owned()) {
                std::fs::copy(path, root.join("boot").join(&*name))?;
                order.push(name.into_owned());
            }
        }
    }
    std::fs::write(root.join("boot/order"), order.join("\n") + "\n")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_what_ldd_names_by_path() {
        let listed = "\tlinux-vdso.so.1 (0x7ffc)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x7f)\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x7f)\n\tlibm.so.6 => not found\n";
        let expected = ["/lib/x/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(libraries(listed), expected);
        assert!(libraries("\tnot a dynamic executable\n").is_empty());
    }
}
