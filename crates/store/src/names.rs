//! A macro for enums whose values have names.

/// Defines an enum with named values, and the error for an unknown name. `ALL` has the order of the definition.
macro_rules! named {
    (
        $(#[$doc:meta])* enum $Named:ident: $odd:literal or $(#[$odd_doc:meta])* $Odd:ident;
        $($(#[$value_doc:meta])* $Value:ident = $name:literal,)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Named {
            $($(#[$value_doc])* $Value,)*
        }

        impl $Named {
            /// All values, in the order of their definition.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$Value),*];

            /// The name, as it is stored and typed.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Value => $name,)*
                }
            }
        }

        impl std::fmt::Display for $Named {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        $(#[$odd_doc])*
        #[derive(Debug, thiserror::Error)]
        #[error("{} {}", $odd, $Named::ALL.map($Named::name).join(", "))]
        pub struct $Odd;

        impl std::str::FromStr for $Named {
            type Err = $Odd;

            fn from_str(name: &str) -> Result<Self, $Odd> {
                Self::ALL.into_iter().find(|value| value.name() == name).ok_or($Odd)
            }
        }
    };
}
pub(crate) use named;
