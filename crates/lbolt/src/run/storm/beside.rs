//! The user's own load beside the remedies: a command in a process group of its own, and what its
//! reads and its calls that make data durable took, as the tracer's capture sees them.
//!
//! Non-goals: whose a read or a call is ([`Seen`]).

use super::seen::{POLL, Seen};
use capture::load::Load as Command;
use capture::{Options, Session, now_ns, resolve};
use experiment::storm::{Load, Plan, Window};
use host::drive::Control;
use messages::output::note;
use model::doubt::Doubt;
use model::record::{Call, Commands, Request};
use model::seam::SubjectError;
use rustix::time::ClockId;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trace::intake::ForEach;

/// After a change so much of a window goes by uncounted: what waits then is of the remedy before.
const SETTLE_SHARE: u64 = 10;
/// So long the first window waits for a read or a call, or ten windows; but no longer than this, or
/// half of the time that there is for all passes ([`patience`]).
const BEGIN: Duration = Duration::from_secs(10);
const BEGIN_WINDOWS: u32 = 10;
/// What a xfs's superblock says of itself (statfs(2)): it does not tell when a sync ends.
const XFS: i64 = 0x5846_5342;

/// A command that is watched.
pub(super) struct Beside {
    command: Vec<String>,
    /// The directory that is the target.
    target: String,
    /// How long all passes may take, where that is to be kept.
    time: Option<Duration>,
    control: Arc<Control>,
    running: Option<Running>,
}

/// What there is when it has begun.
struct Running {
    command: Command,
    session: Session<'static>,
    seen: Rc<RefCell<Seen>>,
    /// Whether a window was watched.
    has_begun: bool,
}

impl Beside {
    pub(super) fn new(plan: &Plan, control: Arc<Control>) -> Self {
        Self {
            command: plan.command.clone(),
            target: plan.systems.first().map_or_else(String::new, |system| system.target.clone()),
            time: plan.keeps_time.then(|| Duration::from_nanos(plan.time_ns)),
            control,
            running: None,
        }
    }

    /// Why the window that is over is to be doubted, if it is.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        self.running.as_ref().and_then(|running| running.seen.borrow().doubt())
    }

    /// Starts the command, when these devices are watched.
    /// Errors: a sentence for what cannot be watched, or started.
    pub(super) fn begin(&mut self, devices: &[String]) -> Result<(), String> {
        if devices.is_empty() {
            return Err("no block device is visible under the target, so the command's requests \
                        cannot be traced; choose a directory on a local disk"
                .into());
        }
        let devices = resolve(devices).map_err(|error| error.to_string())?;
        let seen = Rc::new(RefCell::new(Seen::default()));
        let options = Options {
            zero_ns: Some(0),
            with_context: true,
            // Calls are counted as they end; nobody asks for them later.
            keep: Some(Duration::from_secs(1)),
            with_syscalls: is_xfs(Path::new(&self.target)),
            is_checked: false,
            ..Options::default()
        };
        let mut session = Session::new(options, ForEach::new(|_: &Request| ()));
        let (of_rows, of_calls) = (seen.clone(), seen.clone());
        session.watch(move |row: &Request, _: &Commands| of_rows.borrow_mut().see(row));
        session.watch_calls(move |call: &Call| of_calls.borrow_mut().see_call(call));
        session.resume(&devices).map_err(|error| format!("failed to {error}"))?;
        seen.borrow_mut().know_all(now_ns(ClockId::Monotonic));
        let mut command = Command::new(&self.command).apart();
        command.begin().map_err(|error| error.to_string())?;
        seen.borrow_mut().is_the_command(command.pid());
        self.running = Some(Running { command, session, seen, has_begun: false });
        Ok(())
    }
}

impl Beside {
    fn running(&mut self) -> Result<(&mut Running, &Control), SubjectError> {
        let not_started = "the command was not started; this is a bug";
        let running = self.running.as_mut().map(|running| (running, &*self.control));
        running.ok_or_else(|| SubjectError::Failed(not_started.into()))
    }
}

impl Load for Beside {
    fn settle(&mut self, for_ns: u64) -> Result<(), SubjectError> {
        let window = Duration::from_nanos(for_ns);
        let most = patience(window, self.time);
        let (running, control) = self.running()?;
        if !std::mem::replace(&mut running.has_begun, true) {
            running.wait_for_any((window, most), control)?;
        }
        running.go_on(Duration::from_nanos(for_ns / SETTLE_SHARE), control)
    }

    fn watch(&mut self, for_ns: u64) -> Result<Window, SubjectError> {
        let (running, control) = self.running()?;
        let began_ns = now_ns(ClockId::Monotonic);
        running.seen.borrow_mut().begin(began_ns);
        running.go_on(Duration::from_nanos(for_ns), control)?;
        let wall_ns = now_ns(ClockId::Monotonic).saturating_sub(began_ns);
        Ok(running.seen.borrow().window(u64::try_from(wall_ns).unwrap_or(0)))
    }
}

impl Running {
    /// Waits until the command reads or makes data durable, for so long. If only others do, theirs
    /// count.
    fn wait_for_any(
        &mut self,
        (window, most): (Duration, Duration),
        control: &Control,
    ) -> Result<(), SubjectError> {
        let began = Instant::now();
        while began.elapsed() < most && !self.seen.borrow().is_own {
            self.go_on(window.min(POLL * 5), control)?;
        }
        let mut seen = self.seen.borrow_mut();
        if seen.is_own {
            return Ok(());
        }
        note(&seen.take_others(most).map_err(SubjectError::Failed)?);
        Ok(())
    }

    /// Takes what comes for so long.
    fn go_on(&mut self, time: Duration, control: &Control) -> Result<(), SubjectError> {
        let (began, command) = (Instant::now(), &mut self.command);
        self.session.run(|session| {
            if control.is_stopped() {
                return Some(Err(SubjectError::Interrupted));
            }
            if command.is_over() {
                let status = command.status().map_or_else(String::new, |how| format!(" ({how})"));
                return Some(Err(SubjectError::Failed(format!(
                    "the command ended{status} before the passes were over; give a command that \
                     runs until it is stopped"
                ))));
            }
            if session.is_refused() {
                let sentence = "the capture of requests stopped; this is a bug";
                return Some(Err(SubjectError::Failed(sentence.into())));
            }
            if began.elapsed() >= time {
                return Some(Ok(()));
            }
            std::thread::sleep(POLL.min(time.saturating_sub(began.elapsed())));
            None
        })
    }
}

/// How long the first window waits for the command.
fn patience(window: Duration, time: Option<Duration>) -> Duration {
    let most = BEGIN.max(window.saturating_mul(BEGIN_WINDOWS));
    time.map_or(most, |time| most.min((time / 2).max(BEGIN)))
}

fn is_xfs(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| found.f_type == XFS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_window_is_waited_for_no_longer_than_half_of_the_time_that_there_is() {
        let s = Duration::from_secs;
        assert_eq!([patience(s(1), None), patience(s(60), None)], [s(10), s(600)]);
        assert_eq!(patience(s(60), Some(s(120))), s(60));
        assert_eq!(patience(s(5), Some(s(1200))), s(50));
        assert_eq!(patience(s(5), Some(s(1))), s(10));
    }
}
