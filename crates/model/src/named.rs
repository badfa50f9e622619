//! Enums whose values have names, the same in options, files and records.

/// An enum with a table of its values' names.
pub trait Named: Copy + PartialEq + 'static {
    /// Every value with its name.
    const NAMES: &'static [(Self, &'static str)];

    /// The name in options, files and records.
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }

    /// The value of that name; none if there is none.
    fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
    }
}

/// Gives an enum its names: the trait, and `ALL` and `name` without it.
macro_rules! named {
    ($enum:ty { $($value:ident $name:literal),* $(,)? }) => {
        impl $crate::named::Named for $enum {
            const NAMES: &'static [(Self, &'static str)] = &[$((Self::$value, $name)),*];
        }

        impl $enum {
            /// Every value with its name in options, files and records.
            pub const ALL: &'static [(Self, &'static str)] = <Self as $crate::named::Named>::NAMES;

            /// The name in options, files and records.
            pub fn name(self) -> &'static str {
                $crate::named::Named::name(self)
            }
        }
    };
}
pub(crate) use named;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubt::Verdict;
    use crate::engine::EngineKind;
    use crate::record::{Cold, Experiment, Interval, Role};
    use crate::workload::{Access, Account, Arithmetic};
    use std::fmt::Debug;

    fn check<T: Named + Debug>(least: usize) {
        assert!(T::NAMES.len() >= least, "{:?}", T::NAMES);
        for (position, (value, name)) in T::NAMES.iter().enumerate() {
            assert_eq!((value.name(), T::from_name(name)), (*name, Some(*value)));
            assert!(T::NAMES[..position].iter().all(|(_, earlier)| earlier != name), "{name}");
            assert_eq!(T::from_name(&name.to_uppercase()), None, "{name}");
        }
        assert_eq!((T::from_name(""), T::from_name("colour")), (None, None));
    }

    #[test]
    fn every_value_has_a_name_of_its_own_and_is_found_by_it() {
        check::<Access>(7);
        check::<Account>(4);
        check::<Arithmetic>(5);
        check::<Cold>(3);
        check::<EngineKind>(10);
        check::<Experiment>(3);
        check::<Interval>(5);
        check::<Role>(4);
        check::<Verdict>(3);
        for (kind, name) in EngineKind::NAMES {
            assert_eq!(kind.name(), *name);
        }
    }
}
