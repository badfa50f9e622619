//! What a drawn figure of the page is: its data in columns, and what each column is to the drawing.
//! The script of `viewer/` draws it; the page itself shows the same columns as a table.
//!
//! Non-goals: drawing; which charts there are.

use crate::figure::Figure;
use crate::number::RateUnit;
use crate::words::{first_seen, name};
use serde::Serialize;

/// How a chart is drawn: a file each in `viewer/src/chart`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Bars with intervals from zero, grouped.
    Bars,
    /// Parts of a whole.
    Stack,
    /// Dots with intervals, a row for each category.
    Dots,
    /// Box plots.
    Boxes,
    /// Lines with bands.
    Lines,
    /// Points with the lines fitted to them, and residuals.
    Points,
    /// How many fell into each bin of two axes.
    Heat,
    /// Numbers of bins of time.
    Over,
    /// Bars over time, a small plane for each category.
    Multiples,
}

/// How an axis is divided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By powers.
    Log,
}

/// Of values that span more than this, the smaller ones are told apart by powers only.
const DECADE: f64 = 10.0;

impl Scale {
    /// What suits these values: by powers where they span more than a decade, and none is zero or
    /// below.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let ends = |(least, most): (f64, f64), value: f64| (least.min(value), most.max(value));
        let (least, most) = values.into_iter().fold((f64::INFINITY, 0.0), ends);
        if least > 0.0 && most > DECADE * least { Self::Log } else { Self::Linear }
    }
}

/// An axis.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// In which unit.
    pub unit: String,
    /// How it is divided.
    pub scale: Scale,
    /// Where its bins begin and end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<(f64, f64)>,
    /// How many bins there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bins: Option<usize>,
    /// What each bin is, where bins have names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl Axis {
    /// An axis without bins.
    pub(crate) fn new(label: &str, unit: &str, scale: Scale) -> Self {
        Self { label: label.into(), unit: unit.into(), scale, ..Self::default() }
    }
}

/// What a column is to the drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The row that a number stands in.
    Category,
    /// Its colour and shape.
    Series,
    /// The number.
    Value,
    /// The lower end of its interval, or of a whisker.
    Low,
    /// The upper end.
    High,
    /// Along the lower axis.
    X,
    /// Along the other.
    Y,
    /// What a fitted line leaves over.
    Residual,
    /// The first quartile.
    Q1,
    /// The median.
    Median,
    /// The third quartile.
    Q3,
    /// The greatest.
    Max,
    /// The name of a point that has one.
    Mark,
    /// Why it is doubted.
    Note,
    /// In the data alone.
    Extra,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Values {
    /// None where there is no number.
    #[serde(serialize_with = "short")]
    Numbers(Vec<Option<f64>>),
    /// Texts.
    Texts(Vec<String>),
}

/// Whole numbers as such: most are, and a heat map has many thousands of them.
fn short<S: serde::Serializer>(values: &[Option<f64>], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Number {
        Whole(i64),
        Other(Option<f64>),
    }
    const WHOLE_MOST: f64 = 9_007_199_254_740_992.0;
    to.collect_seq(values.iter().map(|value| match value {
        Some(whole) if whole.fract() == 0.0 && whole.abs() < WHOLE_MOST => {
            Number::Whole(*whole as i64)
        }
        other => Number::Other(*other),
    }))
}

impl Values {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }
}

/// A column of a chart's data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// The numbers' unit.
    pub unit: String,
    /// What it is to the drawing.
    pub role: Role,
    /// A value a row.
    pub values: Values,
}

/// A line across the chart: a ceiling, the value that nothing changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rule {
    /// On which axis `at` is: `x` or `y`.
    pub axis: &'static str,
    /// Where.
    pub at: f64,
    /// What it is.
    pub label: String,
}

/// A stretch of the lower axis in which something happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Band {
    /// Its begin.
    pub from: f64,
    /// Its end.
    pub until: f64,
    /// Its name; may be empty.
    pub label: String,
}

/// A fitted line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// Of which series.
    pub series: String,
    /// From point to point.
    pub points: Vec<(f64, f64)>,
}

