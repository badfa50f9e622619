//! What somebody waits for that is nobody's request: the one table of its names and its words.
//!
//! Non-goals: who waits, and how long (`verdict`).

/// A circumstance, its name in records, a table's cell, and what follows "it lost 3 s".
type Words = (Circumstance, &'static str, &'static str, &'static str);

macro_rules! circumstances {
    ($($(#[$doc:meta])* $which:ident $name:literal $short:literal $clause:literal;)*) => {
        /// What made a wait longer, where no role did.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Circumstance {
            $($(#[$doc])* $which),*
        }

        const WORDS: [Words; 5] = [$((Circumstance::$which, $name, $short, $clause)),*];
    };
}

circumstances! {
    /// The device stood still.
    Device "device" "the device itself" "because the device itself stood still";
    /// No request of anybody was at the device.
    Held "held" "a delay outside the device"
        "for an unknown reason while no request was at the device";
    /// A limit of its cgroup.
    Throttled "throttled" "a limit of its cgroup" "because of a limit of its cgroup";
    /// The hypervisor gave the CPUs to others.
    Stolen "stolen" "the hypervisor" "while the hypervisor gave this machine's CPUs to others";
    /// Somebody held what it waited for, and nothing that was seen tells who.
    Unknown "unknown" "an unknown cause" "for an unknown reason";
}

impl Circumstance {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        WORDS.iter().map(|(which, ..)| *which)
    }

    fn words(self) -> &'static Words {
        &WORDS[self as usize]
    }

    /// Its name in records.
    pub fn name(self) -> &'static str {
        self.words().1
    }

    /// By its name in records.
    pub fn of_name(name: &str) -> Option<Self> {
        WORDS.iter().find(|words| words.1 == name).map(|words| words.0)
    }

    /// In the place of a role's name, which it cannot be taken for: `<held>`.
    pub fn marked(self) -> String {
        format!("<{}>", self.name())
    }

    /// By what stands in the place of a role's name.
    pub fn of_marked(text: &str) -> Option<Self> {
        Self::of_name(text.strip_prefix('<')?.strip_suffix('>')?)
    }

    /// As a table's cell: `the device itself`.
    pub fn short(self) -> &'static str {
        self.words().2
    }

    /// What follows "it lost 3 s".
    pub fn clause(self) -> &'static str {
        self.words().3
    }
}

/// A cause as it is shown: a role by its name, what is none in words.
pub fn cause(name: &str) -> &str {
    match Circumstance::of_marked(name) {
        Some(circumstance) => circumstance.short(),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_names_and_no_role_is_taken_for_one() {
        for which in Circumstance::all() {
            assert_eq!(which.words().0, which);
            assert_eq!(Circumstance::of_name(which.name()), Some(which));
            assert_eq!(Circumstance::of_marked(&which.marked()), Some(which));
            assert_eq!(cause(&which.marked()), which.short());
        }
        for role in ["device", "postgres", "<held", "<nothing>"] {
            assert_eq!((Circumstance::of_marked(role), cause(role)), (None, role));
        }
    }
}
