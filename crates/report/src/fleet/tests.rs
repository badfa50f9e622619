//! Tests of a fleet as text and as a page: what is said first, bounds, and that names are text.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::chart::{Chart, Values};
use model::fleet::{Common, FleetFinding, FleetModel, FleetPictures, FleetTrack};
use model::history::{DAY_NS, HOUR_NS};

fn fleet() -> (Fleet, About) {
    let worst = Found { host: "web\x1b1".into(), source: 0 };
    let finding = FleetFinding {
        common: Common::Firmware,
        key: "2.0".into(),
        model: "RP06".into(),
        cause: "<device>".into(),
        hosts: 3,
        of_hosts: 4,
        lost_ns: 7.2e12,
        half_ns: 6e11,
        percent: 12.0,
        since_unix_ns: Some(0),
        hours: Some((23, 2)),
        worst: vec![worst.clone()],
        ..FleetFinding::default()
    };
    let line = FleetLine {
        group: "web\x1b1".into(),
        hosts: 1,
        lost_ns: 3.6e12,
        half_ns: 1e9,
        percent: Some(12.0),
        cause: Some(("<device>".into(), 3e12)),
        p99_ns: Some(5_000_000),
        worst: worst.clone(),
        ..FleetLine::default()
    };
    let storm = FleetStorm {
        cause: "backup".into(),
        until_unix_ns: 3_600_000_000_000,
        hours: 1,
        hosts: 3,
        storms: 9,
        lost_ns: 1e10,
        worst: worst.clone(),
        ..FleetStorm::default()
    };
    let fleet = Fleet {
        hosts: 9,
        span_unix_ns: (0, 3 * 86_400_000_000_000),
        lost_ns: 7.2e12,
        waited_ns: 72_000_000_000_000,
        findings: vec![finding],
        lines: vec![line; 60],
        storms: vec![storm],
        ..Fleet::default()
    };
    let places = vec![Place { path: "fleet/web\x1b1".into(), hosts: 1, page: String::new() }];
    (fleet, About { places, ..About::default() })
}

#[test]
fn the_first_screen_answers_within_forty_lines_and_steers_no_terminal() {
    let (fleet, about) = fleet();
    let text = table(&fleet, &about);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.lines().count() <= 40, "{text}");
    for sentence in [
        "9 hosts, 1970-01-01 00:00Z to 1970-01-04 00:00Z: 2.00 h lost, 10.0 % of their waiting.",
        "1. Firmware 2.0 of RP06: 3 of 4 hosts lost 2.00 h ± 10.0 min because the device \
         itself stood still (12.0 % of their waiting), since 1970-01-01, 23:00Z to 01:00Z each \
         day. Worst: web\\x1b1. Next: lbolt history $'fleet/web\\0331'",
        "Storms on many hosts at once: backup on up to 3 hosts (1 hour, 10.0 s lost",
    ] {
        assert!(words.contains(sentence), "no \"{sentence}\" in: {words}");
    }
    for text in [text, markdown(&fleet, &about), csv(&fleet, &about)] {
        assert!(!text.contains('\x1b'), "{text}");
    }
    let all = table(&fleet, &About { shows_all: true, ..about });
    assert!(all.lines().count() > 60 && all.contains("3 at once"), "{all}");
}

#[test]
fn json_has_what_the_sentences_say_unrounded() {
    let (fleet, about) = fleet();
    let json: serde_json::Value = serde_json::from_str(&json(&fleet, &about).unwrap()).unwrap();
    assert_eq!(json["schema"], "lbolt.fleet/1");
    assert_eq!(json["findings"][0]["common"], "firmware");
    assert_eq!(json["findings"][0]["lost_high_ns"], 7.8e12);
    assert_eq!(json["rows"][0]["lost_low_ns"], 3.599e12);
    assert_eq!(json["storms"][0]["hosts"], 3);
    let calm = Fleet { findings: Vec::new(), ..fleet };
    assert!(table(&calm, &about).contains("Nothing stands out"));
}

/// Hosts that lost a second in each hour of so many days, the first one most; not watched on the
/// first day.
fn drawn(hosts: usize, days: usize) -> FleetPictures {
    let lost = |hour: usize, of: usize| (hour >= 24).then_some((hosts - of) as i64 * 1_000_000);
    let track = |of: usize| FleetTrack {
        host: Found { host: format!("host</script>{of}"), source: 0 },
        lost_ns: (0..24 * days).map(|hour| lost(hour, of)).collect(),
    };
    let model = |of: usize| FleetModel {
        model: format!("RP0{of}"),
        hosts: 3,
        requests: 1_000,
        quantiles_ns: vec![(0.5, 60_000), (0.9, 100_000), (0.99, 500_000)],
    };
    FleetPictures {
        from_unix_ns: 20_000 * DAY_NS,
        bin_ns: HOUR_NS,
        is_spread: true,
        hosts: (0..hosts).map(track).collect(),
        models: (0..10).map(model).collect(),
    }
}

