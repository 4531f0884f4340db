//! Tables of a library's functions.

/// A struct of functions by their names in the library, with the types of its headers.
macro_rules! functions {
    ($name:ident { $($function:ident($($argument:ty),*) $(-> $result:ty)?;)* }) => {
        #[allow(non_snake_case, reason = "these are the library's names")]
        struct $name {
            $($function: unsafe extern "C" fn($($argument),*) $(-> $result)?),*
        }

        impl $name {
            /// # Errors
            /// The library lacks one: it is too old, or another library.
            fn of(object: &super::SharedObject) -> Result<Self, crate::ServerError> {
                Ok(Self {
                    // SAFETY: the types are those of the library's headers.
                    $($function: unsafe { object.function(stringify!($function))? }),*
                })
            }
        }
    };
}
pub(super) use functions;
