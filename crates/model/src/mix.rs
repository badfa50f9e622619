//! A profile of a trace: what its requests are in numbers, few enough to be read and changed by
//! hand, as TOML. A trace can be made of it.
//!
//! Bursts are a cascade of biased halves (Wang et al., "Data Mining Meets Performance Evaluation:
//! Fast Algorithms for Modeling Bursty Traffic", ICDE 2002): how unevenly a stretch of time divides
//! its requests between its halves, for each length of stretch. Places are shares of zones, and how
//! few areas of a zone take how much of it.
//!
//! What it does not hold: which requests come together (reads and writes are apart), who made them,
//! a period of bursts, and in which order places come again.
//!
//! Non-goals: finding these numbers (`analyze::profile`), making traces (`experiment::synthesis`).

use serde::{Deserialize, Serialize};

/// The schema of a profile.
pub const SCHEMA: &str = "lbolt.profile/1";

/// No profile is of more requests.
const REQUESTS_MAX: u64 = 1 << 33;
/// None is longer, s: 30 years.
const LENGTH_S_MAX: f64 = 1e9;
/// No list has more lines.
const LINES_MAX: usize = 1024;
/// Shares that are to be 100 % may be rounded to this sum.
const ROUNDED_PERCENT: f64 = 1.0;
/// No request is longer.
const LENGTH_BYTES_MAX: u64 = 1 << 30;

/// A profile of a trace's requests to one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// [`SCHEMA`].
    pub schema: String,
    /// Where the trace came from.
    pub source: String,
    /// The trace's device.
    pub device: String,
    /// Requests of all kinds.
    pub requests: u64,
    /// Requests that neither read, write nor flush: in no other number.
    pub left_out: u64,
    /// From the first request to the last, s.
    pub length_s: f64,
    /// No request ends beyond this place, bytes.
    pub end_bytes: u64,
    /// What all places and lengths are multiples of, bytes.
    pub block_bytes: u64,
    /// How many requests are outstanding at once.
    pub outstanding: Outstanding,
    /// Reads.
    pub read: Option<Traffic>,
    /// Writes.
    pub write: Option<Traffic>,
    /// Flushes.
    pub flush: Option<Traffic>,
}

/// How many requests are outstanding at once: told, and not made of; it follows from when requests
/// come and how long they take.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outstanding {
    /// Mean of what an arriving request finds outstanding.
    pub found_mean: f64,
    /// The most.
    pub found_max: u64,
    /// Requests that find so many or more (up to the next line's), and their share in percent.
    pub found_percent: Vec<(u64, f64)>,
    /// From a completion that left nothing outstanding to the next request: median, µs.
    pub think_p50_us: f64,
    /// The same, 90th percentile, µs.
    pub think_p90_us: f64,
}

/// Requests that do the same.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// How many.
    pub requests: u64,
    /// Per cent of them that begin where one of the last requests of their kind ended.
    pub sequential_percent: f64,
    /// Bytes of an area.
    pub area_bytes: u64,
    /// Bytes of all areas in which a request began that is not sequential.
    pub working_set_bytes: u64,
    /// Length in bytes, and its share in percent.
    pub sizes: Vec<(u64, f64)>,
    /// Of sequential requests: so many streams or more are younger than theirs (up to the next
    /// line's), and their share in percent.
    pub streams: Vec<(u64, f64)>,
    /// Equal stretches of the device from its beginning: share in percent of the requests that are
    /// not sequential, and areas in which they begin.
    pub zones: Vec<(f64, u64)>,
    /// Per cent of a zone's areas, the hottest first, and per cent of its requests in them.
    pub hot: Vec<(f64, f64)>,
    /// Stretches of so many s, index of dispersion of their counts (1: chance, more: bursts), and
    /// the mean square of how unevenly one divides its requests between its halves (0: by chance,
    /// 1: all into one, negative: evenly, as a clock).
    pub bursts: Vec<(f64, f64, f64)>,
    /// Per cent of responses, and the time in µs that they do not exceed.
    pub response_us: Vec<(f64, f64)>,
}

