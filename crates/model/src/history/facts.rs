//! What is known of a host besides its rows: its kernel, and the firmware of its devices. Files say
//! it in their footers, for each run of a host: a new kernel is a new boot, and a run of its own.
//!
//! Non-goals: models of devices, which rows have themselves ([`super::Models`]).

use super::origin::Origin;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of a host in one of its runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Release of its kernel, as `uname -r` prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Firmware revisions of its devices, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub firmware: BTreeMap<String, String>,
    /// Whether nobody watched it: its rows were made up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_simulated: bool,
}

/// What is known of hosts, by their names and runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(BTreeMap<Origin, HostFacts>);

impl Hosts {
    /// Adds what is known of an origin's host; of what was known earlier the new one counts.
    pub fn know(&mut self, origin: &Origin, facts: HostFacts) {
        if facts != HostFacts::default() {
            self.0.insert(Origin { part: None, ..origin.clone() }, facts);
        }
    }

    /// What is known of a host in a run.
    pub fn of(&self, host: Option<&str>, run: Option<&str>) -> Option<&HostFacts> {
        let (host, run) = (host.map(str::to_owned), run.map(str::to_owned));
        self.0.get(&Origin { host, run, part: None })
    }

    /// All that is known, by host and run.
    pub fn iter(&self) -> impl Iterator<Item = (&Origin, &HostFacts)> {
        self.0.iter()
    }

    /// Adds what a later file says.
    pub fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The same of another name: the host that all of them are.
    pub fn renamed(self, host: &str) -> Self {
        let named = |origin: Origin| Origin { host: Some(host.to_owned()), ..origin };
        Self(self.0.into_iter().map(|(origin, facts)| (named(origin), facts)).collect())
    }

    /// As a file's footer tells them; none where nothing is known.
    pub(super) fn told(&self) -> Option<String> {
        let all: Vec<_> = self.0.iter().collect();
        (!all.is_empty()).then(|| serde_json::to_string(&all).unwrap_or_default())
    }

    /// Of what a footer tells; none where it is no such text.
    pub(super) fn of_told(text: &str) -> Option<Self> {
        let all: Vec<(Origin, HostFacts)> = serde_json::from_str(text).ok()?;
        Some(Self(all.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_host_is_known_by_its_run() {
        let origin =
            |run: &str| Origin { host: Some("web".into()), run: Some(run.into()), part: None };
        let kernel =
            |release: &str| HostFacts { kernel: Some(release.into()), ..HostFacts::default() };
        let mut hosts = Hosts::default();
        assert_eq!(hosts.told(), None);
        hosts.know(&origin("a"), kernel("6.1"));
        hosts.know(&origin("b"), kernel("6.12"));
        hosts.know(&origin("c"), HostFacts::default());
        let told = hosts.told().unwrap();
        assert!(!told.contains("firmware") && !told.contains("simulated"), "{told}");
        let back = Hosts::of_told(&told).unwrap();
        assert_eq!(back, hosts);
        let of = |run| back.of(Some("web"), Some(run)).and_then(|facts| facts.kernel.as_deref());
        assert_eq!((of("a"), of("b"), of("c")), (Some("6.1"), Some("6.12"), None));
        assert_eq!(Hosts::of_told("{"), None);
    }
}
