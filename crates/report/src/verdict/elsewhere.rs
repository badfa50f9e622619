//! Waits of no known device, and which of them are known to have been for a device that was not
//! captured; and those that are too short to be told one by one, of which only a sum is known.
//!
//! Non-goals: which wait is for which device (`verdict`).

use super::looked::LARGE_NS;
use super::shown::Shown;
use super::told::{Of, Told, Values};
use model::record::subject::Class;
use model::units::show_time_ns;

/// Less waiting elsewhere than this is no sentence.
const LEAST_NS: f64 = 1e9;
/// Roles that are named.
const ROLES_MOST: usize = 3;

/// Whether the trace is of named devices and lacks nothing of these: then what it has no request of
/// was on another device.
pub(super) fn is_whole_of_named_devices(told: &Told<'_>) -> bool {
    told.run.get("named_devices_whole") == Some(1.0)
}

/// Waits for an unknown device, where they come to this.
pub(super) fn unplaced(told: &Told<'_>, least_ns: f64) -> Option<String> {
    let unknown_ns =
        |values: &Values<'_>| values.or_zero("unplaced_waits_ns") - elsewhere_ns(told, values);
    let (ns, roles) = of_roles(told, &unknown_ns, least_ns)?;
    Some(format!("threads waited {ns} without a request ({roles}) for an unknown device"))
}

/// `Threads waited 5.00 s for devices that were not captured (finder 5.00 s).`
pub(super) fn elsewhere(told: &Told<'_>) -> Option<String> {
    let (ns, roles) = of_roles(told, &|values: &Values<'_>| elsewhere_ns(told, values), LEAST_NS)?;
    Some(format!("Threads waited {ns} for devices that were not captured ({roles})."))
}

fn elsewhere_ns(told: &Told<'_>, values: &Values<'_>) -> f64 {
    match is_whole_of_named_devices(told) {
        true => values.or_zero("unplaced_untraced_ns"),
        false => 0.0,
    }
}

/// How much of the waiting is such, where it comes to this, and whose most of it is.
fn of_roles(
    told: &Told<'_>,
    such_ns: &dyn Fn(&Values<'_>) -> f64,
    least_ns: f64,
) -> Option<(String, String)> {
    let ns = Some(such_ns(&told.run)).filter(|ns| *ns > 0.0 && *ns >= least_ns)?;
    Some((show_time_ns(ns), largest(&told.unplaced, such_ns, 0.0)))
}

/// `db 3.00 s, web 1.20 s`: the roles of which it is most, and at least so long.
fn largest(roles: &[Of<'_, Class>], such_ns: &dyn Fn(&Values<'_>) -> f64, least_ns: f64) -> String {
    let times = roles.iter().map(|(role, values)| (&role.class, such_ns(values)));
    let mut times: Vec<_> = times.filter(|(_, ns)| *ns > 0.0 && *ns >= least_ns).collect();
    times.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let named = times.iter().take(ROLES_MOST);
    let named = named.map(|(role, ns)| format!("{role} {}", show_time_ns(*ns)));
    named.collect::<Vec<_>>().join(", ")
}

/// ` (hog 23.7 s)`: whose waits are too short to be told one by one, where these are much.
pub(super) fn short(told: &Told<'_>) -> String {
    let short_ns = |values: &Values<'_>| values.or_zero("short_waits_ns");
    match largest(&told.short, &short_ns, LARGE_NS) {
        none if none.is_empty() => none,
        roles => format!(" ({roles})"),
    }
}

/// Waits that are not told one by one, of the selected roles: how long, and in words.
pub(super) fn brief(told: &Told<'_>, shown: &Shown) -> (f64, String) {
    let of_shown = told.short.iter().filter(|(role, _)| shown.has_role(&[&role.class]));
    let ns: f64 = of_shown.map(|(_, values)| values.or_zero("short_waits_ns")).sum();
    let time = show_time_ns(ns);
    let or = match is_whole_of_named_devices(told) {
        true => ", or for devices that were not captured",
        false => "",
    };
    (ns, format!("threads waited {time} in waits too short to be told one by one{or}"))
}
