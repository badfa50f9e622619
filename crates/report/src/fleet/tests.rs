use super::*;
use model::fleet::{Common, FleetFinding};

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
        worst: worst.clone(),
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
        "9 hosts, 1970-01-01 00:00Z to 1970-01-01 00:00Z: 2.00 h lost, 10.0 % of their waiting.",
        "1. Firmware 2.0 of RP06: 3 of 4 hosts lost 2.00 h ± 10.0 min because the device \
         itself stood still (12.0 % of their waiting), since 1970-01-01, 23:00Z to 01:00Z each day. \
         Worst: web\\x1b1. Next: \
         lbolt history fleet/web\\x1b1",
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