/// What is wrong with a profile. Completes "failed to …".
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("use the profile: {key} {why}")]
pub struct ProfileError {
    key: String,
    why: String,
}

fn wrong(key: &str, why: impl Into<String>) -> ProfileError {
    ProfileError { key: key.into(), why: why.into() }
}

/// A number within bounds.
fn within(key: &str, value: f64, least: f64, most: f64) -> Result<(), ProfileError> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(wrong(key, format!("is {value}, but must be from {least} to {most}"))),
    }
}

/// Shares that are 100 % together.
fn shares(key: &str, shares: impl Iterator<Item = f64>) -> Result<(), ProfileError> {
    let mut sum = 0.0;
    let mut lines = 0;
    for share in shares {
        within(key, share, 0.0, 100.0 + ROUNDED_PERCENT)?;
        sum += share;
        lines += 1;
    }
    match lines {
        0 => Err(wrong(key, "is empty")),
        _ if lines > LINES_MAX => Err(wrong(key, format!("has more than {LINES_MAX} lines"))),
        _ if (sum - 100.0).abs() > ROUNDED_PERCENT => {
            Err(wrong(key, format!("adds up to {sum:.1} %, but must add up to 100 %")))
        }
        _ => Ok(()),
    }
}

/// A curve whose both sides rise, the second up to a bound.
fn rising(key: &str, curve: &[(f64, f64)], most: f64) -> Result<(), ProfileError> {
    if curve.len() > LINES_MAX {
        return Err(wrong(key, format!("has more than {LINES_MAX} lines")));
    }
    let mut before = (0.0, 0.0);
    for (percent, value) in curve {
        within(key, *percent, before.0, 100.0)?;
        within(key, *value, before.1, most)?;
        before = (*percent, *value);
    }
    Ok(())
}

