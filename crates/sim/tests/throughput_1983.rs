//! The cells of Kridle & McKusick 1983 on the models: what is demanded of the fit, and what came of it.

#![allow(clippy::unwrap_used)]

use sim::papers::fit_1983::{DRIVER_PERCENT, driver_percents, median};
use sim::papers::parameters_1983::PARAMETERS;
use sim::papers::throughput_1983::{Cell, Outcome, cells, evaluate, fitted_parameters};

fn table() -> Vec<Cell> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/throughput-1983.csv");
    cells(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn percents(outcomes: &[&Outcome]) -> Vec<f64> {
    outcomes.iter().map(|outcome| outcome.error().abs() * 100.0).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_tables_have_93_distinct_cells_and_three_starred_ones() {
    let all = table();
    assert_eq!(all.len(), 96);
    assert_eq!(all.iter().filter(|cell| cell.is_suspect).count(), 3);
    assert_eq!(all.iter().filter(|cell| cell.is_emulex()).count(), 56);
    // Table 3 corrects table 1's share of the processor and rounds nothing away.
    let read = |cell: &&Cell| cell.machine == "vax750-uda50-ra81" && cell.drives == 2;
    let read = all.iter().find(read).unwrap();
    assert_eq!(
        (read.kib_per_s, read.cpu_percent, &read.tables[..]),
        (520.0, Some(84.0), &[1, 3][..])
    );
}

#[test]
fn the_parameters_are_no_more_than_the_issue_allows_and_all_are_in_the_profiles() {
    let fitted = fitted_parameters().unwrap();
    assert!(fitted.len() <= 42, "{} fitted parameters", fitted.len());
    for parameter in PARAMETERS {
        let is_it = |(file, key): &(String, String)| {
            file.ends_with(parameter.profile) && key == parameter.key
        };
        assert!(fitted.iter().any(is_it), "{} {}", parameter.profile, parameter.key);
    }
}

#[test]
fn the_models_reach_what_is_published_of_them() {
    let outcomes = evaluate(&table(), 1).unwrap();
    let fitted: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.is_fitted()).collect();
    let errors = percents(&fitted);
    let within = errors.iter().filter(|error| **error <= 15.0).count() as f64 / errors.len() as f64;
    let emulex: Vec<&Outcome> = fitted.iter().filter(|o| o.cell.is_emulex()).copied().collect();
    let points: Vec<f64> =
        fitted.iter().filter_map(|o| o.cpu_error_points()).map(f64::abs).collect();
    let found =
        [median(&errors), mean(&errors), 100.0 * within, median(&percents(&emulex)), mean(&points)];
    let resisting: Vec<String> =
        fitted.iter().filter(|o| o.error().abs() > 0.15).map(|o| o.cell.name()).collect();
    let drivers = driver_percents(&outcomes);
    let all = format!("{found:.1?} {drivers:.1?} {resisting:#?}");
    // Demanded are a median of 4 %, a mean of 6 %, 92 % within 15 %, Emulex' median of 3 %, 5 points, as the mean of
    // eight seeds; here it is one.
    assert_eq!(format!("{found:.1?}"), "[3.4, 5.2, 94.6, 3.1, 3.8]", "{all}");
    for percent in drivers.values() {
        let (least, most) = (DRIVER_PERCENT.start() - 0.5, DRIVER_PERCENT.end() + 0.5);
        assert!((least..=most).contains(percent), "{all}");
    }
    // The starred cells are far beyond what the others leave unexplained, as the paper suspected.
    let starred: Vec<&Outcome> = outcomes.iter().filter(|outcome| !outcome.is_fitted()).collect();
    assert!(starred.iter().all(|outcome| outcome.error() > 0.35), "{:?}", percents(&starred));
}
