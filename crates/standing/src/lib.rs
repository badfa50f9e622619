//! The standing watch: a capture that goes on ([`capture`]), what is kept of it ([`keeper`]), and
//! the seconds around what was waited for, as runs of their own (`lbolt::run::incidents`).
//!
//! The capture is a process of its own ([`part`]), the only one with privileges. It sends
//! [`Message`]s and takes [`Order`]s; it writes, prints and listens to nothing.
//!
//! Non-goals: what is counted (`verdict::watched`), how it is kept (`model::history`).
#![forbid(unsafe_code)]

pub mod capture;
mod disks;
pub mod keeper;
mod lives;
mod message;
pub mod part;
mod taken;
pub mod watchdog;

pub use message::{Incident, Message, Order, Second};

use ::capture::part as process;
use ::capture::wire::{read_frame, write_frame};
use ::verdict::watched::Span;
use cli::Condition;
use messages::fault::{Failure, Fault, failure, unable};
use model::record::{Counted, Rollup, RollupKey};
use std::io::{BufWriter, ErrorKind};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::mpsc::{Receiver, sync_channel};

/// The name of the part that captures, as a command.
pub const PART: &str = "capture-part";
/// Messages that have come and that nobody has taken yet.
const QUEUE: usize = 4;
const START: &str = "start the capture process";

/// A capture in a process of its own.
pub struct Watching {
    /// What the capture says.
    pub messages: Receiver<Message>,
    orders: BufWriter<UnixStream>,
    child: Child,
}

impl Watching {
    /// Begins a capture that waits for these conditions, and gives privileges up as the caller does
    /// (`give_up`, of [`host::privilege`]). To be called before there is any other thread.
    /// Errors: a process that cannot be started; privileges that cannot be given up.
    pub fn begin<T>(
        options: &capture::Options,
        conditions: &[Condition],
        give_up: impl FnOnce() -> std::io::Result<T>,
    ) -> anyhow::Result<(Self, T)> {
        let (child, ours) = process::start(PART, "captures")?;
        let (mut input, mut orders) = process::line(ours)?;
        ::capture::caretaker::is_of_watch();
        let given_up = give_up().map_err(|error| match error.kind() {
            ErrorKind::DirectoryNotEmpty => failure(
                Fault::Usage,
                format!(
                    "failed to use the directory: {error}; name another \
                                               directory"
                ),
            ),
            _ => failure(Fault::Io, format!("failed to drop privileges: {error}")),
        })?;
        let conditions: Vec<&str> = conditions.iter().map(|one| one.text.as_str()).collect();
        write_frame(&mut orders, &(options, conditions), &[]).map_err(unable(START))?;
        // Where nobody takes them the capture adds up what comes, which needs less memory.
        let (told, messages) = sync_channel(QUEUE);
        let take = move || {
            loop {
                let message = match read_frame::<Message>(&mut input) {
                    Ok(Some((message, body))) => message.with(body),
                    Err(error) if error.kind() == ErrorKind::InvalidData => not_understood(),
                    _ => break,
                };
                let is_last = matches!(message, Message::Failed(_));
                if told.send(message).is_err() || is_last {
                    break;
                }
            }
        };
        std::thread::Builder::new()
            .name("lbolt-take".into())
            .spawn(take)
            .map_err(unable("start a thread"))?;
        Ok((Self { messages, orders, child }, given_up))
    }

    /// Tells it something. One that has ended hears nothing.
    pub fn order(&mut self, order: Order) {
        let _ = write_frame(&mut self.orders, &order, &[]);
    }

    /// Waits for its end.
    /// Errors: it was killed, or ended otherwise than it should.
    pub fn end(mut self) -> anyhow::Result<()> {
        let status = self.child.wait().map_err(unable("wait for the capture process"))?;
        match status.success() {
            true => Ok(()),
            false => {
                let sentence = format!("the capture process ended early ({status})");
                Err(failure(Fault::Io, sentence))
            }
        }
    }
}

/// A row of a span, of nothing yet.
fn row(counted: Counted, device: Option<&str>, operation: &str, span: &Span) -> Rollup {
    let (device, operation) = (device.map(str::to_owned), operation.to_owned());
    let key = RollupKey { counted, device, operation, ..RollupKey::default() };
    Rollup::of(key, span.from_unix_ns, span.until_unix_ns)
}

/// What the part said is no message.
fn not_understood() -> Message {
    let message = "failed to read a message of the capture process: it is damaged".to_owned();
    Message::Failed(Failure { fault: Fault::Io, message })
}
