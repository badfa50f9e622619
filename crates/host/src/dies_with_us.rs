//! A child that ends when its parent does, however that comes (PR_SET_PDEATHSIG).

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The program gets SIGTERM when the thread that starts it ends; what it started itself does not.
pub fn dies_with_us(command: &mut Command) -> &mut Command {
    let parent = std::process::id();
    // SAFETY: between fork and exec only system calls with plain numbers are made, which allocate
    // nothing and take no lock.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            // The parent may have ended before the signal was requested.
            if libc::getppid().unsigned_abs() != parent {
                return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let started =
            std::thread::spawn(|| dies_with_us(Command::new("sleep").arg("60")).spawn().unwrap());
        let status = started.join().unwrap().wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGTERM));
    }
}
