//! What somebody waits for: calls that make a file durable, reads, direct writes, flushes; and
//! waits that make no request of their own ([`WaitKind`]).
//!
//! Comparable waits are those of the same role, device, kind and size (by powers of four): they
//! are held against each other in calm and in need.
//!
//! Non-goals: how long a wait takes in calm (`super::blame`).

use super::actors::RoleId;
use model::record::{CallKind, Flags, Op, Request, WAIT_FOR_THREAD, WaitKind};

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Read,
    DirectWrite,
    Flush,
    Call(CallKind),
    Wait(WaitKind),
    /// Of another thread, which waits itself: its role.
    Thread(RoleId),
}

impl Kind {
    /// As it is called in tables and findings; `role` is what one is called.
    pub(crate) fn name(self, role: impl Fn(RoleId) -> String) -> String {
        let name = match self {
            Self::Read => "read",
            Self::DirectWrite => "direct write",
            Self::Flush => "flush",
            Self::Call(kind) => kind.name(),
            Self::Wait(kind) => kind.name(),
            Self::Thread(of) => return format!("{WAIT_FOR_THREAD}{}", role(of)),
        };
        name.to_owned()
    }

    /// The same where roles have other numbers.
    pub(crate) fn with_roles(self, number: impl Fn(RoleId) -> RoleId) -> Self {
        match self {
            Self::Thread(of) => Self::Thread(number(of)),
            other => other,
        }
    }

    /// Whether nobody waits so in calm: only waits above a threshold are told of, and all of such a
    /// wait is lost; of one for a thread what that one lost.
    pub(crate) fn is_lost_whole(self) -> bool {
        matches!(self, Self::Wait(_) | Self::Thread(_))
    }

    /// Whether what is in flight meanwhile tells only likely who is to blame: a lock's holder may
    /// wait for another device, or for no device.
    pub(crate) fn is_guessed(self) -> bool {
        matches!(self, Self::Wait(WaitKind::Lock | WaitKind::Other | WaitKind::Reclaim))
    }

    /// Whose thread is waited for.
    pub(crate) fn waker(self) -> Option<RoleId> {
        match self {
            Self::Thread(of) => Some(of),
            _ => None,
        }
    }

    /// Whether somebody holds what is waited for: where it is not known who, and nothing is in
    /// flight that tells it, all is not clear.
    pub(crate) fn is_held(self) -> bool {
        matches!(self, Self::Wait(WaitKind::Lock | WaitKind::Journal | WaitKind::Other))
    }

    /// Of a wait by itself, but for one behind a thread: calls and direct requests are told of as
    /// such, and networks are no device.
    pub(crate) fn of_wait(kind: WaitKind) -> Option<Self> {
        const TOLD: [WaitKind; 3] = [WaitKind::Call, WaitKind::DirectIo, WaitKind::Network];
        (!kind.is_sleep() && !TOLD.contains(&kind)).then_some(Self::Wait(kind))
    }

    /// Whether a wait may be for a request that the thread itself has in flight, which is told of
    /// as that.
    pub(crate) fn may_be_a_request(self) -> bool {
        match self {
            Self::Wait(kind) => matches!(
                kind,
                WaitKind::PageRead | WaitKind::Request | WaitKind::Swap | WaitKind::Other
            ),
            _ => false,
        }
    }

    /// Of a request that its thread waits for, as far as its flags tell; of a journal's or of a
    /// kernel's thread nobody asks. `has_calls`: flushes are parts of calls, which are known.
    pub(crate) fn of_request(row: &Request, has_calls: bool) -> Option<Self> {
        let is_waited_for = row.is_asked() && !row.flags.contains(Flags::OWN);
        match row.op {
            _ if !is_waited_for => None,
            Op::Read => Some(Self::Read),
            Op::Write if row.flags.contains(Flags::DIRECT | Flags::SYNC) => Some(Self::DirectWrite),
            Op::Flush if !has_calls => Some(Self::Flush),
            _ => None,
        }
    }
}

/// All of such a wait is lost.
pub(crate) const OF_BULK: u8 = 1;

/// Waits that are comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Class {
    pub(crate) device: u32,
    pub(crate) role: RoleId,
    pub(crate) kind: Kind,
    /// Of the length: 0 up to 4 KiB, 1 up to 16 KiB, …; of waits for a thread [`OF_BULK`], if it
    /// is its program's bulk writes for which that one waits.
    pub(crate) size: u8,
}

impl Class {
    /// The same where roles have other numbers.
    pub(crate) fn with_roles(self, number: &dyn Fn(RoleId) -> RoleId) -> Self {
        Self { role: number(self.role), kind: self.kind.with_roles(number), ..self }
    }

    /// A number for tables by class: others have others, nearly always.
    #[inline]
    pub(crate) fn mixed(&self) -> u64 {
        let kind = match self.kind {
            Kind::Read => 0,
            Kind::DirectWrite => 1,
            Kind::Flush => 2,
            Kind::Call(kind) => 0x100 | kind as u64,
            Kind::Wait(kind) => 0x200 | kind as u64,
            Kind::Thread(role) => 0x1_0000 | u64::from(role.0),
        };
        let role = u64::from(self.role.0) << 24 | u64::from(self.size) << 40;
        // Knuth, The Art of Computer Programming, section 6.4: multiplicative hashing.
        let mixed = (u64::from(self.device) << 8 ^ role ^ kind).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    }
}

/// The size class of a request's length.
pub(crate) fn size_of(length_bytes: u32) -> u8 {
    let blocks = length_bytes.div_ceil(4096).max(1);
    (u32::BITS - (blocks - 1).leading_zeros()).div_ceil(2) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_classed_by_powers_of_four() {
        let sizes = [0, 512, 4096, 4097, 16 << 10, (16 << 10) + 1, 64 << 10, 1 << 20];
        assert_eq!(sizes.map(size_of), [0, 0, 0, 1, 1, 2, 2, 4]);
    }

    #[test]
    fn what_nobody_waits_for_is_no_wait() {
        let row = |op, flags| Request { op, flags, ..Request::default() };
        let kind = |row: &Request| Kind::of_request(row, true);
        assert_eq!(kind(&row(Op::Read, Flags::READAHEAD)), Some(Kind::Read));
        let direct = row(Op::Write, Flags::DIRECT | Flags::SYNC);
        assert_eq!(kind(&direct), Some(Kind::DirectWrite));
        assert_eq!(kind(&row(Op::Write, Flags::BACKGROUND)), None);
        assert_eq!(kind(&row(Op::Read, Flags::OWN)), None);
        assert_eq!(kind(&Request { parent_id: Some(1), ..direct }), None);
        assert_eq!(
            kind(&Request { above_id: Some(1), ..direct }),
            None,
            "the one above is waited for"
        );
        let flush = row(Op::Flush, Flags::SYNC);
        assert_eq!((kind(&flush), Kind::of_request(&flush, false)), (None, Some(Kind::Flush)));
    }
}
