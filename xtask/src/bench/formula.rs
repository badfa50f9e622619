//! What a row's figure is made of: `A.rate / B.rate`, read from left to right.

use anyhow::{Context as _, ensure};
use std::collections::BTreeSet;

/// An operator and what it is applied to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    operator: Operator,
    operand: Operand,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Number(f64),
    /// The median over the rounds of what is left of it.
    Median,
    Figure(Figure),
}

/// A figure of a side's turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Figure {
    pub(super) side: String,
    pub(super) quantity: String,
    /// How many values it is made of, and not the value.
    pub(super) is_count: bool,
    /// Keys and values that its subject has.
    pub(super) subject: Vec<(String, String)>,
}

/// Reads a formula.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<Term>> {
    let mut operator = Operator::Plus;
    let (mut terms, mut operand) = (vec![], String::new());
    // A subject has spaces too.
    for word in text.split_whitespace().chain(["+"]) {
        let next = match word {
            "+" => Operator::Plus,
            "-" => Operator::Minus,
            "*" => Operator::Times,
            "/" => Operator::Over,
            part => {
                operand.push_str(if operand.is_empty() { "" } else { " " });
                operand.push_str(part);
                continue;
            }
        };
        terms.push(Term { operator, operand: Operand::parse(&std::mem::take(&mut operand))? });
        operator = next;
    }
    Ok(terms)
}

impl Operand {
    fn parse(text: &str) -> anyhow::Result<Self> {
        if let Ok(number) = text.parse() {
            return Ok(Self::Number(number));
        }
        if text == "median" {
            return Ok(Self::Median);
        }
        Figure::parse(text).map(Self::Figure).with_context(|| format!("no figure: \"{text}\""))
    }
}

impl Figure {
    fn parse(text: &str) -> Option<Self> {
        let (side, rest) = text.split_once('.')?;
        let (name, keys) = rest.split_once('[').unwrap_or((rest, ""));
        let pair = |pair: &str| pair.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
        let keys = keys.trim_end_matches(']').split(',').filter(|pair| !pair.is_empty());
        let quantity = name.strip_suffix(".count");
        Some(Self {
            side: side.to_owned(),
            quantity: quantity.unwrap_or(name).to_owned(),
            is_count: quantity.is_some(),
            subject: keys.map(pair).collect::<Option<_>>()?,
        })
    }
}

/// The first figure of each side.
pub(super) fn figures(terms: &[Term]) -> Vec<&Figure> {
    let mut known = BTreeSet::new();
    let all = terms.iter().filter_map(|term| match &term.operand {
        Operand::Figure(figure) => Some(figure),
        _ => None,
    });
    all.filter(|figure| known.insert(figure.side.as_str())).collect()
}

/// Its value in each of so many rounds; `column` gives those of a figure.
pub(super) fn values(
    terms: &[Term],
    rounds: usize,
    column: impl Fn(&Figure) -> anyhow::Result<Vec<f64>>,
) -> anyhow::Result<Vec<f64>> {
    let mut values = vec![0.0; rounds];
    for Term { operator, operand } in terms {
        let by = match operand {
            Operand::Number(number) => vec![*number; rounds],
            Operand::Median => vec![median(&values).context("no round")?; rounds],
            Operand::Figure(figure) => column(figure)?,
        };
        ensure!(by.len() == rounds, "not measured in each round");
        values.iter_mut().zip(by).for_each(|(value, by)| *value = operator.apply(*value, by));
    }
    Ok(values)
}

impl Operator {
    fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Plus => left + right,
            Self::Minus => left - right,
            Self::Times => left * right,
            Self::Over => left / right,
        }
    }
}

/// The median; none without values.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some((sorted.get(low)? + sorted.get(high)?) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_is_read_from_left_to_right() {
        let column = |figure: &Figure| {
            Ok(match figure.side.as_str() {
                "a" => vec![6.0, 8.0, 10.0],
                _ => vec![2.0, 2.0, 5.0],
            })
        };
        for (text, expected) in [
            ("a.x / b.x", [3.0, 4.0, 2.0]),
            ("a.x - b.x * 10", [40.0, 60.0, 50.0]),
            ("1 / b.x", [0.5, 0.5, 0.2]),
            ("a.x + b.x / median", [0.8, 1.0, 1.5]),
        ] {
            assert_eq!(values(&parse(text).unwrap(), 3, column).unwrap(), expected, "{text}");
        }
        let short = |_: &Figure| Ok(vec![1.0]);
        assert!(values(&parse("a.x").unwrap(), 3, short).is_err());
    }

    #[test]
    fn a_figure_has_a_side_a_quantity_and_a_part_of_its_subject() {
        let terms = parse("a.b.count[by=two words,class=1 to 4] / c.d").unwrap();
        assert_eq!(figures(&terms)[1].side, "c");
        let figure = figures(&terms)[0];
        assert_eq!((figure.quantity.as_str(), figure.is_count), ("b", true));
        let class = ("class".to_owned(), "1 to 4".to_owned());
        assert_eq!(figure.subject, [("by".into(), "two words".into()), class]);
        assert!(parse("rate").is_err());
        assert!(parse("a.b /").is_err());
        assert!(parse("a.b[c]").is_err());
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
