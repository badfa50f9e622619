//! Our process as the kernel numbers it: in a PID namespace it knows only its number within.
//!
//! For objects that include `self.h`.

use super::{Hook, LoadError, Loaded};
use aya::maps::Array;

/// Runs only while its object is being loaded.
const FIND_SELF: Hook = Hook::at_a_switch("find_self");

/// The inode of the first PID namespace, which is the same on every machine: PROC_PID_INIT_INO of
/// include/linux/proc_ns.h.
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// `struct self` of self.h: the namespace's device and inode, our number within, and without.
type OwnNumbers = [u64; 4];
const TGID: usize = 3;

/// Our process's number in the first PID namespace.
/// Errors: a process that the program does not see.
pub(crate) fn find_self(loaded: &mut Loaded) -> Result<u32, LoadError> {
    let unknown = |e: rustix::io::Errno| LoadError::WhoAmI(std::io::Error::from(e).to_string());
    let namespace = rustix::fs::stat("/proc/self/ns/pid").map_err(unknown)?;
    if namespace.st_ino == FIRST_NAMESPACE {
        return Ok(std::process::id());
    }
    let device = kernel_device(namespace.st_dev);
    let within = u64::from(std::process::id());
    numbers(loaded)?
        .set(0, [device, namespace.st_ino, within, 0], 0)
        .map_err(|e| LoadError::new("self", &e))?;
    let found = |loaded: &Loaded| -> Result<u32, LoadError> {
        let map = loaded.ebpf.map("self").ok_or(LoadError::NoProgram("self"))?;
        let map = Array::<_, OwnNumbers>::try_from(map).map_err(|e| LoadError::new("self", &e))?;
        let numbers = map.get(&0, 0).map_err(|e| LoadError::new("self", &e))?;
        Ok(u32::try_from(numbers[TGID]).unwrap_or(0))
    };
    loaded.run_at_switches(&FIND_SELF, |loaded| Ok(found(loaded)? != 0))?;
    match found(loaded)? {
        0 => Err(LoadError::WhoAmI("it was not seen there within a second".into())),
        tgid => Ok(tgid),
    }
}

fn numbers(loaded: &mut Loaded) -> Result<Array<&mut aya::maps::MapData, OwnNumbers>, LoadError> {
    let map = loaded.ebpf.map_mut("self").ok_or(LoadError::NoProgram("self"))?;
    Array::try_from(map).map_err(|e| LoadError::new("self", &e))
}

/// A device's number as the kernel keeps it, of which programs are shown another order of bits.
fn kernel_device(device: u64) -> u64 {
    u64::from(rustix::fs::major(device)) << 20 | u64::from(rustix::fs::minor(device))
}
