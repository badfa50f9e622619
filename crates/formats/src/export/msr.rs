//! MSR Cambridge (2008): `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, times in
//! 100 ns since 1601.
//!
//! Rows are in order of arrival. A device whose noted name is `HOST.DISK` keeps it; any other is a
//! disk of the host `lbolt`, in the order in which devices are met. If the wall clock is not known,
//! times count from 1970.

use super::missing::BEYOND_TRANSFERS;
use super::names::Names;
use super::{ExportError, ExportFormat, ExportRows, Missing};
use crate::import::FILETIME_OF_1970;
use model::record::{Flags, Op};
use model::text::is_unsafe;
use std::path::Path;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "msr",
    meaning: "the CSV of MSR Cambridge: reads and writes with their response times",
    lacks: &[
        BEYOND_TRANSFERS,
        &[Missing::Unanswered, Missing::Flush, Missing::Discard, Missing::Nanoseconds],
    ],
    flags: Flags(0),
    replaces: true,
    write,
};

fn write(rows: &mut ExportRows<'_>, output: &Path) -> Result<(), ExportError> {
    let mut file = rows.create(output)?;
    let mut names = Names::default();
    let started_ns = rows.provenance().started_unix_ns;
    if started_ns.is_none() {
        rows.miss(Missing::WallClock);
    }
    let filetime = |ns: i64| {
        let since_1970 = started_ns.unwrap_or(0).saturating_add(ns);
        since_1970.div_euclid(100).saturating_add(FILETIME_OF_1970)
    };
    while let Some(row) = rows.next_row()? {
        // What has none of these was left out.
        let (Some(arrival), Some(completed)) = (row.arrival_ns(), row.completed_ns) else {
            continue;
        };
        let (place, name, _) = names.of(row.device, rows.provenance());
        let (host, disk) = host_and_disk(name, place);
        let is_kept = name == format!("{host}.{disk}");
        if !is_kept && rows.is_named(row.device) {
            rows.miss(Missing::DeviceName);
        }
        let response = filetime(completed) - filetime(arrival);
        file.text(format_args!(
            "{},{host},{disk},{},{},{},{response}\n",
            filetime(arrival),
            if row.op == Op::Read { "Read" } else { "Write" },
            row.offset_bytes.unwrap_or(0),
            row.length_bytes,
        ))?;
    }
    rows.finish(file)
}

fn host_and_disk(name: &str, place: usize) -> (&str, String) {
    match name.rsplit_once('.') {
        Some((host, disk))
            if disk.parse::<u32>().is_ok()
                && !host.is_empty()
                && !host.contains(|c: char| c == ',' || is_unsafe(c)) =>
        {
            (host, disk.to_owned())
        }
        _ => ("lbolt", place.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_that_form_are_kept() {
        assert_eq!(host_and_disk("web.example.3", 7), ("web.example", "3".to_owned()));
        for other in ["vda", "a,b.1", ".1", "a.b", "a\r.1"] {
            assert_eq!(host_and_disk(other, 7), ("lbolt", "7".to_owned()), "{other}");
        }
    }
}
