//! The findings behind what a selection shows, for formats that are not of tables.
//!
//! Non-goals: which rows a screen has room for.

use super::shown::{Shown, has};
use model::record::{Finding, Subject};
use std::collections::BTreeSet;

/// Findings of the devices, roles and files that are shown, and of one kind of table where only
/// that is.
pub fn chosen(findings: &[Finding], shown: &Shown) -> Vec<Finding> {
    findings.iter().filter(|finding| is_chosen(&finding.subject, shown)).cloned().collect()
}

/// Classes whose names begin with that of a device.
const OF_DEVICES: [&str; 5] =
    ["device", "device and direction", "region", "partition", "structure"];

fn is_chosen(subject: &Subject, shown: &Shown) -> bool {
    let by = shown.by.as_deref();
    let is_by = |kinds: &[&str]| by.is_none_or(|by| kinds.contains(&by));
    let is_of = |device: &str, roles: &[&str]| shown.has_device(device) && shown.has_role(roles);
    match subject {
        // What the figures rest on belongs to each of them.
        Subject::Run(_) => true,
        Subject::Wait(of) => is_by(&["wait", "call"]) && is_of(&of.device, &[&of.victim]),
        Subject::Blame(of) => is_by(&["cause"]) && is_of(&of.device, &[&of.victim, &of.cause]),
        Subject::Stack(of) => is_by(&["stack"]) && is_of(&of.device, &[&of.role]),
        Subject::Layer(of) => is_by(&["layer"]) && shown.has_device(&of.device),
        Subject::File(of) => {
            is_by(&["file"]) && shown.has_device(&of.device) && has(&of.file, shown.file.as_deref())
        }
        Subject::Class(of) => {
            let is_storm = by == Some("burst") && of.by.starts_with("storm");
            // What is of all devices together is not of one.
            let is_of_devices = of.by.starts_with("storm") || OF_DEVICES.contains(&&*of.by);
            let is_shown = match is_of_devices {
                true => shown.has_device(&of.class),
                false => shown.device.is_none(),
            };
            is_shown && (is_storm || by.is_none_or(|by| of.by == by))
        }
        _ => by.is_none(),
    }
}

/// What is selected by a name that nothing of the trace has: the option, the name, and the names
/// that there are.
pub fn absent<'s>(
    findings: &[Finding],
    shown: &'s Shown,
) -> Option<(&'static str, &'s str, BTreeSet<String>)> {
    let options = [("device", &shown.device), ("role", &shown.role), ("file", &shown.file)];
    options.into_iter().find_map(|(option, wanted)| {
        let wanted = wanted.as_deref()?;
        let known: BTreeSet<String> = findings
            .iter()
            .flat_map(|finding| names(&finding.subject, option))
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let is_absent = !known.iter().any(|name| has(name, Some(wanted)));
        is_absent.then_some((option, wanted, known))
    })
}

/// The options that select rows of a table, or of a class.
pub fn selected_by(by: &str) -> &'static [&'static str] {
    match by {
        "wait" | "cause" | "call" | "stack" => &["device", "role", "process"],
        "file" => &["device", "file"],
        "layer" | "burst" => &["device"],
        by if OF_DEVICES.contains(&by) => &["device"],
        _ => &[],
    }
}

/// The devices, roles or files that a finding is of.
fn names<'f>(subject: &'f Subject, option: &str) -> Vec<&'f str> {
    match (subject, option) {
        (Subject::Wait(of), "device") => vec![&of.device],
        (Subject::Wait(of), "role") => vec![&of.victim],
        (Subject::Blame(of), "device") => vec![&of.device],
        (Subject::Blame(of), "role") if !of.is_role => vec![&of.victim],
        (Subject::Blame(of), "role") => vec![&of.victim, &of.cause],
        (Subject::Stack(of), "device") => vec![&of.device],
        (Subject::Stack(of), "role") => vec![&of.role],
        (Subject::Layer(of), "device") => vec![&of.device],
        (Subject::File(of), "device") => vec![&of.device],
        (Subject::File(of), "file") => vec![&of.file],
        (Subject::Class(of), option) if of.by == option => vec![&of.class],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::subject::{Blame, Wait};

    #[test]
    fn a_selection_holds_for_each_kind_of_finding() {
        let texts = |text: &str| text.to_owned();
        let wait = |victim: &str| {
            let (device, wait) = (texts("vda"), texts("read"));
            Subject::Wait(Wait { device, victim: texts(victim), wait })
        };
        let blame = |victim: &str, cause: &str| {
            Subject::Blame(Blame {
                cause: texts(cause),
                device: texts("vda"),
                file: None,
                is_role: true,
                storm: None,
                victim: texts(victim),
                wait: texts("read"),
            })
        };
        let subjects = [
            Subject::this_run(),
            wait("db"),
            wait("backup"),
            blame("db", "backup"),
            blame("db", "device"),
            Subject::class("device", "vda"),
            Subject::class("size", "to 4k"),
        ];
        let of = |subject: &Subject| Finding { subject: subject.clone(), ..Finding::default() };
        let findings: Vec<Finding> = subjects.iter().map(of).collect();
        let kept = |shown: Shown| -> Vec<usize> {
            let left = chosen(&findings, &shown);
            (0..subjects.len())
                .filter(|at| left.iter().any(|f| f.subject == subjects[*at]))
                .collect()
        };
        let by = |by: &str| Shown { by: Some(texts(by)), ..Shown::default() };
        assert_eq!(kept(Shown::default()), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(
            kept(Shown { role: Some(texts("backup")), ..Shown::default() }),
            [0, 2, 3, 5, 6]
        );
        assert_eq!(kept(by("cause")), [0, 3, 4]);
        assert_eq!(kept(by("size")), [0, 6]);
        assert_eq!(kept(Shown { device: Some(texts("sdb")), ..Shown::default() }), [0]);
    }
}
