//! Names as values of labels: harmless, short, and only so many of each sort. What is beyond the
//! limit is called `others`.
//!
//! A label that was shown once stays: a series that ends and begins again is two to Prometheus. So
//! places are given and never taken back, and the last of them are for roles that earn them.
//!
//! Non-goals: which labels a metric has (`metric`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The name of all that have none of their own.
pub(crate) const OTHERS: &str = "others";
/// Characters of a name at the most.
const LONGEST: usize = 128;
/// Roles without a name of their own whose time is remembered, for each that may have one.
const REMEMBERED: usize = 20;

/// The text without what steers a terminal or breaks a line, and not longer than a label should be.
pub(crate) fn harmless(text: &str) -> String {
    let shown = model::text::visible(text);
    match shown.char_indices().nth(LONGEST) {
        None => shown.into_owned(),
        Some((end, _)) => format!("{}…", &shown[..end]),
    }
}

/// Names of which there are few: devices, operations. Who comes first has a place.
#[derive(Debug)]
pub(crate) struct Names {
    most: usize,
    named: BTreeSet<Arc<str>>,
}

impl Names {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, named: BTreeSet::new() }
    }

    /// The value of a label; nothing has no value.
    pub(crate) fn label(&mut self, name: Option<&str>) -> Arc<str> {
        let name = harmless(name.unwrap_or_default());
        if let Some(known) = self.named.get(name.as_str()) {
            return known.clone();
        }
        if self.named.len() >= self.most {
            return OTHERS.into();
        }
        let name: Arc<str> = name.into();
        self.named.insert(name.clone());
        name
    }
}

/// Roles, of which there may be tens of thousands, by the time that they had.
#[derive(Debug)]
pub(crate) struct Roles {
    most: usize,
    named: BTreeSet<Arc<str>>,
    /// The time of those without a name of their own.
    unnamed: BTreeMap<String, u128>,
    all_ns: u128,
}

impl Roles {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, named: BTreeSet::new(), unnamed: BTreeMap::new(), all_ns: 0 }
    }

    /// Names the roles of a second, those of the most time first. The last quarter of the places
    /// is for roles with a good share of all time so far (of 200 roles, one in a hundred): who
    /// comes late and does much still finds one, when thousands came and went before.
    pub(crate) fn admit<'a>(&mut self, times: impl Iterator<Item = (&'a str, u64)>) {
        for (role, ns) in times {
            let role = harmless(role);
            self.all_ns = self.all_ns.saturating_add(ns.into());
            if !self.named.contains(role.as_str()) {
                let sum = self.unnamed.entry(role).or_default();
                *sum = sum.saturating_add(ns.into());
            }
        }
        if self.named.len() >= self.most {
            self.unnamed.clear();
            return;
        }
        let mut ranked: Vec<_> = std::mem::take(&mut self.unnamed).into_iter().collect();
        ranked.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        // Half of them are forgotten at a time: who is new has a while to come by more.
        let most = REMEMBERED * self.most;
        let remembered = if ranked.len() > most { most / 2 } else { most };
        let reserved = self.most / 4;
        for (role, ns) in ranked {
            let is_early = self.named.len() < self.most - reserved;
            let is_much = ns.saturating_mul(2 * reserved as u128) >= self.all_ns;
            if self.named.len() < self.most && (is_early || is_much) {
                self.named.insert(role.into());
            } else if self.unnamed.len() < remembered {
                self.unnamed.insert(role, ns);
            }
        }
    }

    /// The value of a label; nothing has no value.
    pub(crate) fn label(&self, role: Option<&str>) -> Arc<str> {
        let role = harmless(role.unwrap_or_default());
        match self.named.get(role.as_str()) {
            Some(known) => known.clone(),
            None if role.is_empty() => "".into(),
            None => OTHERS.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_harmless_and_short() {
        assert_eq!(harmless("a\x1b[31m\n\"\\"), "a\\x1b[31m\\n\"\\");
        assert_eq!(harmless(&"ä".repeat(500)).chars().count(), LONGEST + 1);
        assert_eq!(harmless(&"ä".repeat(LONGEST)).chars().count(), LONGEST);
    }

    #[test]
    fn few_names_are_kept_and_the_rest_are_others() {
        let mut names = Names::new(2);
        let labels = ["a", "b", "c", "a"].map(|name| names.label(Some(name)).to_string());
        assert_eq!(labels, ["a", "b", OTHERS, "a"]);
        assert_eq!(&*Names::new(9).label(None), "");
    }

    #[test]
    fn the_roles_of_the_most_time_are_named() {
        let mut roles = Roles::new(4);
        roles.admit([("a", 1), ("b", 5), ("c", 3), ("d", 4)].into_iter());
        // Three come as they come; the last place is for half of all time.
        let labels = ["a", "b", "c", "d"].map(|role| roles.label(Some(role)).to_string());
        assert_eq!(labels, [OTHERS, "b", "c", "d"]);
        assert_eq!(&*roles.label(None), "");
        // It gets the last place when it has had its share, and nobody else gets any more.
        roles.admit([("a", 20), ("e", 2)].into_iter());
        assert_eq!(&*roles.label(Some("a")), "a");
        roles.admit([("e", 1_000_000)].into_iter());
        assert_eq!((&*roles.label(Some("e")), &*roles.label(Some("b"))), (OTHERS, "b"));
    }

    #[test]
    fn who_comes_after_ten_thousand_others_and_does_much_has_a_name() {
        let mut roles = Roles::new(200);
        for second in 0..100 {
            let names: Vec<_> = (0..100).map(|role| format!("cron{second}-{role}")).collect();
            roles.admit(names.iter().map(|name| (name.as_str(), 1_000_000)));
        }
        assert_eq!(roles.named.len(), 150, "cron's have three quarters of the places");
        assert!(roles.unnamed.len() <= REMEMBERED * 200, "{}", roles.unnamed.len());
        (0..120).for_each(|_| roles.admit([("postgres", 1_000_000)].into_iter()));
        assert_eq!(&*roles.label(Some("postgres")), "postgres");
    }
}
