//! Variants of a model: `--set KEY=a;b` makes one for each value, several such keys every
//! combination.

use crate::resolve::change::Change;
use messages::fault::{Fault, failure};

/// Variants at the most.
const MOST: usize = 4096;

/// What is set for one variant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Variant {
    /// Everything that is set, by key.
    pub(crate) set: Vec<(String, String)>,
    /// What is changed after the uncertain numbers are drawn, so that draws are pairs.
    pub(crate) change: Change,
    /// Those keys that have other values in other variants.
    varied: Vec<String>,
}

impl Variant {
    /// The model with a change.
    pub(crate) fn changed(change: Change) -> Self {
        Self { change, ..Self::default() }
    }

    /// What sets it apart.
    pub(crate) fn label(&self) -> String {
        if !self.change.name.is_empty() {
            return self.change.name.clone();
        }
        let varied = self.set.iter().filter(|(key, _)| self.varied.contains(key));
        let pairs: Vec<String> = varied.map(|(key, value)| format!("{key}={value}")).collect();
        pairs.join(" ")
    }

    /// The same behind a model's name: everything that is not the profile's.
    pub(super) fn suffix(&self) -> String {
        self.set.iter().map(|(key, value)| format!(",{key}={value}")).collect()
    }
}

/// Every combination of the alternatives.
/// Errors: a key without a value, or more combinations than anybody waits for.
pub(crate) fn variants(set: &[(String, String)]) -> anyhow::Result<Vec<Variant>> {
    let mut all = vec![Variant::default()];
    for (key, values) in set {
        let values: Vec<&str> =
            values.split(';').map(str::trim).filter(|v| !v.is_empty()).collect();
        if values.is_empty() {
            let reason = "has no value; give KEY=VALUE, or several values separated by semicolons";
            return Err(failure(Fault::Usage, format!("--set {key} {reason}")));
        }
        let count = all.len().saturating_mul(values.len());
        if count > MOST {
            let reason = format!(
                "--set makes at least {count} variants, more than the limit of \
                                  {MOST}; give fewer values"
            );
            return Err(failure(Fault::Usage, reason));
        }
        let with = |variant: &Variant, value: &str| {
            let mut variant = variant.clone();
            variant.set.push((key.clone(), value.to_owned()));
            if values.len() > 1 {
                variant.varied.push(key.clone());
            }
            variant
        };
        all = all.iter().flat_map(|variant| values.iter().map(|v| with(variant, v))).collect();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_make_every_combination() {
        let set = [("a", "1;2"), ("b", "x"), ("c", "p; q;")];
        let set = set.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let all = variants(&set).unwrap();
        let labels: Vec<_> = all.iter().map(Variant::label).collect();
        assert_eq!(labels, ["a=1 c=p", "a=1 c=q", "a=2 c=p", "a=2 c=q"]);
        assert_eq!(all[1].suffix(), ",a=1,b=x,c=q");
        assert_eq!(variants(&[]).unwrap(), [Variant::default()]);
    }

    #[test]
    fn no_value_and_too_many_are_refused() {
        let of = |key: &str, values: &str| (key.to_owned(), values.to_owned());
        let error = variants(&[of("a", " ; ")]).unwrap_err().to_string();
        assert!(error.contains("--set a has no value"), "{error}");
        let hundred = vec!["1"; 100].join(";");
        let error = variants(&[of("a", &hundred), of("b", &hundred)]).unwrap_err().to_string();
        assert!(error.contains("at least 10000 variants, more than the limit of 4096"), "{error}");
    }
}
