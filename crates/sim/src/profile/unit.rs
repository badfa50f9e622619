//! Numbers with units, as they stand in profiles.

/// A kind of quantity, with the units that it can be given in and how many base units each is.
#[derive(Debug)]
pub(super) struct Dimension {
    pub(super) what: &'static str,
    /// The first is the base unit.
    units: &'static [(&'static str, f64)],
}

pub(super) const TIME: Dimension = Dimension {
    what: "a time",
    units: &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10)],
};

/// In bytes a second.
pub(super) const RATE: Dimension = Dimension {
    what: "a rate",
    units: &[
        ("B/s", 1.0),
        ("kB/s", 1e3),
        ("KiB/s", 1024.0),
        ("MB/s", 1e6),
        ("MiB/s", 1_048_576.0),
        ("GB/s", 1e9),
    ],
};

pub(super) const TIME_PER_BYTE: Dimension = Dimension {
    what: "a time per amount of data",
    units: &[
        ("ns/B", 1.0),
        ("us/KiB", 1e3 / 1024.0),
        ("µs/KiB", 1e3 / 1024.0),
        ("ms/KiB", 1e6 / 1024.0),
    ],
};

pub(super) const SIZE: Dimension = Dimension {
    what: "a size",
    units: &[
        ("B", 1.0),
        ("kB", 1e3),
        ("KiB", 1024.0),
        ("MB", 1e6),
        ("MiB", 1_048_576.0),
        ("GB", 1e9),
        ("GiB", 1_073_741_824.0),
    ],
};

/// In revolutions a minute.
pub(super) const SPEED: Dimension =
    Dimension { what: "a speed of rotation", units: &[("rpm", 1.0)] };

/// A share of one; parts of a whole, or factors.
pub(super) const FRACTION: Dimension = Dimension { what: "a share", units: &[("%", 0.01)] };

/// The most base units of anything: as nanoseconds 31 years, so that times can be added up.
const MOST: f64 = 1e18;

/// A number and its unit, as they stand.
pub(super) fn split(text: &str) -> (&str, &str) {
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c| !is_number(c)).unwrap_or(text.len()));
    (number, unit.trim())
}

/// Reads `12.5 ms`.
/// Errors: what is wrong, with the units that would do.
pub(super) fn parse(text: &str, dimension: &Dimension) -> Result<f64, String> {
    let names = || dimension.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let (number, unit) = split(text);
    let number: f64 = number.parse().map_err(|_| {
        format!("\"{text}\" is not {}; write a number and one of {}", dimension.what, names())
    })?;
    if unit.is_empty() {
        return Err(format!("\"{text}\" has no unit; add one of {}", names()));
    }
    let known = dimension.units.iter().find(|(name, _)| *name == unit);
    let (_, factor) = known.ok_or_else(|| {
        format!("\"{unit}\" is not a unit of {}; known are {}", dimension.what, names())
    })?;
    let value = number * factor;
    let is_within = value.abs() <= MOST;
    is_within.then_some(value).ok_or_else(|| format!("\"{text}\" is out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_needed_and_named() {
        assert_eq!(parse("1.5 ms", &TIME), Ok(1.5e6));
        assert_eq!(parse("-0.5us", &TIME), Ok(-500.0));
        assert_eq!(parse("1 ms/KiB", &TIME_PER_BYTE), Ok(1e6 / 1024.0));
        assert_eq!(parse("7200 rpm", &SPEED), Ok(7200.0));
        assert!(parse("32 years", &TIME).is_err() && parse("1000000000 s", &TIME).is_ok());
        assert!(parse("2000000000 s", &TIME).unwrap_err().contains("out of range"));
        assert!(parse("5", &TIME).unwrap_err().contains("no unit; add one of ns"));
        assert!(parse("5 MB", &TIME).unwrap_err().contains("not a unit of a time"));
        assert!(parse("fast", &RATE).unwrap_err().contains("is not a rate"));
        assert!(parse("5 KB/s", &RATE).unwrap_err().contains("KiB/s"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-+0-9. a-zA-Z/%µ]{0,12}") {
            for dimension in [TIME, RATE, SIZE, SPEED, FRACTION, TIME_PER_BYTE] {
                let _ = parse(&text, &dimension);
            }
        }
    }
}
