//! Instances of one program, as victim and as cause.

use super::*;

/// The same load, but both are backends of PostgreSQL, of a cluster each.
#[test]
fn one_instance_of_a_program_is_the_victim_of_another() {
    let of = |clusters: [(u64, Option<&str>); 2]| {
        let mut load = Load::with(&["postgres: app a [local]", "postgres: app b [local]"]);
        load.reads(1, 20, |begin_ns| if is_in_burst(begin_ns) { 3 * MS } else { MS });
        let bursts = (0..20 * 500).map(|n| n * 2 * MS).filter(|ns| is_in_burst(*ns));
        bursts.for_each(|ns| load.request(2, Op::Write, ns, 2 * MS, 1 << 20));
        for (process, (main, unit)) in load.context.processes.iter_mut().zip(clusters) {
            (process.main_process, process.main_processes) = (Some(main), Some(2));
            process.unit = unit.map(str::to_owned);
        }
        named(&load.findings())
    };
    let pair = |found: &[(String, String, f64)]| match found {
        [(victim, cause, _)] => format!("{victim} behind {cause}"),
        _ => format!("{found:?}"),
    };
    assert_eq!(of([(7, None), (7, None)]), [], "of one cluster nobody else is to blame");
    let by_hand = pair(&of([(7, None), (8, None)]));
    assert_eq!(by_hand, "postgres: backend (of 7) behind postgres: backend (of 8)");
    let services = ["/s/postgresql@15-main.service", "/s/postgresql@16-main.service"];
    let as_services = pair(&of([(7, Some(services[0])), (8, Some(services[1]))]));
    assert_eq!(as_services, "postgres: backend (15-main) behind postgres: backend (16-main)");
}
