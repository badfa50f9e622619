//! The findings of a verdict by what they are of.
//!
//! Non-goals: words.

use super::tables::Shown;
use model::record::subject::{Blame, Class, File, Layer, Stack, Wait};
use model::record::{Finding, Subject};
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

    pub(super) fn lost_ns(&self) -> f64 {
        self.values.or_zero("lost_ns")
    }
}

/// All of them; waits by their time, losses by theirs, files by their bytes.
#[derive(Debug)]
pub(super) struct Told<'a> {
    pub(super) waits: Vec<(&'a Wait, Values<'a>)>,
    pub(super) losses: Vec<Loss<'a>>,
    pub(super) files: Vec<(&'a File, Values<'a>)>,
    pub(super) stacks: Vec<(&'a Stack, Values<'a>)>,
    pub(super) layers: Vec<(&'a Layer, Values<'a>)>,
    pub(super) run: Values<'a>,
    /// Waits of no known device by role, the most first.
    pub(super) unplaced: Vec<(&'a Class, Values<'a>)>,
    /// Waits that were too short to be told of one by one, the most first.
    pub(super) short: Vec<(&'a Class, f64)>,
    /// The kernel's count of cgroups, the most first.
    pub(super) cgroups: Vec<(&'a Class, Values<'a>)>,
}

impl<'a> Told<'a> {
    pub(super) fn of(findings: &'a [Finding]) -> Self {
        let mut told = Self {
            waits: Vec::new(),
            losses: Vec::new(),
            files: Vec::new(),
            stacks: Vec::new(),
            layers: Vec::new(),
            run: Values::default(),
            unplaced: Vec::new(),
            short: Vec::new(),
            cgroups: Vec::new(),
        };
        for finding in findings {
            told.add(finding);
        }
        let time = |values: &Values<'_>| values.or_zero("waited_ns");
        told.waits.sort_by(|a, b| time(&b.1).total_cmp(&time(&a.1)));
        told.losses.sort_by(|a, b| b.lost_ns().total_cmp(&a.lost_ns()));
        let pressure = |values: &Values<'_>| values.or_zero("io_pressure_ns");
        told.cgroups.sort_by(|a, b| pressure(&b.1).total_cmp(&pressure(&a.1)));
        let unplaced = |values: &Values<'_>| values.or_zero("unplaced_waits_ns");
        told.unplaced.sort_by(|a, b| unplaced(&b.1).total_cmp(&unplaced(&a.1)));
        told.short.sort_by(|a, b| b.1.total_cmp(&a.1));
        told.put_blamed_stacks_first();
        told
    }

    /// The stacks of those behind whom others lost time come first, by that time, then by theirs.
    fn put_blamed_stacks_first(&mut self) {
        let lost = |stack: &Stack| -> f64 {
            let is_his =
                |loss: &&Loss<'_>| loss.matters() && loss.of.is_role && loss.of.cause == stack.role;
            self.losses.iter().filter(is_his).map(Loss::lost_ns).sum()
        };
        let key = |(stack, values): &(&Stack, Values<'_>)| {
            let time = values.or_zero("stack_response_ns") + values.or_zero("stack_waited_ns");
            (lost(stack), time)
        };
        let mut stacks = std::mem::take(&mut self.stacks);
        stacks.sort_by(|a, b| {
            let ((lost_a, time_a), (lost_b, time_b)) = (key(a), key(b));
            lost_b.total_cmp(&lost_a).then(time_b.total_cmp(&time_a))
        });
        self.stacks = stacks;
    }

    /// Whether anybody is known who is shown.
    pub(super) fn knows(&self, shown: &Shown) -> bool {
        let is_process = shown.processes.as_ref().is_some_and(|processes| !processes.is_empty());
        is_process && shown.role.is_none()
            || self.waits.iter().any(|(wait, _)| shown.has_role(&[&wait.victim]))
            || self.losses.iter().any(|loss| loss.is_of(shown))
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
            Subject::Class(of) if finding.quantity.starts_with("io_pressure_") => {
                add_to(&mut self.cgroups, of, finding);
            }
            Subject::Class(of) if finding.quantity == "short_waits_ns" => {
                self.short.push((of, finding.value.unwrap_or(0.0)));
            }
            Subject::Class(of) if finding.quantity.starts_with("unplaced_") => {
                add_to(&mut self.unplaced, of, finding);
            }
            _ => {}
        }
    }

    /// A storm's findings come behind those of its pair, its begin before its end.
    fn add_loss(&mut self, of: &'a Blame, finding: &'a Finding) {
        let value = finding.value.unwrap_or(0.0);
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
                self.losses.push(Loss { of, values, storms_ns: Vec::new() });
            }
        }
    }
}

/// Findings of a subject come in one or two runs.
fn add_to<'a, T: PartialEq>(all: &mut Vec<(&'a T, Values<'a>)>, of: &'a T, finding: &'a Finding) {
    match all.iter_mut().rev().find(|(known, _)| *known == of) {
        Some((_, values)) => {
            values.0.insert(&finding.quantity, finding);
        }
        None => all.push((of, Values(BTreeMap::from([(finding.quantity.as_str(), finding)])))),
    }
}
