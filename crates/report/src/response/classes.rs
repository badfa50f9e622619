//! Findings by the class of requests that they are of.

use crate::rows::{Row, rows};
use model::record::Finding;

/// The figures of a class; its key is the kind of class and its name.
pub(super) type Class = Row<(String, String)>;

/// All classes in their order.
pub(super) struct Classes {
    all: Vec<Class>,
    /// What is of no class.
    run: Option<Row<()>>,
}

impl Classes {
    pub(super) fn of(findings: &[Finding]) -> Self {
        let all = rows(findings, |finding| {
            let (by, class) = finding.subject.by_class()?;
            Some(((by.to_owned(), class.to_owned()), finding.quantity.clone()))
        });
        let run = rows(findings, |finding| match finding.subject.by_class() {
            Some(_) => None,
            None => Some(((), finding.quantity.clone())),
        });
        Self { all, run: run.into_iter().next() }
    }

    /// Those of a kind.
    pub(super) fn by(&self, by: &str) -> Vec<&Class> {
        self.all.iter().filter(|class| class.key.0 == by).collect()
    }

    pub(super) fn named(&self, by: &str, name: &str) -> Option<&Class> {
        self.all.iter().find(|class| class.key.0 == by && class.key.1 == name)
    }

    /// A figure of the run as a whole.
    pub(super) fn of_run(&self, quantity: &str) -> Option<f64> {
        self.run.as_ref()?.value(quantity)
    }
}
