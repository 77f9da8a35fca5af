//! Enums of which each value has a name, as it is stored and typed.

/// Makes an enum whose values are named, and the error for a text that names none. `ALL` has them in the order in which they
/// stand here.
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
            /// All of them, in their order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$Value),*];

            /// Its name, as it is stored and typed.
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
