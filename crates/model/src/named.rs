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

/// Declares an enum whose values have names: the trait, and `ALL` and `name` without it; with a
/// number of values, `ALL` is these alone.
macro_rules! named {
    (
        $(#[$of_enum:meta])*
        pub enum $enum:ident[$count:literal] {
            $($(#[$of_value:meta])* $value:ident = $name:literal),* $(,)?
        }
    ) => {
        $(#[$of_enum])*
        pub enum $enum {
            $($(#[$of_value])* $value),*
        }

        impl $crate::named::Named for $enum {
            const NAMES: &'static [(Self, &'static str)] = &[$((Self::$value, $name)),*];
        }

        impl $enum {
            /// All, in the order of their numbers.
            pub const ALL: [Self; $count] = [$(Self::$value),*];

            /// Its name.
            pub fn name(self) -> &'static str {
                $crate::named::Named::name(self)
            }

            /// The one of that name.
            pub fn named(name: &str) -> Option<Self> {
                $crate::named::Named::from_name(name)
            }
        }
    };
    (
        $(#[$of_enum:meta])*
        pub enum $enum:ident { $($(#[$of_value:meta])* $value:ident = $name:literal),* $(,)? }
    ) => {
        $(#[$of_enum])*
        pub enum $enum {
            $($(#[$of_value])* $value),*
        }

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