/// A drawn figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    /// Its name in the page's address.
    pub id: String,
    /// Over it.
    pub title: String,
    /// How it is drawn.
    pub kind: Kind,
    /// Pixels that are reserved for it.
    pub height: usize,
    /// Whether two stand beside each other where there is room.
    pub is_half: bool,
    /// How its numbers came about.
    pub method: String,
    /// What a reader must know besides.
    pub notes: Vec<String>,
    /// Across.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// In the order of their colours.
    pub series: Vec<String>,
    /// The data.
    pub columns: Vec<Column>,
    /// Lines across.
    pub rules: Vec<Rule>,
    /// Fitted lines.
    pub fits: Vec<Fit>,
    /// Stretches that are marked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
}

/// A number of a chart with rows: its category, its series, and what it is worth.
pub(crate) type Entry = (String, String, Figure);

/// The numbers of a category that are there; each series is a name and a quantity.
pub(crate) fn entries<'f>(
    category: &str,
    series: &[(&str, &str)],
    figure: impl Fn(&str) -> Option<&'f Figure>,
) -> Vec<Entry> {
    let entry = |(name, quantity): &(&str, &str)| {
        Some((category.to_owned(), (*name).to_owned(), figure(quantity)?.clone()))
    };
    series.iter().filter_map(entry).collect()
}

/// Pixels of what is not rows: axis and margins.
const AROUND: usize = 52;
/// Pixels of a plane of two numbers.
const PLANE: usize = 340;

