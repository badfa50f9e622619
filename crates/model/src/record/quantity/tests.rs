//! What must hold of every name in the table.

use super::better::{BETTER_HIGHER, BETTER_LOWER};
use super::*;

#[test]
fn what_is_better_is_in_the_table() {
    for name in BETTER_LOWER.iter().chain(BETTER_HIGHER) {
        assert!(quantity(name).is_some(), "{name} is no quantity");
    }
    assert_eq!(quantity("rate_bytes_per_s").unwrap().better(), Some(Better::Higher));
    assert_eq!(quantity("depth_achieved").unwrap().better(), None);
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
