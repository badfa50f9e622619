//! The ways in which a ring can be set up (io_uring_setup(2)), one row each.
//!
//! A polled ring on a device without queues that can be polled: reads are completed with
//! EOPNOTSUPP. Writes that ext4 does not let the kernel poll for are served, by interrupts, while
//! the program spins (Linux 6.18).

use io_uring::IoUring;
use model::engine::EngineKind;
use std::io;

/// How a ring is set up, and what is registered with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) kind: EngineKind,
    /// COOP_TASKRUN: completions are posted when the task is in the kernel anyway.
    is_cooperative: bool,
    /// DEFER_TASKRUN: completions are posted only when the task asks for them.
    is_deferred: bool,
    /// SQPOLL: a kernel thread takes requests, and sleeps after so long without any.
    sqpoll_idle_ms: Option<u32>,
    /// IOPOLL: who waits polls the device.
    pub(super) is_polled: bool,
    /// The file and the buffers are registered.
    pub(super) is_fixed: bool,
    /// The first kernel that takes all of this.
    pub(crate) kernel: &'static str,
}

const PLAIN: Mode = Mode {
    kind: EngineKind::IoUring,
    is_cooperative: false,
    is_deferred: false,
    sqpoll_idle_ms: None,
    is_polled: false,
    is_fixed: false,
    kernel: "5.1",
};

pub(crate) const MODES: [Mode; 5] = [
    Mode { is_cooperative: true, ..PLAIN },
    Mode {
        kind: EngineKind::IoUringFixed,
        is_cooperative: true,
        is_fixed: true,
        kernel: "5.5",
        ..PLAIN
    },
    Mode { kind: EngineKind::IoUringSqpoll, sqpoll_idle_ms: Some(1000), kernel: "5.11", ..PLAIN },
    Mode { kind: EngineKind::IoUringDefer, is_deferred: true, kernel: "6.1", ..PLAIN },
    Mode { kind: EngineKind::IoUringIopoll, is_polled: true, kernel: "5.1", ..PLAIN },
];

impl Mode {
    pub(crate) fn of(kind: EngineKind) -> Option<Self> {
        MODES.into_iter().find(|mode| mode.kind == kind)
    }

    pub(super) fn ring(self, entries: u32) -> io::Result<IoUring> {
        let mut builder = IoUring::builder();
        if self.is_cooperative {
            builder.setup_single_issuer().setup_coop_taskrun().setup_taskrun_flag();
        }
        if self.is_deferred {
            builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
        }
        if let Some(idle_ms) = self.sqpoll_idle_ms {
            builder.setup_sqpoll(idle_ms);
        }
        if self.is_polled {
            builder.setup_iopoll();
        }
        builder.build(entries).or_else(|error| match error.raw_os_error() {
            // Kernels before 6.0 refuse what makes a ring only cheaper.
            Some(libc::EINVAL) if self.is_cooperative => IoUring::new(entries),
            _ => Err(error),
        })
    }

    /// Whether requests are taken by a kernel thread.
    pub(super) fn has_thread(self) -> bool {
        self.sqpoll_idle_ms.is_some()
    }
}
