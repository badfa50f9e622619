//! DiskSim's ASCII traces, its default input: `ARRIVAL_MS DEVICE BLOCK BLOCKS FLAGS`, blocks of 512
//! bytes, flags in hexadecimal (1 is a read). Devices are numbered in the order in which they are
//! met, as DiskSim wants small numbers.

use super::missing::BEYOND_TRANSFERS;
use super::names::Names;
use super::{ExportError, ExportFormat, ExportRows, Missing};
use model::record::{Flags, Op};
use std::path::Path;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "disksim-ascii",
    meaning: "DiskSim's ASCII traces: reads and writes by their arrival",
    lacks: &[
        BEYOND_TRANSFERS,
        &[
            Missing::Flush,
            Missing::Discard,
            Missing::Completed,
            Missing::Sectors,
            Missing::DeviceName,
        ],
    ],
    flags: Flags(0),
    replaces: true,
    write,
};

fn write(rows: &mut ExportRows<'_>, output: &Path) -> Result<(), ExportError> {
    let mut file = rows.create(output)?;
    let mut names = Names::default();
    let mut zero_ns = None;
    while let Some(row) = rows.next_row()? {
        let (device, _, _) = names.of(row.device, rows.provenance());
        let arrival = row.arrival_ns().unwrap_or(0);
        // Simulated time begins at 0.
        let since_zero = arrival.saturating_sub(*zero_ns.get_or_insert(arrival.min(0))).max(0);
        file.text(format_args!(
            "{}.{:06} {device} {} {} {:x}\n",
            since_zero / 1_000_000,
            since_zero % 1_000_000,
            row.offset_bytes.unwrap_or(0) / 512,
            row.length_bytes.div_ceil(512),
            u8::from(row.op == Op::Read),
        ))?;
    }
    rows.finish(file)
}