fn numbers(chart: &Chart, place: usize) -> Vec<Option<f64>> {
    match &chart.columns[place].values {
        Values::Numbers(numbers) => numbers.clone(),
        Values::Texts(_) => vec![],
    }
}

#[test]
fn the_page_answers_first_and_draws_what_was_lost_when() {
    let (mut fleet, mut about) = fleet();
    fleet.pictures = Some(drawn(30, 3));
    about.places[0].page = "./fleet/web%1B1/report.html".into();
    about.notes = vec!["one input is broken.".into()];
    let page = page(&fleet, &about, &["lbolt".into(), "fleet".into(), "a b".into()]);
    let facts = &page.runs[0];
    assert_eq!(facts.cards[0].word, "1. Firmware 2.0 of RP06: 3 of 4 hosts");
    assert_eq!(facts.cards[0].number, "2.00 h lost");
    assert_eq!(facts.doubts, ["One input is broken."]);
    assert_eq!(facts.command, "lbolt fleet 'a b'");
    let ids: Vec<&str> = page.sections.iter().map(|section| section.id.as_str()).collect();
    assert_eq!(ids, ["lines", "lost", "responses", "storms"]);
    let [multiples, heat] = &page.sections[1].charts[..] else { panic!("two charts") };
    assert_eq!(multiples.title, "Time lost per day: the worst 24 hosts");
    let days = numbers(multiples, 2);
    assert_eq!(days[..3], [None, Some(24.0 * 30e6), Some(24.0 * 30e6)], "not watched is no zero");
    assert_eq!(days.len(), 24 * 3);
    // The worst host is at the top, in a unit that keeps numbers short.
    assert_eq!(heat.y.names.last().map(String::as_str), Some("host</script>0"));
    let hours = numbers(heat, 0);
    assert_eq!((hours.len(), heat.columns[0].unit.as_str()), (30 * 72, "µs"));
    assert_eq!((hours[0], hours.last().copied().flatten()), (None, Some(30_000.0)));
    let table = heat.lines().unwrap();
    assert_eq!(numbers(&table, 1)[0], Some(48.0 * 30_000.0), "the first line is the worst host");
    let models = &page.sections[2].charts;
    assert_eq!(numbers(&models[0], 2).len(), 8 * 3);
    assert!(models[0].notes[0].contains("2 more with --by model"), "{:?}", models[0].notes);
    let html = crate::page::html(&page).unwrap();
    assert!(html.contains("<a href=\"./fleet/web%1B1/report.html\">"), "a link to a host's page");
    assert!(!html.contains("host</script>") && !html.contains('\x1b'), "names are text");
    assert!(html.contains("<td class=\"number\">2024-10-04 00:00Z</td>"), "moments are dates");
}

#[test]
fn the_page_of_any_fleet_is_small() {
    let (mut fleet, mut about) = fleet();
    fleet.hosts = 20_000;
    fleet.lines =
        vec![
            FleetLine { group: "a-host-of-a-fleet.example".into(), ..fleet.lines[0].clone() };
            20_000
        ];
    fleet.storms = vec![fleet.storms[0].clone(); 3_000];
    fleet.findings = vec![fleet.findings[0].clone(); 300];
    fleet.pictures = Some(drawn(100, 31));
    about.places[0].path = "a-host-of-a-fleet.example/var/lib/lbolt/history".into();
    let html = crate::page::html(&page(&fleet, &about, &[])).unwrap();
    assert!(html.len() < 1_500_000, "{}", html.len());
    assert!(html.contains("--format csv prints 19000 more"));
}

#[test]
fn bars_of_any_time_are_few() {
    for (days, title) in [(1, "per hour"), (2, "per hour"), (31, "per day"), (40, "per 2 days")] {
        let (mut fleet, about) = fleet();
        fleet.pictures = Some(drawn(4, days));
        let page = page(&fleet, &about, &[]);
        let lost = page.sections.iter().find(|section| section.id == "lost");
        let Some(chart) = lost.and_then(|section| section.charts.first()) else {
            panic!("{days} days: no chart")
        };
        assert!(chart.title.contains(title), "{}", chart.title);
        assert!(chart.x.bins <= Some(48), "{:?}", chart.x);
    }
}
