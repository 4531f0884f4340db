//! Lines that are JSON objects: Caddy's, and nginx's with `escape=json` and usual names.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::language::nginx_field;
use super::request::{Field, Values};
use super::time::Minute;

/// How deep values are looked for: Caddy's `request.tls.version`.
const DEEPEST: usize = 3;

/// The values of a line; `None` where it is no object.
pub(super) fn read(line: &[u8]) -> Option<Values<'_>> {
    let mut values = Values::default();
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let object = Object { values: &mut values, key: "", depth: DEEPEST };
    object.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(values)
}

/// What is under a key.
enum Named {
    Field(Field),
    /// An object which has more, by this key.
    Object(&'static str),
}

/// The key within an object, which is itself under the key `of`.
fn named(of: &str, key: &str) -> Option<Named> {
    let field = match (of, key) {
        ("tls", "version") => Field::Tls,
        ("tls", _) => return (key == "tls").then_some(Named::Object("tls")),
        (_, "tls") => return Some(Named::Object("tls")),
        (_, "time" | "timestamp" | "@timestamp" | "time_msec" | "datetime" | "ts") => Field::Time,
        (_, "status_code" | "response_code" | "response_status" | "http_status") => Field::Status,
        (_, "size" | "body_bytes" | "response_body_size") => Field::Body,
        (_, "bytes" | "size_bytes" | "response_size") => Field::Bytes,
        (_, "method" | "http_method") => Field::Method,
        (_, "proto" | "protocol" | "http_version" | "http_protocol") => Field::Protocol,
        (_, "tls_version" | "tls_protocol") => Field::Tls,
        (_, "request_scheme") => Field::Scheme,
        ("", "logger") => Field::Logger,
        (_, "upstream") => Field::Upstream,
        _ => nginx_field(key)?,
    };
    Some(Named::Field(field))
}

struct Object<'a, 'de> {
    values: &'a mut Values<'de>,
    key: &'static str,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Object<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(named) = map.next_key_seed(Key(self.key))? {
            let Some(named) = named else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let text = map.next_value::<&RawValue>()?.get();
            let key = match named {
                Named::Field(Field::Request) => "request",
                Named::Field(_) => "",
                Named::Object(key) => key,
            };
            match (text.strip_prefix('"').and_then(|text| text.strip_suffix('"')), named) {
                _ if text.starts_with('{') && !key.is_empty() && self.depth > 0 => {
                    let mut inner = serde_json::Deserializer::from_str(text);
                    let object = Object { values: &mut *self.values, key, depth: self.depth - 1 };
                    object.deserialize(&mut inner).map_err(Error::custom)?;
                }
                // Some logs have the duration of a request under such a name.
                (string, Named::Field(Field::Time))
                    if Minute::parse(string.unwrap_or(text).as_bytes()).is_none() => {}
                (string, Named::Field(field))
                    if text != "null" && !text.starts_with(['{', '[']) =>
                {
                    self.values.set(field, string.unwrap_or(text).as_bytes());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A key of the object that is itself under the key.
struct Key(&'static str);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<Named>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<Named>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(named(self.0, key))
    }
}
