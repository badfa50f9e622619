//! System calls that this thread, and what it starts, never makes from here on: they are refused
//! (EPERM), by a filter in the kernel that cannot be taken back.
//!
//! Named are those that would let a part of lbolt that was taken over do more than read and write:
//! a list of all that may be called would break with each C library.
//!
//! Sources: Linux Documentation/userspace-api/seccomp_filter.rst, include/uapi/linux/audit.h.
//!
//! Non-goals: arguments; files (`landlock`).

use rustix::io;

/// Ways into other processes, other namespaces, the kernel's code, its clock and its names, to
/// other users, and to the network: no part needs them that captures or cleans.
pub(crate) const TO_OTHERS: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_setuid,
    libc::SYS_setreuid,
    libc::SYS_setresuid,
    libc::SYS_setfsuid,
    libc::SYS_setgid,
    libc::SYS_setregid,
    libc::SYS_setresgid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_userfaultfd,
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    // Through a ring the kernel does all of the above, and no filter sees it.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];
/// What only a capture needs.
pub(crate) const OF_CAPTURE: &[libc::c_long] =
    &[libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_execve, libc::SYS_execveat];

/// How the kernel calls this machine's calls (AUDIT_ARCH_*).
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;
/// On x86 another numbering of the same machine begins here (x32).
const OTHER_NUMBERS: u32 = 0x4000_0000;

/// Places in `struct seccomp_data`.
const NUMBER: u32 = 0;
const OF_ARCHITECTURE: u32 = 4;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

/// From now on these calls are refused. The thread must have no way to more privileges by then
/// (`no_new_privs`).
/// Errors: a kernel without filters, or an architecture whose numbers are not known here.
pub(crate) fn refuse(calls: &[&[libc::c_long]]) -> io::Result<()> {
    let architecture = ARCHITECTURE.ok_or(io::Errno::NOSYS)?;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let refused = step(RETURN, REFUSE, 0, 0);
    // Each refusal follows its condition: no jump is far.
    let mut filter = vec![
        step(LOAD, OF_ARCHITECTURE, 0, 0),
        step(EQUAL, architecture, 1, 0),
        refused,
        step(LOAD, NUMBER, 0, 0),
        step(AT_LEAST, OTHER_NUMBERS, 0, 1),
        refused,
    ];
    for call in calls.iter().copied().flatten() {
        let number = u32::try_from(*call).map_err(|_| io::Errno::INVAL)?;
        filter.extend([step(EQUAL, number, 0, 1), refused]);
    }
    filter.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    let len = u16::try_from(filter.len()).map_err(|_| io::Errno::INVAL)?;
    let program = libc::sock_fprog { len, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel copies the program, whose steps outlive the call.
    let set =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    if set == 0 { Ok(()) } else { Err(crate::engine::last_errno()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::process::Command;

    #[test]
    fn what_is_refused_is_refused_and_all_else_goes_on() {
        let in_a_thread = |calls: &'static [&'static [libc::c_long]]| {
            let work = move || {
                rustix::thread::set_no_new_privs(true).unwrap();
                if let Err(errno) = refuse(calls) {
                    return println!("skipped: no seccomp filter here: {errno}");
                }
                let refused = TcpListener::bind("127.0.0.1:0").unwrap_err();
                assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
                // SAFETY: the kernel refuses the call, or a ring at no address.
                let ring =
                    unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, std::ptr::null::<u8>()) };
                assert_eq!((ring, crate::engine::last_errno()), (-1, rustix::io::Errno::PERM));
                std::fs::read_to_string("/proc/self/status").unwrap();
                std::thread::spawn(|| TcpListener::bind("127.0.0.1:0").unwrap_err())
                    .join()
                    .unwrap();
                let runs = Command::new("true").status().is_ok_and(|status| status.success());
                assert_eq!(runs, calls.len() == 1, "programs");
            };
            std::thread::spawn(work).join().unwrap();
        };
        in_a_thread(&[TO_OTHERS]);
        in_a_thread(&[TO_OTHERS, OF_CAPTURE]);
        TcpListener::bind("127.0.0.1:0").unwrap();
    }
}
