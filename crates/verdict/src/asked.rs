//! What a thread has in flight, which it may wait for later.
//!
//! Non-goals: what it waits for (`super::begins`).

use super::Ledger;
use super::actors::RoleId;
use super::evicted::is_again;
use super::waits::{Class, Kind};
use model::record::{Flags, Request, Wait};

/// Until when a thread has requests that it waits for, as these tell; and reads that take long, for
/// which it may not wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) until_ns: i64,
    /// Until when any, also of those that nobody waits for as such.
    pub(super) any_ns: i64,
    ahead: Option<Ahead>,
}

/// Of reads that take long, the one that ends last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ahead {
    until_ns: i64,
    pub(super) class: Class,
    /// Its flags, if it reads a page again that had been evicted.
    pub(super) again: Option<Flags>,
}

impl Ledger {
    /// What a request tells of later waits: of its thread, and of its role.
    pub(super) fn remember(&mut self, row: &Request, role: RoleId, end_ns: i64, is_ahead: bool) {
        self.note_metadata(row, role, end_ns);
        let kind = Kind::of_request(row, self.has_calls);
        let asked = row.pid.map(|pid| {
            let nothing = Asked { until_ns: i64::MIN, any_ns: i64::MIN, ahead: None };
            let asked = self.asked.entry(pid).or_insert(nothing);
            asked.any_ns = end_ns.max(asked.any_ns);
            asked
        });
        if let Some((asked, kind)) = asked.zip(kind) {
            let class = Class { device: row.device, role, kind, size: self.actors.size_of(row) };
            match is_ahead {
                true if asked.ahead.is_none_or(|ahead| ahead.until_ns < end_ns) => {
                    let again = is_again(row).then_some(row.flags);
                    asked.ahead = Some(Ahead { until_ns: end_ns, class, again });
                }
                true => {}
                false => asked.until_ns = end_ns.max(asked.until_ns),
            }
        }
        self.use_device(role, row.device);
    }

    /// What a thread reads ahead that waits since a moment.
    pub(super) fn ahead_of(&self, wait: &Wait) -> Option<Ahead> {
        let ahead = self.asked.get(&(wait.pid as u32))?.ahead?;
        (ahead.until_ns > wait.begin_ns).then_some(ahead)
    }
}
