//! Values that a study file may write as a number or, where there are several, as text.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Text(String),
}

pub(crate) fn parse<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = match Written::deserialize(deserializer)? {
        Written::Number(number) => number.to_string(),
        Written::Text(text) => text,
    };
    text.parse().map_err(D::Error::custom)
}
