//! Findings by the class of requests that they are of.

use model::record::Finding;
use std::collections::HashMap;

pub(super) type Class = (String, String);

/// All classes in their order, with their figures.
pub(super) struct Classes<'a> {
    order: Vec<Class>,
    found: HashMap<(Class, &'a str), &'a Finding>,
    /// What is of no class.
    run: HashMap<&'a str, &'a Finding>,
}

impl<'a> Classes<'a> {
    pub(super) fn of(findings: &'a [Finding]) -> Self {
        let (mut order, mut found, mut run) = (Vec::new(), HashMap::new(), HashMap::new());
        for finding in findings {
            let Some((by, class)) = finding.subject.by_class() else {
                run.insert(finding.quantity.as_str(), finding);
                continue;
            };
            let key = (by.to_owned(), class.to_owned());
            if order.last() != Some(&key) {
                order.push(key.clone());
            }
            found.insert((key, finding.quantity.as_str()), finding);
        }
        let mut seen = std::collections::HashSet::new();
        order.retain(|key| seen.insert(key.clone()));
        Self { order, found, run }
    }

    pub(super) fn by(&self, by: &str) -> Vec<&Class> {
        self.order.iter().filter(|(kind, _)| kind == by).collect()
    }

    pub(super) fn finding(&self, class: &Class, quantity: &str) -> Option<&'a Finding> {
        // A key of the map is of its own lifetime; quantities are few and short.
        self.found.get(&(class.clone(), quantity)).copied()
    }

    pub(super) fn value(&self, class: &Class, quantity: &str) -> Option<f64> {
        self.finding(class, quantity)?.value
    }

    /// A figure of the run as a whole.
    pub(super) fn of_run(&self, quantity: &str) -> Option<f64> {
        self.run.get(quantity)?.value
    }
}
