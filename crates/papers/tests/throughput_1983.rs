//! The cells of Kridle & McKusick 1983 on the models: what is demanded of the fit, and what came of
//! it.

#![allow(clippy::unwrap_used)]

use papers::throughput_1983::fit::{DRIVER_PERCENT, Fit, Weights, driver_percents};
use papers::throughput_1983::parameters::PARAMETERS;
use papers::throughput_1983::{
    Cell, Errors, Outcome, RESISTS_PERCENT, TABLE, cells, evaluate, fitted_parameters, machines,
};

fn table() -> Vec<Cell> {
    cells(TABLE).unwrap()
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
    // Each of the five tables is there: table 4 has the Emulex' cells of tables 1 and 2 again.
    let printed = |number| all.iter().filter(|cell| cell.tables.contains(&number)).count();
    assert_eq!([1, 2, 3, 4, 5].map(printed), [32, 40, 24, 32, 40]);
}

#[test]
fn the_parameters_are_no_more_than_the_issue_allows_and_all_are_in_the_profiles() {
    let fitted = fitted_parameters(machines()).unwrap();
    // 35 by the search; four choices beside it: the rotational delay of the SI 9900's file system
    // and of the evolution's middle stage, whether SC780 and SC750 search beside a transfer, and
    // whether the UDA50 overlaps commands.
    assert_eq!((PARAMETERS.len(), fitted.len()), (35, 40), "at most 42 are allowed: {fitted:#?}");
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
    let all = Errors::of(&outcomes).unwrap();
    let emulex = Errors::of(outcomes.iter().filter(|outcome| outcome.cell.is_emulex())).unwrap();
    let found = [
        all.median_percent,
        all.mean_percent,
        all.within_percent,
        emulex.median_percent,
        all.cpu_points.unwrap(),
    ];
    let (fitted, starred): (Vec<&Outcome>, Vec<&Outcome>) =
        outcomes.iter().partition(|outcome| outcome.is_fitted());
    assert_eq!((all.cells, emulex.cells), (fitted.len(), 56));
    let resists = |outcome: &&&Outcome| 100.0 * outcome.error().abs() > RESISTS_PERCENT;
    let resisting: Vec<String> = fitted.iter().filter(resists).map(|o| o.cell.name()).collect();
    let drivers = driver_percents(&outcomes);
    let all = format!("{found:.1?} {drivers:.1?} {resisting:#?}");
    // Demanded are a median of 4 %, a mean of 6 %, 92 % within 15 %, Emulex' median of 3 %, 5
    // points, as the mean of eight seeds; here it is one.
    assert_eq!(format!("{found:.1?}"), "[3.4, 5.2, 94.6, 3.1, 3.8]", "{all}");
    for percent in drivers.values() {
        let (least, most) = (DRIVER_PERCENT.start() - 0.5, DRIVER_PERCENT.end() + 0.5);
        assert!((least..=most).contains(percent), "{all}");
    }
    // The starred cells are far beyond what the others leave unexplained, as the paper suspected.
    assert!(starred.len() == 3 && starred.iter().all(|outcome| outcome.error() > 0.35));
    assert_eq!(Errors::of(starred), None);
}

#[test]
fn an_assumption_that_no_machine_has_is_refused() {
    let mut fit = Fit::new(&table(), PARAMETERS, 1 << 20, Weights::default()).unwrap();
    // Only the UDA50 has credits; nobody has debits.
    assert_eq!(fit.set("controller.credits", "6"), Ok(()));
    let error = fit.set("controller.debits", "6").unwrap_err().to_string();
    assert!(error.contains("is not a key of this model"), "{error}");
}
