//! What of a trace's time was selected, in a line.
//!
//! Non-goals: selecting (`verdict::selection`).

use super::told::Told;
use model::record::Finding;
use model::units::show_seconds;

/// `Of the trace's 70.2 s, 26.8 to 30 s.`; none where it is the whole trace.
pub fn selected(findings: &[Finding]) -> Option<String> {
    let run = Told::of(findings).run;
    let seconds = |quantity| run.get(quantity).map(show_seconds);
    let (whole, from) = (seconds("whole_until_ns")?, seconds("selected_from_ns")?);
    let until = seconds("selected_until_ns")?;
    Some(format!("Of the trace's {whole} s, {from} to {until} s."))
}
