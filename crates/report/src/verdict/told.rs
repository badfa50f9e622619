//! The findings of a verdict by what they are of.
//!
//! Non-goals: words.

use super::shown::Shown;
use crate::screen::short;
use model::circumstance::Circumstance;
use model::rank::{Lost, Ranks};
use model::record::subject::{Blame, Class, File, Layer, Stack, Wait};
use model::record::{Finding, Subject, WAIT_FOR_THREAD};
use std::collections::BTreeMap;

/// A subject's values by quantity.
#[derive(Debug, Clone, Default)]
pub(super) struct Values<'a>(BTreeMap<&'a str, &'a Finding>);

impl<'a> Values<'a> {
    pub(super) fn get(&self, quantity: &str) -> Option<f64> {
        self.finding(quantity)?.value
    }

    pub(super) fn or_zero(&self, quantity: &str) -> f64 {
        self.get(quantity).unwrap_or(0.0)
    }

    pub(super) fn finding(&self, quantity: &str) -> Option<&'a Finding> {
        self.0.get(quantity).copied()
    }
}

/// What a victim lost to a cause, with the storms of it.
#[derive(Debug)]
pub(super) struct Loss<'a> {
    pub(super) of: &'a Blame,
    pub(super) values: Values<'a>,
    /// Begins and ends in ns.
    pub(super) storms_ns: Vec<(f64, f64)>,
    /// Files that were waited for, and what of it was lost on each.
    pub(super) files: Vec<(&'a str, f64)>,
}

impl Loss<'_> {
    pub(super) fn matters(&self) -> bool {
        self.values.get("matters") == Some(1.0)
    }

    /// Whether the victim or the cause is shown.
    pub(super) fn is_of(&self, shown: &Shown) -> bool {
        shown.has_role(&[&self.of.victim, &self.of.cause])
    }

    /// Whether it is a part of what was waited there.
    pub(super) fn is_in(&self, wait: &Wait) -> bool {
        let of = self.of;
        (&wait.device, &wait.victim, &wait.wait) == (&of.device, &of.victim, &of.wait)
    }

    /// What it lost to, where that is nobody.
    pub(super) fn circumstance(&self) -> Option<Circumstance> {
        Circumstance::of_name(&self.of.cause).filter(|_| !self.of.is_role)
    }

    pub(super) fn lost_ns(&self) -> f64 {
        self.values.or_zero("lost_ns")
    }

    /// The file that has most of it, where one has more than half.
    pub(super) fn file(&self) -> Option<&str> {
        let most = self.files.iter().find(|(_, ns)| *ns > self.lost_ns() / 2.0);
        most.map(|(file, _)| *file)
    }

    /// `, mostly on /data/pg_wal/*`: on which file it was, where that is known.
    pub(super) fn on_file(&self) -> String {
        self.file().map_or_else(String::new, |file| format!(", mostly on {}", short(file)))
    }
}

/// Whose thread the victim waited for.
pub(super) fn waker(of: &Blame) -> Option<&str> {
    of.wait.strip_prefix(WAIT_FOR_THREAD)
}

/// What findings are of, with its values.
pub(super) type Of<'a, T> = (&'a T, Values<'a>);

/// All of them; waits by their time, losses by theirs, files by their bytes.
#[derive(Debug, Default)]
pub(super) struct Told<'a> {
    pub(super) waits: Vec<Of<'a, Wait>>,
    pub(super) losses: Vec<Loss<'a>>,
    pub(super) files: Vec<Of<'a, File>>,
    pub(super) stacks: Vec<Of<'a, Stack>>,
    pub(super) layers: Vec<Of<'a, Layer>>,
    pub(super) devices: Vec<Of<'a, Class>>,
    pub(super) run: Values<'a>,
    /// Of all requests.
    pub(super) whole: Values<'a>,
    /// Waits of no known device by role, the most first.
    pub(super) unplaced: Vec<Of<'a, Class>>,
    /// Waits that were too short to be told of one by one, the most first.
    pub(super) short: Vec<Of<'a, Class>>,
    /// The kernel's count of cgroups, the most first.
    pub(super) cgroups: Vec<Of<'a, Class>>,
}

