//! What a model was held against: beyond it a prediction is a guess, and says so.
//!
//! ```toml
//! [calibrated]
//! published = "DiskSim's validation traces"
//! request_size_max = "64 KiB"
//! outstanding_max = 1
//! drives_max = 2
//! ```

use super::{Profile, ProfileError};
use model::doubt::{Code, Doubt};

/// The range in which a model was held against reality. What it does not name is not bounded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calibrated {
    /// Against what.
    pub by: String,
    /// The largest request, bytes.
    pub request_bytes_max: Option<u64>,
    /// The most requests outstanding on a drive.
    pub outstanding_max: Option<u64>,
    /// The most drives at once.
    pub drives_max: Option<u64>,
}

/// What a range may say.
const KEYS: [&str; 3] = ["request_size_max", "outstanding_max", "drives_max"];

impl Calibrated {
    /// The table's name in a profile. It is of no part, so that parts do not ask for it.
    pub(super) const KEY: &'static str = "calibrated";

    /// Reads a profile's `calibrated`; none where it has none, of which nothing is known then.
    pub fn read(profile: &Profile) -> Result<Option<Self>, ProfileError> {
        let table = |prefix: &str| match prefix {
            "" => profile.reader().below(Self::KEY),
            prefix => profile.reader().below(prefix).below(Self::KEY),
        };
        // A part by itself has its own; a machine's is the machine's.
        let places = ["", profile.kind.as_str()].map(table);
        let Some(reader) = places.into_iter().find(|reader| reader.has_any()) else {
            return Ok(None);
        };
        reader.only(&KEYS)?;
        let count = |key: &str| reader.or(key, None, |reader, key| reader.count(key).map(Some));
        let size = |key: &str| reader.or(key, None, |reader, key| reader.size_bytes(key).map(Some));
        Ok(Some(Self {
            by: reader.source().map_or_else(String::new, |source| source.text().to_owned()),
            request_bytes_max: size("request_size_max")?,
            outstanding_max: count("outstanding_max")?,
            drives_max: count("drives_max")?,
        }))
    }

    /// Why so many drives are beyond it, if they are.
    pub fn beyond_drives(&self, drives: u64) -> Option<Doubt> {
        let bound = self.drives_max.filter(|bound| drives > *bound)?;
        let by = self.by.as_str().into();
        let values = [("drives", drives.into()), ("bound", bound.into()), ("by", by)];
        Some(Doubt::new(Code::DrivesBeyondModel, values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::CATALOG;

    #[test]
    fn a_range_is_read_wherever_the_part_stands() {
        let text = "kind = 'drive'\n[calibrated]\npublished = 'a trace'\nrequest_size_max = '64 \
            KiB'\ndrives_max = 2\n";
        let range =
            Calibrated::read(&CATALOG.load_text("d", "d.toml", text).unwrap()).unwrap().unwrap();
        assert_eq!((range.request_bytes_max, range.outstanding_max), (Some(65536), None));
        assert_eq!(range.beyond_drives(2), None);
        let doubt = range.beyond_drives(3).unwrap();
        assert_eq!((doubt.code, &doubt.values["bound"]), (Code::DrivesBeyondModel, &2u64.into()));
        let profile =
            CATALOG.load_text("m", "m.toml", &text.replace("'drive'", "'machine'")).unwrap();
        assert_eq!(profile.reader().finish(), Ok(()));
        let text = text.replace("drives_max", "drive_max");
        let error =
            Calibrated::read(&CATALOG.load_text("d", "d.toml", &text).unwrap()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("d.toml: drive.calibrated.drive_max: is an unknown key; did you mean"),
            "{error}"
        );
        let none = CATALOG.load_text("d", "d.toml", "kind = 'drive'\n").unwrap();
        assert_eq!(Calibrated::read(&none), Ok(None));
    }
}
