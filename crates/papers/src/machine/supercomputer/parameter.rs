//! What a supercomputer's profile says, apart from its routines: processor, operating system,
//! controller, drives.

use super::channel::Controller;
use super::routine::{Routine, Row, SECTOR_WORDS, routines};
use model::workload::Arithmetic;
use sim::drive::Mechanics;
use sim::profile::{Profile, ProfileError, Reader};

sim::parameters! {
    /// When a program learns of a completion, and what the system takes besides the routines' own
    /// costs.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct System(reader) {
        /// From a transfer's end until a program that tests can see it, ns: after a read, after a
        /// write.
        pub status_after_ns: [f64; 2] = after(reader, "status_after", [0.0; 2]);
        /// … until a program that waits for it has returned from the interrupt, ns.
        pub wake_after_ns: [f64; 2] = after(reader, "wake_after", status_after_ns);
        /// CPU time of a call that begins with a seek, beyond that of the call, ns.
        pub seek_ns: f64 = reader.time_ns("seek");
    }
}

fn after(reader: &Reader, what: &str, seen_ns: [f64; 2]) -> Result<[f64; 2], ProfileError> {
    let after = |direction: &str, seen_ns: f64| {
        let key = format!("{what}_{direction}");
        let reason = "a program that waits cannot run before the completion can be seen";
        reader.if_fine(&key, reader.time_ns(&key)?, |after_ns| *after_ns >= seen_ns, reason)
    };
    Ok([after("read", seen_ns[0])?, after("write", seen_ns[1])?])
}

impl System {
    pub(super) fn status_ns(&self, is_write: bool) -> f64 {
        self.status_after_ns[usize::from(is_write)]
    }

    pub(super) fn wake_ns(&self, is_write: bool) -> f64 {
        self.wake_after_ns[usize::from(is_write)]
    }
}

/// Time of one loop of each kind of arithmetic, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arithmetics([f64; Arithmetic::ALL.len()]);

impl Arithmetics {
    /// Time of one loop, ns.
    pub fn loop_ns(&self, arithmetic: Arithmetic) -> f64 {
        let place = Arithmetic::ALL.iter().position(|(kind, _)| *kind == arithmetic);
        place.and_then(|place| self.0.get(place)).copied().unwrap_or(1.0)
    }

    fn read(reader: &Reader) -> Result<Self, ProfileError> {
        let mut loops = [0.0; Arithmetic::ALL.len()];
        for (place, (_, name)) in Arithmetic::ALL.iter().enumerate() {
            loops[place] = reader.time_ns(name)?;
            if loops[place] < 1.0 {
                return Err(reader.error(name, "a loop takes at least 1 ns"));
            }
        }
        Ok(Self(loops))
    }
}

/// Everything that a supercomputer is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// Logically independent channels, each with a drive.
    pub channels: usize,
    /// What controls them.
    pub controller: Controller,
    /// Their drives.
    pub mechanics: Mechanics,
    /// The operating system.
    pub system: System,
    /// Time of a loop of computing.
    pub arithmetic: Arithmetics,
    /// Time of testing whether anything is completed, ns.
    pub test_ns: f64,
    /// What a sector's transfer takes from a processor that computes with vectors, beyond the rest,
    /// ns.
    pub vector_lockout_ns: f64,
    /// The routines.
    pub routines: Vec<Routine>,
}

impl Parameters {
    /// The parameters of a profile, and the place of the routine that it names.
    /// Errors: whatever in the profile cannot be; a key that nothing asks for.
    pub fn read(profile: &Profile) -> Result<(Self, usize), ProfileError> {
        let reader = profile.reader();
        let processor = reader.below("processor");
        let mechanics = Mechanics::read(&reader.below("drive"))?;
        let words = SECTOR_WORDS as f64;
        let parameters = Self {
            channels: reader.below("channels").count_in("count", 1..=64)? as usize,
            controller: Controller::read(&reader.below("controller"))?,
            mechanics,
            system: System::read(&reader.below("system"))?,
            arithmetic: Arithmetics::read(&processor.below("loop"))?,
            test_ns: processor.time_ns("test")?.max(1.0),
            vector_lockout_ns: words * processor.time_ns("memory_cycle_lost_to_a_word")?,
            routines: routines(profile, &reader)?,
        };
        let names: Vec<(&str, usize)> =
            parameters.routines.iter().map(|r| r.key.as_str()).zip(0..).collect();
        let routine = reader.one_of("routine", &names)?;
        reader.finish()?;
        Ok((parameters, routine))
    }

    /// The place of a routine's row, by what the paper calls it and its library.
    pub fn routine(&self, name: &str, library: &str, is_write: bool) -> Option<usize> {
        let is_it = |r: &Routine| r.row(is_write).name == name && r.library == library;
        self.routines.iter().position(is_it)
    }

    /// Bytes of a sector that are the program's.
    pub fn data_bytes(&self, row: &Row) -> u64 {
        let sector_bytes = u64::from(self.mechanics.layout.sector_bytes);
        (sector_bytes * row.data_words / SECTOR_WORDS).max(1)
    }
}
