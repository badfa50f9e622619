//! A program that says its number before it begins: whoever is told knows of it from its first
//! moment, even if the process that started it is killed in the middle of that.

use crate::keyring::without_session_keys;
use rustix::io::retry_on_intr;
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The program's process writes its number into `told` (four bytes, the machine's order) before it
/// becomes the program. Where nobody reads there any more, it does not begin. The program has no
/// key of the user's session.
pub fn announced(command: &mut Command, told: OwnedFd) -> &mut Command {
    without_session_keys(command);
    // SAFETY: between fork and exec only getpid and send are called, on numbers and on the stack:
    // they allocate nothing and take no lock. The descriptor is open: the closure owns it.
    unsafe {
        command.pre_exec(move || {
            let number = std::process::id().to_ne_bytes();
            let flags = libc::MSG_NOSIGNAL;
            let sent = libc::send(told.as_raw_fd(), number.as_ptr().cast(), number.len(), flags);
            match usize::try_from(sent) == Ok(number.len()) {
                true => Ok(()),
                false => Err(io::Error::last_os_error()),
            }
        })
    }
}

/// Has the kernel say who writes to a socket ([`heard`]): at the reader's end, and, for what is
/// written before the reader has asked for it, at the writer's.
/// Errors: whatever the kernel refuses it with.
pub fn names_its_writers(socket: &UnixStream) -> io::Result<()> {
    Ok(set_socket_passcred(socket, true)?)
}

/// The next number that was written; and the writer's own, by the kernel, also if the writer has
/// ended since. None where nobody is left to write.
/// Errors: a writer that says less than a number, or that the kernel does not name.
pub fn heard(socket: &UnixStream) -> io::Result<Option<(u32, u32)>> {
    let mut number = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut number)];
    let got = retry_on_intr(|| recvmsg(socket, &mut parts, &mut beside, RecvFlags::CMSG_CLOEXEC))?;
    if got.bytes == 0 {
        return Ok(None);
    }
    let writer = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(who) => u32::try_from(who.pid.as_raw_pid()).ok(),
        _ => None,
    });
    match (got.bytes == number.len(), writer) {
        (true, Some(writer)) => Ok(Some((u32::from_ne_bytes(number), writer))),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    #[test]
    fn a_writer_is_named_by_the_kernel_and_not_by_what_it_says() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        names_its_writers(&ours).and_then(|()| names_its_writers(&theirs)).unwrap();
        let mut command = Command::new("true");
        let told = theirs.try_clone().unwrap();
        let mut child = announced(&mut command, told.into()).spawn().unwrap();
        child.wait().unwrap();
        theirs.write_all(&child.id().to_ne_bytes()).unwrap();
        theirs.write_all(&[1]).unwrap();
        assert_eq!(heard(&ours).unwrap(), Some((child.id(), child.id())));
        assert_eq!(heard(&ours).unwrap(), Some((child.id(), std::process::id())));
        assert!(heard(&ours).is_err(), "less than a number");
        drop((theirs, command));
        assert_eq!(heard(&ours).unwrap(), None);
    }

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
        // A child of another test has it, too, until it becomes its program.
        let mut is_refused = |_: &u32| match command.spawn() {
            Ok(mut child) => {
                child.wait().unwrap();
                std::thread::sleep(std::time::Duration::from_millis(10));
                false
            }
            Err(_) => true,
        };
        assert!((0..6000).any(|time| is_refused(&time)));
    }
}
