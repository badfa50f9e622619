//! Names that records had in the version before: `lbolt.samples/2` and `lbolt.findings/1`.

use super::column::Column;
use super::subject::Subject;

/// A name today, and the one before.
type Renamed = (&'static str, &'static str);

const COLUMNS: &[Renamed] = &[
    ("idle_load_loops", "soak_loops"),
    ("idle_load_cpu_ns", "soak_cpu_ns"),
    ("probe_ns", "gauge_ns"),
    ("probe_least_ns", "gauge_least_ns"),
    ("rate_requested_iops", "rate_asked_iops"),
];

const QUANTITIES: &[Renamed] = &[
    ("cpu_total_percent", "cpu_bill_percent"),
    ("cpu_total_operation_ns", "cpu_bill_operation_ns"),
    ("operation_cpu_thread_ns", "operation_cpu_own_ns"),
    ("operation_cpu_idle_load_ns", "operation_cpu_soak_ns"),
    ("cpu_total_difference_ratio", "bill_difference_ratio"),
    ("cpu_total_idle_load_ratio", "bill_soak_ratio"),
    ("cpu_total_trace_ratio", "bill_trace_ratio"),
    ("operation_other_requests_ratio", "operation_beside_ratio"),
    ("kernel_completed_count", "kernel_answered_count"),
    ("completed_count", "answered_count"),
    ("requested_count", "asked_count"),
    ("requested_bytes", "asked_bytes"),
    ("requested_per_s", "asked_per_s"),
];

const ACCOUNTS: &[Renamed] = &[("thread", "own"), ("idle-load", "soak")];

/// The name of today.
fn today(table: &[Renamed], name: String) -> String {
    let found = table.iter().find(|(_, before)| *before == name);
    found.map_or(name, |(today, _)| (*today).to_owned())
}

/// Gives columns the names that they had.
pub(super) fn rename<R>(columns: &mut [Column<R>]) {
    for column in columns {
        let found = COLUMNS.iter().find(|(today, _)| *today == column.name);
        column.name = found.map_or(column.name, |(_, before)| before);
    }
}

/// The quantity's name of today.
pub(super) fn quantity(name: String) -> String {
    today(QUANTITIES, name)
}

/// An account's name of today.
pub(super) fn account(name: String) -> String {
    today(ACCOUNTS, name)
}

/// The subject of that text, with the account's name of today.
pub(super) fn subject(text: &str) -> Option<Subject> {
    let mut subject = Subject::from_text(text)?;
    if let Subject::Routine(routine) = &mut subject {
        routine.account = account(std::mem::take(&mut routine.account));
    }
    Some(subject)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record as _, Sample, quantity as known};

    #[test]
    fn names_of_today_exist_and_those_before_do_not() {
        for (today, before) in QUANTITIES {
            assert!(known(today).is_some() && known(before).is_none(), "{today} {before}");
            assert_eq!(quantity((*before).into()), *today);
        }
        let columns = Sample::columns();
        let has = |name| columns.iter().any(|column| column.name == name);
        assert!(COLUMNS.iter().all(|(today, before)| has(*today) && !has(*before)));
        assert_eq!(quantity("rate_bytes_per_s".into()), "rate_bytes_per_s");
    }

    #[test]
    fn the_account_of_a_subject_has_its_name_of_today() {
        let text = r#"{"access":"read","account":"own","arithmetic":"none","channels":"1",
            "direct":"0","engine":"psync","target":"d","test_interval_ns":"none"}"#;
        let Some(Subject::Routine(routine)) = subject(text) else { panic!("no routine") };
        assert_eq!(routine.account, "thread");
        assert_eq!(account("soak".into()), "idle-load");
    }
}
