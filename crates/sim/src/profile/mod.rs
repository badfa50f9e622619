//! Profiles: what a machine or a part of it is, in short TOML files. Every number has its unit and
//! its source: *published* (where), *fitted* (to what) or *assumed* (why).
//!
//! A table may give the source for all of its numbers, and a number may have its own:
//! ```toml
//! kind = "drive"
//! [rotation]
//! published = "Kridle & McKusick 1983, section 2.5"
//! speed = "3961 rpm"
//! head_switch = { value = "0.3 ms", fitted = "Table 2", low = "0.2 ms", high = "0.4 ms" }
//! ```
//! With `low` and `high` a sample is even between the two; with `log = true` it is even by its
//! logarithm.
//!
//! A machine names the parts that it is made of, which are profiles too, and may change their
//! numbers:
//! ```toml
//! kind = "machine"
//! uses = { processor = "vax-11-780", controller = "sc780", drive = "eagle" }
//! [controller]
//! search_lead = { value = 2, published = "4.2BSD hp.c before 30 May 1983" }
//! ```
//! Read, a profile is a flat list of leaves with dotted keys (`drive.rotation.speed`), which a
//! model asks for one by one. What nobody requested is unknown, and refused.
//!
//! Non-goals: reading files (the caller has the text), what the numbers mean (each part's own
//! module).

/// A struct that is read from a profile: each member with its documentation, and how it is read,
/// where the members before it are known.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$about:meta])*
        $visible:vis struct $name:ident($reader:ident $(, $known:ident: $of_known:ty)*) {
            $($(#[$of:meta])* $shown:vis $member:ident: $type:ty = $read:expr;)*
        }
    ) => {
        $(#[$about])*
        $visible struct $name { $($(#[$of])* $shown $member: $type,)* }

        impl $name {
            /// Reads each member of a profile.
            /// Errors: one that is missing, or cannot be.
            $visible fn read(
                $reader: &$crate::profile::Reader<'_>,
                $($known: $of_known,)*
            ) -> Result<Self, $crate::profile::ProfileError> {
                $(
                    let read: Result<$type, $crate::profile::ProfileError> = $read;
                    let $member = read?;
                )*
                Ok(Self { $($member,)* })
            }
        }
    };
}

mod calibrated;
mod catalog;
mod draw;
mod leaf;
mod reader;
mod unit;

pub use calibrated::Calibrated;
pub use catalog::{CATALOG, Catalog, Catalogued, PROFILES};
pub use leaf::{Leaf, Source, plain};
pub use reader::{Profile, Reader};
pub use toml::Value;

/// Why a profile cannot be used. Completes "failed to load the model: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", self.place())]
pub struct ProfileError {
    /// The file, or the name of the profile; empty where there is none of that name.
    pub file: String,
    /// The key at fault, dotted; empty where it is none's.
    pub key: String,
    /// What is wrong, and what would do.
    pub reason: String,
}

impl ProfileError {
    /// `vax780: drive.rpm: `: where it is.
    fn place(&self) -> String {
        let places = [&self.file, &self.key].into_iter().filter(|place| !place.is_empty());
        places.map(|place| format!("{place}: ")).collect()
    }

    /// An error at a key of a file.
    pub fn new(file: &str, key: &str, reason: impl Into<String>) -> Self {
        Self { file: file.into(), key: key.into(), reason: reason.into() }
    }
}
