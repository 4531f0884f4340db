//! Values that a command line's completion offers, where others may be taken too.

use std::error::Error;
use std::ffi::OsStr;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command};

/// Parses as [`FromStr`] does, with the errors of the type; offers the values of a list.
pub struct Suggested<T> {
    values: fn() -> Vec<String>,
    of: PhantomData<fn() -> T>,
}

impl<T> Suggested<T> {
    /// Offers these values.
    pub fn new(values: fn() -> Vec<String>) -> Self {
        Self { values, of: PhantomData }
    }
}

/// Parses `on` and `off`, and the words of studies, `true` and `false`.
pub fn on_or_off() -> impl TypedValueParser<Value = bool> {
    let value = |name: &'static str, other: &'static str| PossibleValue::new(name).alias(other);
    let names = [value("on", "true"), value("off", "false")];
    PossibleValuesParser::new(names).map(|text: String| matches!(&*text, "on" | "true"))
}

// Derived, it would ask for a T that can be cloned.
impl<T> Clone for Suggested<T> {
    fn clone(&self) -> Self {
        Self { values: self.values, of: PhantomData }
    }
}

impl<T> TypedValueParser for Suggested<T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: Into<Box<dyn Error + Send + Sync>>,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        T::from_str.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        // clap keeps names as long as the program runs.
        let kept = |value: String| PossibleValue::new(&*value.leak());
        Some(Box::new((self.values)().into_iter().map(kept)))
    }
}
