//! What must hold of every name in the table.

use super::*;

#[test]
fn a_rate_is_better_when_higher_and_a_time_when_lower() {
    let of = |name| quantity(name).unwrap().better;
    assert_eq!(of("rate_bytes_per_s"), Some(Better::Higher));
    assert_eq!(of("response_p99_ns"), Some(Better::Lower));
    assert_eq!(of("depth_achieved"), None);
    assert_eq!(quantity("colour"), None);
}

#[test]
fn names_are_unique_and_end_in_their_unit() {
    for (position, q) in quantities().enumerate() {
        assert!(quantities().take(position).all(|p| p.name != q.name), "{} twice", q.name);
        let ending = match q.unit {
            "B/s" => "bytes_per_s",
            "1/s" => "_per_s",
            "%" => "percent",
            "ns" => "ns",
            "ns/KiB" => "ns_per_kib",
            "B" => "bytes",
            _ => continue,
        };
        assert!(
            q.name.ends_with(ending) || q.name.contains("_ns_per_"),
            "{} does not end in {ending}",
            q.name
        );
    }
}

#[test]
fn what_can_be_below_zero_is_in_the_table() {
    for name in SIGNED {
        assert!(quantity(name).is_some_and(|known| known.is_signed()), "{name}");
    }
    assert!(!quantity("cpu_percent").unwrap().is_signed());
}

#[test]
fn a_count_of_a_footer_means_what_its_quantity_means() {
    for (name, meaning, ..) in crate::record::requests::Counts::ALL {
        let known = quantity(&format!("{name}_count")).unwrap();
        assert_eq!((known.meaning, known.unit), (*meaning, "1"), "{name}");
    }
}