impl Chart {
    /// A plane of two axes, without data.
    pub(crate) fn plane(id: &str, title: &str, kind: Kind, (x, y): (Axis, Axis)) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            kind,
            height: PLANE,
            is_half: false,
            method: String::new(),
            notes: vec![],
            x,
            y,
            series: vec![],
            columns: vec![],
            rules: vec![],
            fits: vec![],
            bands: vec![],
        }
    }

    /// Numbers in rows by their categories, as bars or dots; none without a number that is told.
    pub(crate) fn rows(
        id: &str,
        title: &str,
        kind: Kind,
        axis: Axis,
        entries: &[Entry],
    ) -> Option<Self> {
        entries.iter().find(|(.., figure)| figure.told().is_some())?;
        let categories = first_seen(entries.iter().map(|(category, ..)| category)).len();
        let unit = axis.unit.clone();
        let number = |of: fn(&Figure) -> Option<f64>| entries.iter().map(move |e| of(&e.2));
        let chart = Self::plane(id, title, kind, (axis, Axis::default()))
            .texts(Role::Category, "name", entries.iter().map(|entry| name(&entry.0)))
            .texts(Role::Series, "series", entries.iter().map(|entry| name(&entry.1)))
            .numbers(Role::Value, "value", &unit, number(Figure::told))
            .numbers(Role::Low, "from", &unit, number(|of| of.told_ends().map(|ends| ends.0)))
            .numbers(Role::High, "to", &unit, number(|of| of.told_ends().map(|ends| ends.1)))
            .texts(Role::Note, "doubts", entries.iter().map(|entry| entry.2.reason()));
        let each = match kind {
            Kind::Bars => 14 + 17 * chart.series.len().max(1),
            _ => 27,
        };
        Some(chart.high(AROUND + each * categories))
    }

    /// With a column of numbers; what is not finite is none.
    pub(crate) fn numbers(
        mut self,
        role: Role,
        name: &str,
        unit: &str,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Self {
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
        let values: Vec<Option<f64>> = values.into_iter().map(finite).collect();
        let is_needed = matches!(role, Role::X | Role::Y | Role::Value);
        if is_needed || values.iter().any(Option::is_some) {
            let values = Values::Numbers(values);
            self.columns.push(Column { name: name.into(), unit: unit.into(), role, values });
        }
        self
    }

    /// With a column of texts; what is empty in every row has none.
    pub(crate) fn texts(
        mut self,
        role: Role,
        name: &str,
        values: impl IntoIterator<Item = String>,
    ) -> Self {
        let values: Vec<String> = values.into_iter().collect();
        if role == Role::Series {
            self.series = first_seen(&values);
        }
        if values.iter().any(|value| !value.is_empty()) {
            let values = Values::Texts(values);
            self.columns.push(Column { name: name.into(), unit: String::new(), role, values });
        }
        self
    }

    /// With how its numbers came about.
    pub(crate) fn by(self, method: &str) -> Self {
        Self { method: method.into(), ..self }
    }

    /// With what a reader must know besides.
    pub(crate) fn noted(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// With a line across.
    pub(crate) fn ruled(mut self, axis: &'static str, at: f64, label: &str) -> Self {
        self.rules.push(Rule { axis, at, label: label.into() });
        self
    }

    /// With its rates in the unit of the tables beside it.
    pub(crate) fn in_rates_of(self, unit: RateUnit) -> Self {
        self.told_in(unit.name, "B/s", unit.bytes_per_s)
    }

    /// With its numbers of a unit in another one, each of which is so many of it.
    pub(crate) fn told_in(mut self, name: &str, unit: &str, each: f64) -> Self {
        for column in self.columns.iter_mut().filter(|column| column.unit == unit) {
            column.unit = name.to_owned();
            if let Values::Numbers(values) = &mut column.values {
                values.iter_mut().flatten().for_each(|value| *value /= each);
            }
        }
        let [x, y] = [&self.x, &self.y].map(|axis| if axis.unit == unit { each } else { 1.0 });
        self.rules.iter_mut().for_each(|rule| rule.at /= if rule.axis == "x" { x } else { y });
        for point in self.fits.iter_mut().flat_map(|fit| &mut fit.points) {
            *point = (point.0 / x, point.1 / y);
        }
        for axis in [&mut self.x, &mut self.y].into_iter().filter(|axis| axis.unit == unit) {
            axis.unit = name.to_owned();
        }
        self
    }

    /// So many pixels high.
    pub(crate) fn high(self, height: usize) -> Self {
        Self { height, ..self }
    }

    /// Beside another, where there is room.
    pub(crate) fn half(self) -> Self {
        Self { is_half: true, ..self }
    }

    /// Of a heat map: how many are in each line of bins, from below; none of other charts.
    pub(crate) fn lines(&self) -> Option<Self> {
        if self.kind != Kind::Heat {
            return None;
        }
        let (across, (from, until)) = (self.x.bins?, self.y.domain?);
        let Values::Numbers(counts) = &self.columns.first()?.values else { return None };
        let lines: Vec<f64> =
            counts.chunks(across.max(1)).map(|line| line.iter().flatten().sum()).collect();
        if !self.y.names.is_empty() {
            return Some(self.named_lines(&lines));
        }
        let edge = |place: usize| {
            let share = place as f64 / lines.len() as f64;
            match self.y.scale {
                Scale::Log => from * (until / from).powf(share),
                Scale::Linear => from + (until - from) * share,
            }
        };
        let edges = |first: usize| (first..first + lines.len()).map(move |place| Some(edge(place)));
        let empty = Self { columns: vec![], ..self.clone() };
        let table = empty
            .numbers(Role::Extra, &format!("{} from", self.y.label), &self.y.unit, edges(0))
            .numbers(Role::Extra, "to", &self.y.unit, edges(1));
        Some(table.numbers(Role::Value, "requests", "", lines.iter().map(|count| Some(*count))))
    }

    /// Lines of bins that have names, from above.
    fn named_lines(&self, lines: &[f64]) -> Self {
        let empty = Self { columns: vec![], ..self.clone() };
        let names = self.y.names.iter().rev().cloned();
        let (name, unit) = self.columns.first().map_or(("", ""), |of| (&of.name, &of.unit));
        let lines = lines.iter().rev().map(|sum| Some(*sum));
        empty.texts(Role::Category, &self.y.label, names).numbers(Role::Value, name, unit, lines)
    }

    /// How many rows its data has.
    pub(crate) fn len(&self) -> usize {
        self.columns.iter().map(|column| column.values.len()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Finding;

    #[test]
    fn whole_numbers_are_written_as_such() {
        let values = Values::Numbers(vec![Some(0.0), None, Some(2.5), Some(-3.0), Some(1e300)]);
        assert_eq!(serde_json::to_string(&values).unwrap_or_default(), "[0,null,2.5,-3,1e+300]");
    }

    #[test]
    fn values_of_more_than_a_decade_are_divided_by_powers() {
        assert_eq!(Scale::of([182.0, 513.0, 900.0, 52_000.0]), Scale::Log);
        for values in [&[1.0, 9.9][..], &[0.0, 100.0], &[-1.0, 100.0], &[]] {
            assert_eq!(Scale::of(values.iter().copied()), Scale::Linear, "{values:?}");
        }
    }

    #[test]
    fn rates_are_told_in_the_unit_of_the_tables_everywhere_in_a_chart() {
        let axes = (Axis::new("size", "B", Scale::Log), Axis::new("rate", "B/s", Scale::Linear));
        let fit = Fit { series: "s".into(), points: vec![(4096.0, 2e9)] };
        let chart = Chart::plane("c", "t", Kind::Lines, axes)
            .numbers(Role::X, "size", "B", [Some(4096.0)])
            .numbers(Role::Y, "rate", "B/s", [Some(3e9)])
            .numbers(Role::Low, "from", "B/s", [None, Some(1e9)])
            .ruled("y", 4e9, "most")
            .ruled("x", 8192.0, "page");
        let chart = Chart { fits: vec![fit], ..chart };
        let told = chart.in_rates_of(RateUnit::for_rates([3e9]));
        assert_eq!((told.x.unit.as_str(), told.y.unit.as_str()), ("B", "MB/s"));
        let units: Vec<&str> = told.columns.iter().map(|column| column.unit.as_str()).collect();
        assert_eq!(units, ["B", "MB/s", "MB/s"]);
        let of = |values: &[Option<f64>]| Values::Numbers(values.to_vec());
        let expected = [of(&[Some(4096.0)]), of(&[Some(3e3)]), of(&[None, Some(1e3)])];
        assert!(told.columns.iter().map(|column| &column.values).eq(&expected), "{told:?}");
        assert_eq!([told.rules[0].at, told.rules[1].at], [4e3, 8192.0]);
        assert_eq!(told.fits[0].points, [(4096.0, 2e3)]);
    }

    #[test]
    fn what_tables_cannot_tell_is_not_drawn_and_the_data_says_why() {
        let found = Finding { value: Some(3045.0), ..Finding::default() };
        let found = Finding { low: Some(0.4), high: Some(6089.0), ..found };
        let told = Figure::of(&found);
        let mut open = told.clone();
        open.is_open = true;
        let entry = |figure: &Figure| ("fsync".to_owned(), "p50".to_owned(), figure.clone());
        let rows = |entries: &[Entry]| Chart::rows("c", "t", Kind::Dots, Axis::default(), entries);
        assert!(rows(&[entry(&open)]).is_none());
        let chart = rows(&[entry(&told), entry(&open)]).unwrap();
        let values = |role| {
            let column = chart.columns.iter().find(|column| column.role == role);
            column.map(|column| column.values.clone()).unwrap()
        };
        for (role, value) in [(Role::Value, 3045.0), (Role::Low, 0.4), (Role::High, 6089.0)] {
            assert_eq!(values(role), Values::Numbers(vec![Some(value), None]), "{role:?}");
        }
        let Values::Texts(notes) = values(Role::Note) else { panic!("{chart:?}") };
        assert!(notes[0].is_empty() && notes[1].starts_with("cannot tell: "), "{notes:?}");
    }

    #[test]
    fn what_is_no_number_is_none_and_empty_columns_are_left_out() {
        let axes = (Axis::default(), Axis::default());
        let chart = Chart::plane("c", "t", Kind::Lines, axes)
            .numbers(Role::X, "x", "", [Some(f64::NAN), Some(1.0)])
            .numbers(Role::Low, "low", "", [None, Some(f64::INFINITY)])
            .texts(Role::Note, "doubts", [String::new(), String::new()]);
        assert_eq!(chart.columns.len(), 1);
        assert_eq!(chart.columns[0].values, Values::Numbers(vec![None, Some(1.0)]));
        assert_eq!(chart.len(), 2);
        assert!(Chart::rows("c", "t", Kind::Bars, Axis::default(), &[]).is_none());
    }
}
