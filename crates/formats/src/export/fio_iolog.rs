//! fio's I/O log, version 3, for `fio --read_iolog`: `TIME_US FILE ACTION [OFFSET LENGTH]`.
//!
//! What was requested is replayed: of a flush sequence the request itself, not what the device made
//! of it. Devices are files of their noted names (`--replay_redirect` sends all to another); they
//! are added and opened where they are met.
//!
//! Times begin at 1: fio 3.33 skips the pause behind a line of time 0.

use super::missing::{BEYOND_TRANSFERS, is_flush};
use super::names::Names;
use super::{ExportError, ExportFormat, ExportRows, Missing};
use model::record::{Flags, Op, Request};
use model::text::is_unsafe;
use std::path::Path;

/// fio reads no longer names.
const NAME_BYTES: usize = 255;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "fio-iolog",
    meaning: "fio's I/O log, version 3, to be replayed by fio --read_iolog",
    lacks: &[BEYOND_TRANSFERS, &[Missing::Completed, Missing::Microseconds]],
    flags: Flags(0),
    replaces: true,
    write,
};

fn write(rows: &mut ExportRows<'_>, output: &Path) -> Result<(), ExportError> {
    let mut file = rows.create(output)?;
    file.text(format_args!("fio version 3 iolog\n"))?;
    let mut names = Names::default();
    let mut open: Vec<String> = Vec::new();
    let mut zero_us = None;
    let mut last_us = 1;
    while let Some(row) = rows.next_row()? {
        let arrival_us = row.arrival_ns().unwrap_or(0).div_euclid(1000);
        let since_zero = arrival_us.saturating_sub(*zero_us.get_or_insert(arrival_us));
        // A row that stands late in its order must not send the clock back.
        last_us = since_zero.saturating_add(1).max(last_us);
        let (place, name, is_new) = names.of(row.device, rows.provenance());
        if is_new {
            let name = plain(name);
            file.text(format_args!("{last_us} {name} add\n{last_us} {name} open\n"))?;
            open.push(name);
        }
        let (action, offset, length) = action(&row);
        let name = &open[place];
        file.text(format_args!("{last_us} {name} {action} {offset} {length}\n"))?;
    }
    for name in open {
        file.text(format_args!("{last_us} {name} close\n"))?;
    }
    rows.finish(file)
}

fn action(row: &Request) -> (&'static str, u64, u32) {
    let action = match row.op {
        _ if is_flush(row) => return ("sync", 0, 0),
        Op::Write => "write",
        Op::Discard => "trim",
        _ => "read",
    };
    (action, row.offset_bytes.unwrap_or(0), row.length_bytes)
}

/// A name without white space, which would end it, and not too long.
fn plain(name: &str) -> String {
    let mut plain = name.replace(|c: char| c.is_whitespace() || is_unsafe(c), "_");
    while plain.len() > NAME_BYTES {
        plain.pop();
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_word() {
        assert_eq!(plain("a b\tc\u{202e}"), "a_b_c_");
        assert_eq!(plain(&"ä".repeat(200)).len(), 254);
    }
}