impl Profile {
    /// Reads TOML.
    /// Errors: a sentence for what cannot be understood, or be so.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let read: Self = toml::from_str(text).map_err(|error| {
            let why = error.message().lines().next().unwrap_or_default().to_owned();
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map_or(1, |before| before.lines().count().max(1));
            wrong("line", format!("{line}: {why}"))
        })?;
        read.check()?;
        Ok(read)
    }

    /// As TOML, with what it is.
    /// Errors: none that a profile could have.
    pub fn text(&self) -> Result<String, ProfileError> {
        let text = toml::to_string(self).map_err(|error| wrong("it", error.to_string()))?;
        Ok(format!("{HEAD}{text}"))
    }

    /// The kinds of requests that there are.
    pub fn traffic(&self) -> impl Iterator<Item = (&'static str, &Traffic)> {
        let all = [("read", &self.read), ("write", &self.write), ("flush", &self.flush)];
        all.into_iter().filter_map(|(name, traffic)| Some((name, traffic.as_ref()?)))
    }

    /// Whether a trace can be made of it.
    fn check(&self) -> Result<(), ProfileError> {
        if self.schema != SCHEMA {
            return Err(wrong("schema", format!("is not {SCHEMA}")));
        }
        within("length_s", self.length_s, 1e-6, LENGTH_S_MAX)?;
        within("block_bytes", self.block_bytes as f64, 1.0, (1u64 << 20) as f64)?;
        within("end_bytes", self.end_bytes as f64, 0.0, (1u64 << 60) as f64)?;
        within("requests", self.requests as f64, 1.0, REQUESTS_MAX as f64)?;
        self.traffic().try_for_each(|(name, traffic)| self.check_traffic(name, traffic))?;
        let sum: u64 = self.traffic().fold(0, |sum, (_, of)| sum.saturating_add(of.requests));
        let why = || format!("is {}, but its parts add up to {sum}", self.requests);
        if sum == self.requests { Ok(()) } else { Err(wrong("requests", why())) }
    }

    fn check_traffic(&self, name: &str, traffic: &Traffic) -> Result<(), ProfileError> {
        let key = |key: &str| format!("{name}.{key}");
        within(&key("requests"), traffic.requests as f64, 1.0, REQUESTS_MAX as f64)?;
        rising(&key("response_us"), &traffic.response_us, LENGTH_S_MAX * 1e6)?;
        let mut before = f64::INFINITY;
        for (stretch_s, dispersion, split) in &traffic.bursts {
            let key = key("bursts");
            within(&key, *stretch_s, 1e-9, LENGTH_S_MAX)?;
            within(&key, *dispersion, 0.0, f64::MAX)?;
            within(&key, *split, -1.0, 1.0)?;
            if *stretch_s >= before || traffic.bursts.len() > LINES_MAX {
                return Err(wrong(&key, "is not sorted; put the longest time first"));
            }
            before = *stretch_s;
        }
        if name == "flush" { Ok(()) } else { self.check_places(key, traffic) }
    }

    fn check_places(
        &self,
        key: impl Fn(&str) -> String,
        traffic: &Traffic,
    ) -> Result<(), ProfileError> {
        within(&key("sequential_percent"), traffic.sequential_percent, 0.0, 100.0)?;
        shares(&key("sizes"), traffic.sizes.iter().map(|(_, percent)| *percent))?;
        for (bytes, _) in &traffic.sizes {
            let most = self.end_bytes.min(LENGTH_BYTES_MAX);
            within(&key("sizes"), *bytes as f64, self.block_bytes as f64, most as f64)?;
            if !bytes.is_multiple_of(self.block_bytes) {
                let why = format!("has {bytes}, which is not a multiple of block_bytes");
                return Err(wrong(&key("sizes"), why));
            }
        }
        if traffic.sequential_percent > 0.0 {
            shares(&key("streams"), traffic.streams.iter().map(|(_, percent)| *percent))?;
        }
        shares(&key("zones"), traffic.zones.iter().map(|(percent, _)| *percent))?;
        let area_bytes = traffic.area_bytes;
        within(
            &key("area_bytes"),
            area_bytes as f64,
            self.block_bytes as f64,
            (1u64 << 60) as f64,
        )?;
        if !area_bytes.is_multiple_of(self.block_bytes) {
            return Err(wrong(&key("area_bytes"), "is not a multiple of block_bytes"));
        }
        if traffic.zones.iter().any(|(percent, areas)| *percent > 0.0 && *areas == 0) {
            return Err(wrong(&key("zones"), "has requests in a zone without areas"));
        }
        rising(&key("hot"), &traffic.hot, 100.0 + 1e-6)
    }
}

/// What a person reads first.
const HEAD: &str = "\
# A profile of a trace, made by `lbolt profile`; `lbolt synthesize` makes a trace of it.
# Lists hold pairs (or triples). Shares are in percent and 100 together.
#   sizes        bytes of a request, its share
#   streams      so many streams are younger than a sequential request's, its share
#   zones        of equal stretches of the device: share of the requests that are not sequential,
#                areas in which they begin
#   hot          share of a zone's areas, the hottest first; share of its requests in these
#   bursts       a stretch in s; index of dispersion of counts (1 is chance); how unevenly a stretch
#                divides its requests between its halves (0 by chance, 1 all into one, below 0 even)
#   response_us  share of the responses, the time that they do not exceed
#   outstanding  told only: it follows from when requests come and how long they take

