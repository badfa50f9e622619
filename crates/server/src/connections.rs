//! The connections that are open: a bounded number, and the oldest gives way to a new one.
//!
//! There are two queues. A connection waits until its whole request has come; then it is being
//! answered. So a client that opens many connections and asks nothing cuts off no answer, and a
//! client that does not read its answers keeps no other client from asking.
//!
//! Non-goals: what is said over a connection, and how long it may last (`server`).

use std::collections::VecDeque;
use tokio::task::{AbortHandle, Id};

/// Connections whose request has not come yet. Each takes a descriptor and a few kilobytes.
pub(crate) const WAITING: usize = 128;
/// Connections that are being answered. Each may keep a whole answer in memory: the longest page of
/// metrics is several megabytes.
pub(crate) const ANSWERING: usize = 16;

/// All connections, by their tasks.
#[derive(Debug)]
pub(crate) struct Connections {
    waiting: Queue,
    answering: Queue,
}

impl Default for Connections {
    fn default() -> Self {
        Self { waiting: Queue::of(WAITING), answering: Queue::of(ANSWERING) }
    }
}

impl Connections {
    /// A new connection, which waits for its request.
    pub(crate) fn open(&mut self, task: AbortHandle) {
        self.waiting.push(task);
    }

    /// The whole request of this connection has come.
    pub(crate) fn answer(&mut self, task: Id) {
        if let Some(task) = self.waiting.take(task) {
            self.answering.push(task);
        }
    }

    /// Closes the oldest waiting connection or, if none waits, the oldest that is being answered.
    /// Returns whether there was one.
    pub(crate) fn close_oldest(&mut self) -> bool {
        self.waiting.close_oldest() || self.answering.close_oldest()
    }
}

/// Connections in the order in which they came here.
#[derive(Debug)]
struct Queue {
    most: usize,
    tasks: VecDeque<AbortHandle>,
}

impl Queue {
    fn of(most: usize) -> Self {
        Self { most, tasks: VecDeque::with_capacity(most) }
    }

    fn push(&mut self, task: AbortHandle) {
        self.tasks.retain(|task| !task.is_finished());
        if self.tasks.len() >= self.most {
            self.close_oldest();
        }
        self.tasks.push_back(task);
    }

    fn take(&mut self, task: Id) -> Option<AbortHandle> {
        let place = self.tasks.iter().position(|known| known.id() == task)?;
        self.tasks.remove(place)
    }

    fn close_oldest(&mut self) -> bool {
        let oldest = self.tasks.pop_front();
        oldest.iter().for_each(AbortHandle::abort);
        oldest.is_some()
    }
}
