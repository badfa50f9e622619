//! A program that says its number before it begins: whoever is told knows of it from its first
//! moment, even if the process that started it is killed in the middle of that.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The program's process writes its number into `told` (four bytes, the machine's order) before it
/// becomes the program. Where nobody reads there any more, it does not begin.
pub fn announced(command: &mut Command, told: OwnedFd) -> &mut Command {
    // SAFETY: between fork and exec only getpid and send are called, on numbers and on the stack:
    // they allocate nothing and take no lock. The descriptor is open: the closure owns it.
    unsafe {
        command.pre_exec(move || {
            let number = std::process::id().to_ne_bytes();
            let flags = libc::MSG_NOSIGNAL;
            let sent = libc::send(told.as_raw_fd(), number.as_ptr().cast(), number.len(), flags);
            match usize::try_from(sent) == Ok(number.len()) {
                true => Ok(()),
                false => Err(std::io::Error::last_os_error()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_program_says_its_number_and_does_not_begin_where_nobody_hears_it() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut command = Command::new("true");
        let mut child = announced(&mut command, theirs.into()).spawn().unwrap();
        let mut number = [0; 4];
        ours.read_exact(&mut number).unwrap();
        assert_eq!(u32::from_ne_bytes(number), child.id());
        assert!(child.wait().unwrap().success());
        drop(ours);
        assert!(command.spawn().is_err());
    }
}