";

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Profile {
        let traffic = Traffic {
            requests: 90,
            sequential_percent: 20.0,
            area_bytes: 4096,
            working_set_bytes: 8192,
            sizes: vec![(4096, 75.0), (8192, 25.0)],
            streams: vec![(0, 100.0)],
            zones: vec![(60.0, 1), (40.0, 1)],
            hot: vec![(50.0, 80.0), (100.0, 100.0)],
            bursts: vec![(8.0, 3.0, 0.5), (4.0, 2.0, -0.1)],
            response_us: vec![(50.0, 100.0), (100.0, 900.0)],
        };
        let flush = Traffic { requests: 10, ..Traffic::default() };
        Profile {
            schema: SCHEMA.into(),
            source: "test".into(),
            device: "sda".into(),
            requests: 100,
            left_out: 0,
            length_s: 8.0,
            end_bytes: 1 << 20,
            block_bytes: 512,
            outstanding: Outstanding::default(),
            read: Some(traffic),
            write: None,
            flush: Some(flush),
        }
    }

    #[test]
    fn a_profile_survives_its_text() {
        let text = small().text().unwrap();
        assert_eq!(Profile::parse(&text).unwrap(), small(), "{text}");
        assert!(text.contains("requests = 90") && text.starts_with("# A profile"), "{text}");
    }

    /// Every number of the text, one after the other, as each of these.
    #[test]
    fn no_wrong_number_passes_without_a_sentence_that_is_one() {
        let text = small().text().unwrap();
        let body = text.find("schema").unwrap();
        let numbers: Vec<(usize, usize)> = numbers(&text, body);
        assert!(numbers.len() > 40, "{}", numbers.len());
        for (from, to) in numbers {
            for hostile in ["-1", "-1.0", "nan", "inf", "-inf", "1e300", "9223372036854775807", ""]
            {
                let changed = format!("{}{hostile}{}", &text[..from], &text[to..]);
                // What is told only may be anything that is a number.
                if let Err(error) = Profile::parse(&changed) {
                    let sentence = error.to_string();
                    assert!(sentence.starts_with("use the profile: "), "{sentence}");
                    assert!(sentence.lines().count() == 1, "{sentence}");
                }
            }
        }
    }

    /// Where the numbers stand.
    fn numbers(text: &str, from: usize) -> Vec<(usize, usize)> {
        let is_of_number = |c: u8| c.is_ascii_digit() || c == b'.' || c == b'-';
        let bytes = text.as_bytes();
        let mut found = vec![];
        let mut at = from;
        while at < bytes.len() {
            if bytes[at].is_ascii_digit() || bytes[at] == b'-' {
                let end = (at..bytes.len()).find(|i| !is_of_number(bytes[*i])).unwrap();
                found.push((at, end));
                at = end;
            }
            at += 1;
        }
        found
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_key() {
        let with = |change: fn(&mut Profile, &mut Traffic)| {
            let mut profile = small();
            let mut read = profile.read.take().unwrap();
            change(&mut profile, &mut read);
            profile.read = Some(read);
            profile.check().unwrap_err().to_string()
        };
        for (error, words) in [
            (with(|p, _| p.schema = "lbolt.profile/9".into()), "schema is not"),
            (with(|p, _| p.length_s = f64::NAN), "length_s is NaN"),
            (with(|p, _| p.requests = 99), "requests is 99, but its parts add up to 100"),
            (with(|p, _| p.block_bytes = 0), "block_bytes is 0"),
            (with(|p, _| p.end_bytes = 4096), "read.sizes is 8192"),
            (with(|_, t| t.sizes = vec![]), "read.sizes is empty"),
            (with(|_, t| t.sizes = vec![(1000, 100.0)]), "not a multiple of block_bytes"),
            (with(|_, t| t.sizes[0].1 = 10.0), "read.sizes adds up to 35.0 %"),
            (with(|_, t| t.sequential_percent = 101.0), "sequential_percent is 101"),
            (with(|_, t| t.streams = vec![]), "read.streams is empty"),
            (with(|_, t| t.zones[1].1 = 0), "requests in a zone without areas"),
            (with(|_, t| t.area_bytes = 0), "area_bytes is 0"),
            (with(|_, t| t.hot[0].1 = 101.0), "read.hot is 101"),
            (with(|_, t| t.hot[0].0 = 100.5), "read.hot is 100.5"),
            (with(|_, t| t.bursts[0].2 = 2.0), "read.bursts is 2"),
            (with(|_, t| t.bursts[1].0 = 9.0), "read.bursts is not sorted"),
            (with(|_, t| t.response_us[0].1 = 1e9), "read.response_us is 900"),
        ] {
            assert!(error.contains(words), "{words}: {error}");
        }
        assert!(Profile::parse("").unwrap_err().to_string().contains("missing field"));
        assert!(Profile::parse("schema = 1\nx = [").unwrap_err().to_string().contains("line"));
    }
}
