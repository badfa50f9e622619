//! `lbolt device`: a modelled drive as a block device, until ^C or for as long as a command runs.

use super::{note, print, print_json};
use crate::resolve::device::DevicePlan;
use crate::run::device::ModelDevice;
use crate::run::session::control;
use capture::load::Load;
use cli::DeviceOptions;
use host::drive::Control;
use host::served::Lateness;
use messages::fault::{Fault, failure, unable};
use model::units::show_time_ns;
use report::show_bytes;
use std::process::ExitStatus;
use std::time::Duration;

/// How often it is looked whether it is over.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the command.
/// Errors: what could not be done, with its exit code.
pub(super) fn run(options: &DeviceOptions) -> anyhow::Result<()> {
    let plan = DevicePlan::of(options)?;
    if options.dry_run {
        return print_json(&serde_json::to_value(&plan).map_err(unable("write the plan"))?);
    }
    let control = control()?;
    let mut device = ModelDevice::begin(&plan)?;
    prepare(options, &mut device, &control)?;
    note(&told(&plan, &device, options.command.is_empty()));
    let status = match options.command.is_empty() {
        true => wait(&mut device, &control).map(|()| None)?,
        false => Some(run_command(&options.command, &device, &control)?),
    };
    let lateness = device.lateness()?;
    if device.let_go() {
        wait_for_users(&mut device, &control);
    }
    drop(device);
    match options.format.as_str() {
        "json" => print_json(&serde_json::to_value(lateness).map_err(unable("write the report"))?)?,
        _ => print(&concluded(&lateness))?,
    }
    complaint(options, status)
}

/// What is done before the device is as slow as its model.
/// Errors: a command that fails.
fn prepare(
    options: &DeviceOptions,
    device: &mut ModelDevice,
    control: &Control,
) -> anyhow::Result<()> {
    let Some(command) = &options.prepare else { return Ok(()) };
    device.hurry(true)?;
    let shell = ["sh".to_owned(), "-c".to_owned(), command.clone()];
    let status = run_command(&shell, device, control)?;
    if !status.success() {
        let sentence = format!("the command of --prepare ended with {status}");
        return Err(failure(Fault::Io, sentence));
    }
    device.hurry(false)
}

/// What the device is.
fn told(plan: &DevicePlan, device: &ModelDevice, is_until_signal: bool) -> String {
    let slow = match plan.slow == 1.0 {
        true => String::new(),
        false => format!(", slowed down {}×", plan.slow),
    };
    let until = if is_until_signal { "; Ctrl-C ends it" } else { "" };
    format!(
        "{}: {}, {}{slow}{until}; the kernel's own latency ({} for 4 KiB) is subtracted",
        device.path().display(),
        plan.title,
        show_bytes(plan.size_bytes as f64),
        show_time_ns(device.way().read_4k_ns() as f64),
    )
}

/// Until a signal.
/// Errors: the device ended by itself.
fn wait(device: &mut ModelDevice, control: &Control) -> anyhow::Result<()> {
    while !control.is_stopped() {
        if device.is_over() {
            return device.lateness().map(drop);
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// For as long as a command runs; a signal ends it.
/// Errors: a command that cannot be started, or waited for.
fn run_command(
    command: &[String],
    device: &ModelDevice,
    control: &Control,
) -> anyhow::Result<ExitStatus> {
    let mut load = Load::new(command).env("LBOLT_DEVICE", device.path());
    load.begin()?;
    load.wait(control);
    load.end();
    // What ended the command does not end this one before it has tidied up.
    control.go_on();
    load.status().ok_or_else(|| failure(Fault::Io, "failed to wait for the command"))
}

/// Somebody else uses the device: it goes on until they do not, or until another signal.
fn wait_for_users(device: &mut ModelDevice, control: &Control) {
    note(&format!(
        "{} is still in use (perhaps mounted); unmount it to end, or press Ctrl-C again to end now \
         with I/O errors for its users",
        device.path().display()
    ));
    control.go_on();
    while device.is_attached() && !control.is_stopped() && !device.is_over() {
        std::thread::sleep(LOOK);
    }
}

/// How true it was.
fn concluded(lateness: &Lateness) -> String {
    let Lateness { requests, mean_ns, p50_ns, p99_ns, max_ns, .. } = *lateness;
    if requests == 0 {
        return "The device received no requests.".to_owned();
    }
    let line = format!(
        "The device completed {requests} requests with a mean response time of {} on the model, \
         from when they reached the device: what they wait in the kernel before is not in it, as \
         it is in fio and iostat. Lateness against the model: p50 {}, p99 {}, max {}.",
        show_time_ns(lateness.response_mean_ns),
        show_time_ns(p50_ns as f64),
        show_time_ns(p99_ns as f64),
        show_time_ns(max_ns as f64),
    );
    // The device serves in the time of this machine, which others may delay.
    let help = match 2 * lateness.too_quick > requests {
        true => format!(
            "the model completes {} requests sooner than this machine can; slow=… slows it down",
            lateness.too_quick
        ),
        false => "this machine completed them late; use a quieter machine, or slow=…".to_owned(),
    };
    match lateness.is_suspect() {
        false => line,
        true => format!(
            "{line}\n! The lateness is suspect (mean {}, mean response time {}): {help}.",
            show_time_ns(mean_ns),
            show_time_ns(lateness.response_mean_ns)
        ),
    }
}

/// What the command made of it, if that was no success.
fn complaint(options: &DeviceOptions, status: Option<ExitStatus>) -> anyhow::Result<()> {
    match status.filter(|status| !status.success()) {
        None => Ok(()),
        Some(status) => {
            let sentence = format!("{} ended with {status}", options.command[0]);
            Err(failure(Fault::Io, sentence))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_late_is_suspect_in_the_guides_word() {
        let of = |mean_ns| {
            let (requests, response_mean_ns) = (9, 2e6);
            concluded(&Lateness { requests, mean_ns, response_mean_ns, ..Lateness::default() })
        };
        assert!(of(1e6).ends_with(
            "! The lateness is suspect (mean 1.00 ms, mean response time 2.00 ms): this machine \
             completed them late; use a quieter machine, or slow=…."
        ));
        assert!(!of(1e3).contains("suspect"));
    }

    #[test]
    fn a_model_that_is_too_quick_and_a_machine_that_is_too_busy_need_different_help() {
        let late = |too_quick| {
            let (requests, mean_ns, response_mean_ns) = (100, 5e4, 1e5);
            concluded(&Lateness {
                requests,
                mean_ns,
                response_mean_ns,
                too_quick,
                ..Lateness::default()
            })
        };
        assert!(late(0).contains("use a quieter machine") && !late(0).contains("sooner than"));
        let quick = late(80);
        assert!(quick.contains("80 requests sooner than this machine"), "{quick}");
        assert!(!quick.contains("quieter"), "{quick}");
        let fine = Lateness { requests: 9, response_mean_ns: 1e5, ..Lateness::default() };
        assert!(!concluded(&fine).contains('!'));
    }
}
