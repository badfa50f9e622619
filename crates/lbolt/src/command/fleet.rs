//! `lbolt fleet`: which of many hosts lost most, to what, and since when.

use super::print;
use crate::resolve::history::Known;
use crate::run::fleet::{Inputs, gather};
use crate::run::session::control;
use ::verdict::fleet::Asked;
use cli::{FleetOptions, Format};
use messages::fault::{Fault, failure};
use messages::output::{note, terminal_width};
use report::fleet::About;

/// For users' own Spark.
const SPARK_SCRIPT: &str = include_str!("../../../../packaging/lbolt_spark.py");

/// Runs the command.
/// Errors: nothing that can be read; a time that is none; interruption.
pub(super) fn run(options: &FleetOptions) -> anyhow::Result<()> {
    if options.spark_script {
        return print(SPARK_SCRIPT);
    }
    host::memory::keep_freed();
    let control = control()?;
    let inputs = Inputs::open(&options.paths, &control)?;
    let Some(span_unix_ns) = inputs.span() else {
        inputs.notes().iter().for_each(|said| note(said));
        let sentence = "failed to read a fleet: the inputs contain no history and no rollup; \
                        `lbolt watch` and `lbolt rollup` create them";
        return Err(failure(Fault::Usage, sentence));
    };
    let now_unix_ns = i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
    let known = Known { span_unix_ns, now_unix_ns };
    let place_ns = |point| known.place_ns(point);
    let from_unix_ns = options.from.map_or(span_unix_ns.0, place_ns).max(span_unix_ns.0);
    let until_unix_ns = options.to.map_or(span_unix_ns.1, place_ns).min(span_unix_ns.1);
    let change_unix_ns = options.before_after.map(place_ns);
    let refused = |why: &str| failure(Fault::Usage, format!("failed to select a time: {why}"));
    if from_unix_ns >= until_unix_ns {
        return Err(refused("nothing was watched from --from to --to; choose a time within it"));
    }
    if change_unix_ns.is_some_and(|at| at <= from_unix_ns || at >= until_unix_ns) {
        return Err(refused("--before-after is not within the time that was watched"));
    }
    let asked = Asked { from_unix_ns, until_unix_ns, by: options.by, change_unix_ns };
    let (fleet, places, notes) = gather(&inputs, asked, &control)?;
    let width = terminal_width();
    let about = About { places, notes, shows_all: options.all, width };
    print(&match options.format {
        Format::Table => report::fleet::table(&fleet, &about),
        Format::Json => report::fleet::json(&fleet, &about)?,
        Format::Markdown => report::fleet::markdown(&fleet, &about),
        Format::Csv => {
            about.notes.iter().for_each(|said| note(said));
            report::fleet::csv(&fleet, &about)
        }
    })
}