impl<'a> Told<'a> {
    pub(super) fn of(findings: &'a [Finding]) -> Self {
        let mut told = Self::default();
        findings.iter().for_each(|finding| told.add(finding));
        most_first(&mut told.waits, "waited_ns");
        told.losses.sort_by(|a, b| b.lost_ns().total_cmp(&a.lost_ns()));
        most_first(&mut told.cgroups, "io_pressure_ns");
        // The device that was waited for most, and of what nobody waited for the busiest.
        most_first(&mut told.devices, "requested_bytes");
        let mut by_device: BTreeMap<&str, f64> = BTreeMap::new();
        for (wait, values) in &told.waits {
            *by_device.entry(&wait.device).or_default() += values.or_zero("waited_ns");
        }
        let waited_ns = |device: &str| by_device.get(device).copied().unwrap_or(0.0);
        told.devices.sort_by(|(a, _), (b, _)| waited_ns(&b.class).total_cmp(&waited_ns(&a.class)));
        let moved = |values: &Values<'_>| {
            values.or_zero("file_read_bytes") + values.or_zero("file_write_bytes")
        };
        told.files.sort_by(|(_, a), (_, b)| moved(b).total_cmp(&moved(a)));
        most_first(&mut told.unplaced, "unplaced_waits_ns");
        most_first(&mut told.short, "short_waits_ns");
        // Waiting tells more than what others waited for.
        most_first(&mut told.stacks, "stack_response_ns");
        most_first(&mut told.stacks, "stack_waited_ns");
        told
    }

    /// Who of those who lost is hurt.
    pub(super) fn ranks(&self) -> Ranks<'a> {
        let lost = |loss: &Loss<'a>| {
            let of = loss.of;
            let cause = of.is_role.then_some(of.cause.as_str());
            Lost { host: "", victim: &of.victim, cause, wait: &of.wait, lost: loss.lost_ns() }
        };
        self.losses.iter().filter(|loss| loss.matters()).map(lost).collect()
    }

    /// Whether calls and waits would be in the trace, had there been any.
    pub(super) fn tells_calls(&self) -> bool {
        self.run.get("calls_told") != Some(0.0)
    }

    /// Whether there are requests, and it is not known of any when it was completed.
    pub(super) fn tells_no_completion(&self) -> bool {
        let is_none = |quantity| self.whole.get(quantity) == Some(0.0);
        !is_none("requested_count") && is_none("completed_count")
    }

    fn add(&mut self, finding: &'a Finding) {
        match &finding.subject {
            Subject::Wait(of) => add_to(&mut self.waits, of, finding),
            Subject::File(of) => add_to(&mut self.files, of, finding),
            Subject::Stack(of) => add_to(&mut self.stacks, of, finding),
            Subject::Layer(of) => add_to(&mut self.layers, of, finding),
            Subject::Run(_) => {
                self.run.0.insert(&finding.quantity, finding);
            }
            Subject::Blame(of) => self.add_loss(of, finding),
            Subject::Class(of) => {
                let all = match (of.by.as_str(), finding.quantity.as_str()) {
                    ("whole", quantity) => {
                        self.whole.0.insert(quantity, finding);
                        return;
                    }
                    ("device", _) => &mut self.devices,
                    (_, "short_waits_ns") => &mut self.short,
                    (_, quantity) if quantity.starts_with("io_pressure_") => &mut self.cgroups,
                    (_, quantity) if quantity.starts_with("unplaced_") => &mut self.unplaced,
                    _ => return,
                };
                add_to(all, of, finding);
            }
            _ => {}
        }
    }

    /// A storm's findings come behind those of its pair, its begin before its end; so do files'.
    fn add_loss(&mut self, of: &'a Blame, finding: &'a Finding) {
        let value = finding.value.unwrap_or(0.0);
        if let Some(file) = &of.file {
            let loss = self.losses.last_mut().into_iter();
            loss.for_each(|loss| loss.files.push((file.as_str(), value)));
            return;
        }
        match (self.losses.last_mut(), of.storm, finding.quantity.as_str()) {
            (Some(loss), Some(_), "affected_from_ns") => loss.storms_ns.push((value, value)),
            (Some(loss), Some(_), _) => {
                loss.storms_ns.last_mut().into_iter().for_each(|storm| storm.1 = value);
            }
            (Some(loss), None, quantity) if loss.of == of => {
                loss.values.0.insert(quantity, finding);
            }
            (_, _, quantity) => {
                let values = Values(BTreeMap::from([(quantity, finding)]));
                self.losses.push(Loss { of, values, storms_ns: Vec::new(), files: Vec::new() });
            }
        }
    }
}

fn most_first<T>(all: &mut [Of<'_, T>], quantity: &str) {
    all.sort_by(|(_, a), (_, b)| b.or_zero(quantity).total_cmp(&a.or_zero(quantity)));
}

/// Findings of a subject come in one or two runs.
fn add_to<'a, T: PartialEq>(all: &mut Vec<Of<'a, T>>, of: &'a T, finding: &'a Finding) {
    match all.iter_mut().rev().find(|(known, _)| *known == of) {
        Some((_, values)) => {
            values.0.insert(&finding.quantity, finding);
        }
        None => all.push((of, Values(BTreeMap::from([(finding.quantity.as_str(), finding)])))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not the longest wait decides which device was waited for most, but their sum.
    #[test]
    fn waits_for_a_device_are_summed_up() {
        let waited = |device: &str, wait: &str, ns| {
            let (device, victim) = (device.to_owned(), "db".to_owned());
            let subject = Subject::Wait(Wait { device, victim, wait: wait.to_owned() });
            Finding::new(&subject, "waited_ns", Some(ns), 1, "")
        };
        let of_device = |device: &str| {
            let subject = Subject::class("device", device);
            Finding::new(&subject, "requested_bytes", Some(4096.0), 1, "")
        };
        let findings = [
            of_device("vda"),
            of_device("vdb"),
            waited("vda", "read", 3e9),
            waited("vdb", "read", 2e9),
            waited("vdb", "fdatasync", 2e9),
        ];
        let told = Told::of(&findings);
        assert_eq!(told.waits[0].0.device, "vda");
        let devices: Vec<&str> = told.devices.iter().map(|(of, _)| of.class.as_str()).collect();
        assert_eq!(devices, ["vdb", "vda"]);
    }
}
