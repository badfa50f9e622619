//! Variants of a model: `--set KEY=a;b` makes one for each value, several such keys every combination.

/// What is set for one variant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Variant {
    /// Everything that is set, by key.
    pub(crate) set: Vec<(String, String)>,
    /// Those keys that have other values in other variants.
    varied: Vec<String>,
}

impl Variant {
    /// What sets it apart.
    pub(crate) fn label(&self) -> String {
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
pub(crate) fn variants(set: &[(String, String)]) -> Vec<Variant> {
    let mut all = vec![Variant::default()];
    for (key, values) in set {
        let values: Vec<&str> =
            values.split(';').map(str::trim).filter(|v| !v.is_empty()).collect();
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
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_make_every_combination() {
        let set = [("a", "1;2"), ("b", "x"), ("c", "p; q;")];
        let set = set.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let all = variants(&set);
        let labels: Vec<_> = all.iter().map(Variant::label).collect();
        assert_eq!(labels, ["a=1 c=p", "a=1 c=q", "a=2 c=p", "a=2 c=q"]);
        assert_eq!(all[1].suffix(), ",a=1,b=x,c=q");
        assert_eq!(variants(&[]), [Variant::default()]);
    }
}
