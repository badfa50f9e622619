//! By which functions requests were queued, and in which threads slept: the innermost ones as a
//! table, all of them folded, as programs that draw flame graphs read them.
//!
//! Source: flamegraph.pl and inferno: a line for each stack, its functions with `;` between them
//! and the outermost first, then a blank and a number.
//!
//! Non-goals: drawing.

use super::rows::{self, bytes, some_time};
use super::shown::Shown;
use super::told::Told;
use crate::grid::Grid;
use crate::requests::show_count;
use crate::rows::Column;
use model::record::Finding;
use model::record::subject::Stack;
use std::fmt::Write as _;

/// What a folded stack's number can be, and its quantity.
pub const WEIGHTS: [(&str, &str); 4] = [
    ("requests", "stack_requests_count"),
    ("bytes", "stack_bytes"),
    ("response", "stack_response_ns"),
    ("wait", "stack_waited_ns"),
];

/// Functions of either side that the table has room for.
const FEW: usize = 2;

/// What every request goes through, which tells nothing of it.
const BLOCK_LAYER: [&str; 5] = ["submit_bio", "__submit_bio", "blk_", "block_", "__blk_"];

const COLUMNS: &[Column] = &[
    ("", "requests", "stack_requests_count", show_count),
    ("", "bytes", "stack_bytes", bytes),
    ("", "response", "stack_response_ns", some_time),
    ("", "waited", "stack_waited_ns", some_time),
];

pub(super) fn table(told: &Told<'_>, shown: &Shown) -> Grid {
    let rows = told.stacks.iter().filter(|(of, _)| is_shown(of, shown));
    let rows: Vec<_> = rows.take(shown.rows()).cloned().collect();
    let is_told = |column: &&Column| {
        column.2 != "stack_waited_ns" || rows.iter().any(|(_, of)| of.or_zero(column.2) > 0.0)
    };
    let columns: Vec<Column> = COLUMNS.iter().filter(is_told).copied().collect();
    rows::table(&rows, &[("who", |of| of.role.clone()), ("by", innermost)], &columns).grid()
}

fn is_shown(of: &Stack, shown: &Shown) -> bool {
    shown.has_device(&of.device) && shown.has_role(&[of.role.as_str()])
}

/// The last functions of the program, and the last of the kernel before the block layer.
fn innermost(of: &Stack) -> String {
    let is_of_block_layer = |name: &&str| BLOCK_LAYER.iter().any(|start| name.starts_with(start));
    let user = of.user.rsplit(';').take(FEW);
    let kernel = of.kernel.rsplit(';').skip_while(is_of_block_layer).take(FEW);
    let names: Vec<&str> = kernel.chain(user).filter(|name| !name.is_empty()).collect();
    names.into_iter().rev().collect::<Vec<_>>().join(" > ")
}

/// Every stack of what is shown, in a line of its own; its number is a quantity's of [`WEIGHTS`].
pub fn folded(findings: &[Finding], shown: &Shown, quantity: &str) -> String {
    let mut text = String::new();
    let told = Told::of(findings);
    let of_shown = told.stacks.iter().filter(|(of, _)| is_shown(of, shown));
    for (of, values) in of_shown.filter(|(_, values)| values.or_zero(quantity) > 0.0) {
        let role = of.role.replace(';', "_");
        let parts = [role.as_str(), &of.user, &of.kernel];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let _ = writeln!(text, "{} {:.0}", parts.join(";"), values.or_zero(quantity));
    }
    text
}
