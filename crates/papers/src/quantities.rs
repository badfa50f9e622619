//! The quantities of the papers' findings: what was published, and what the models give for it.

use model::record::Quantity;

/// The keys of a routine of 1980.
const ROUTINE: &[&[&str]] =
    &[&["condition", "direction", "library", "machine", "operating_system", "paper", "routine"]];
/// The keys of a computer of 1980.
const COMPUTER: &[&[&str]] = &[&["machine", "paper"]];

/// The keys of a cell of 1983.
const CELL: &[&[&str]] = &[
    &["condition", "controller", "cpu", "drives", "file_system", "paper", "program"],
    &["drives", "paper", "program", "scenario", "variant"],
];
/// The keys of cells that are judged together.
const GROUP: &[&[&str]] = &[&["group", "paper"]];

/// The keys of a count of ticks of 1986.
const TICKS: &[&[&str]] = &[&["paper", "ticks"]];
/// The keys of a remedy of 1986.
const REMEDY: &[&[&str]] = &[&["op", "paper", "remedy", "writes_per_sync"]];

/// The keys of a whole second since a sync, of 1986.
const SECOND: &[&[&str]] = &[&["paper", "second"]];

model::quantities! {
    /// All of them.
    pub const QUANTITIES of {
        routine: ROUTINE, "papers";
        computer: COMPUTER, "papers";
        cell: CELL, "papers";
        group: GROUP, "papers";
        ticks: TICKS, "papers";
        remedy: REMEDY, "papers";
        second: SECOND, "papers";
    }

    routine "published_sectors_per_revolution" "1"
        "S of Table 1 (1980): sectors transferred per revolution";
    routine "model_sectors_per_revolution" "1" "S of the model, read off its line as the paper did";
    routine "published_missed_per_call" "1"
        "M of Table 1 (1980): revolutions missed per call; the least where the paper prints a \
         least";
    routine "model_missed_per_call" "1"
        "M of the model; the method says whether it emerges or was fitted";
    routine "published_t_call_ns" "ns" "T_call of Table 1 (1980): CPU time of a call";
    routine "model_t_call_ns" "ns" "T_call that the model's compute-and-test loop gives back";
    routine "published_t_trans_ns" "ns" "T_trans of Table 1 (1980): CPU time of a sector";
    routine "model_t_trans_ns" "ns" "T_trans that the model's compute-and-test loop gives back";
    computer "published_words_per_s" "1/s" "R_max of equations 3 and 4 (1980), in words";
    computer "model_words_per_s" "1/s" "R_max of the model, in words";
    cell "published_rate_bytes_per_s" "B/s" "rate in the tables of 1983, all drives together";
    cell "model_rate_bytes_per_s" "B/s" "rate of the model, mean over the seeds";
    cell "published_cpu_percent" "%" "the program's share of one CPU in the tables of 1983";
    cell "model_cpu_percent" "%" "the program's share of one CPU in the model";
    cell "error_percent" "%" "rate of the model / published rate, minus 1";
    cell "cpu_error_percent" "%" "CPU share of the model minus the published one, in points";
    group "cells_count" "1" "distinct cells without a star";
    group "error_median_percent" "%" "magnitude of the errors";
    group "error_mean_percent" "%" "magnitude of the errors";
    group "error_max_percent" "%" "magnitude of the errors";
    group "within_15_percent" "%" "cells with an error of at most 15 %";
    group "cpu_error_mean_percent" "%" "magnitude of the errors of the CPU share, in points";
    group "cpu_error_max_percent" "%" "magnitude of the errors of the CPU share, in points";
    group "parameters_count" "1" "parameters of the group's models that were fitted to the tables";
    ticks "published_share_percent" "%"
        "responses of this many ticks, of those of 0 to 9 ticks, in the paper of 1986 and in the \
         model";
    ticks "model_share_percent" "%"
        "responses of this many ticks, of those of 0 to 9 ticks, in the paper of 1986 and in the \
         model";
    group "total_variation_distance" "1" "half the sum of the differences of the ten shares";
    remedy "simulated_mean_ns" "ns" "response of the model";
    remedy "simulated_p99_ns" "ns" "response of the model";
    remedy "simulated_max_ns" "ns" "response of the model";
    second "read_after_sync_mean_ns" "ns"
        "response of the model's reads that arrive in this second since a sync (Figure 7)";
}

/// The table's entry of that name.
pub(crate) fn quantity(name: &str) -> Option<&'static Quantity> {
    QUANTITIES.iter().find(|quantity| quantity.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_the_same_here_and_in_the_other_table() {
        for (position, one) in QUANTITIES.iter().enumerate() {
            assert!(
                QUANTITIES[..position].iter().all(|q| q.name != one.name),
                "{} twice",
                one.name
            );
            if let Some(other) = model::record::quantity(one.name) {
                assert_eq!((one.unit, one.meaning), (other.unit, other.meaning), "{}", one.name);
            }
        }
    }
}
