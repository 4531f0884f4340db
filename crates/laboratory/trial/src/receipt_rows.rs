//! The receipt as a list: what was asked and what was got, field by field, in words.
//!
//! A terminal and a page show this list. Fields go by the names that they have in the journal, so what
//! is listed is what is kept. A field that [`FIELDS`] lacks would be listed nowhere: a test refuses it.

use serde::Serialize;
use serde_json::{Map, Value};
use units::{BitsPerSecond, Bytes, Nanos, thousands};

use crate::receipt::Receipt;

/// One field of a receipt.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ReceiptRow {
    pub what: &'static str,
    /// Empty where it was left open, or cannot be asked for.
    pub asked: String,
    /// Empty where it is not known.
    pub obtained: String,
    /// Whether this is not what was asked for.
    pub is_mismatch: bool,
}

/// How a value is written.
#[derive(Clone, Copy)]
enum Form {
    /// As it is, numbers with thousands set apart.
    Plain,
    /// Names, each with how often it was seen.
    Counts,
    Bytes,
    Nanos,
    BitsPerSecond,
    Percent,
}

use Form::{BitsPerSecond as Bps, Bytes as Size, Counts, Nanos as Time, Percent, Plain};

/// All fields of [`Asked`](crate::Asked) and [`Obtained`](crate::Obtained) with their labels, in the
/// order in which they are listed.
const FIELDS: &[(&str, &str, Form)] = &[
    ("client", "client", Plain),
    ("operation", "operation", Plain),
    ("url", "URL", Plain),
    ("address", "address", Plain),
    ("sni", "server name (SNI)", Plain),
    ("names_file", "names of", Plain),
    ("names", "names", Plain),
    ("names_certified", "names that showed a certificate", Plain),
    ("certificates", "certificates", Plain),
    ("objects", "objects", Counts),
    ("method", "method", Plain),
    ("expect", "expected status", Plain),
    ("statuses", "statuses", Counts),
    ("body", "body", Plain),
    ("body_bytes", "size of the body", Size),
    ("bodies_sent", "bodies sent", Plain),
    ("answered_early", "answered before the body was sent", Plain),
    ("headers", "headers", Plain),
    ("session", "session", Plain),
    ("page_bytes", "page size", Size),
    ("walks", "walks per user", Plain),
    ("count", "count", Plain),
    ("connections", "connections", Plain),
    ("connections_at_begin", "connections up when the window began", Plain),
    ("connections_at_end", "connections up when it ended", Plain),
    ("http", "HTTP", Counts),
    ("streams", "streams per connection", Plain),
    ("http2", "HTTP/2", Plain),
    ("quic", "QUIC", Plain),
    ("max_udp_payload", "longest UDP payload", Size),
    ("ranks", "ranks", Plain),
    ("mpi", "MPI", Plain),
    ("client_cpus", "client CPUs", Plain),
    ("sources", "sources", Plain),
    ("host", "server's host", Plain),
    ("server_cpus", "server CPUs", Plain),
    ("arrival", "arrival", Plain),
    ("pace_bps", "pace", Bps),
    ("period_ns", "period", Time),
    ("ramp_ns", "ramp", Time),
    ("wakeups", "the client's wake-ups", Plain),
    ("pauses", "the client's longest pauses", Plain),
    ("pauses_reason", "why so long", Plain),
    ("seed", "seed", Plain),
    ("tls", "TLS", Counts),
    ("suite", "suite", Counts),
    ("group", "group", Counts),
    ("signature_scheme", "signature scheme", Counts),
    ("certificate_key", "certificate key", Counts),
    ("certificate_requests", "client certificates asked for", Plain),
    ("client_certificates", "client certificates sent", Plain),
    ("client_key", "client certificate's key", Counts),
    ("client_scheme", "client's signature scheme", Counts),
    ("encrypt_then_mac", "encrypt-then-MAC", Plain),
    ("key_exchange", "key exchange", Plain),
    ("resumption_percent", "resumption", Percent),
    ("early_data", "0-RTT offered", Plain),
    ("ech", "ECH offered", Plain),
    ("full", "full handshakes", Plain),
    ("resumed", "resumed handshakes", Plain),
    ("hello_retry_requests", "handshakes with a HelloRetryRequest", Plain),
    ("tickets", "tickets given", Plain),
    ("session_ids", "session ids given", Plain),
    ("sessions_offered", "sessions offered", Plain),
    ("collected_tickets", "tickets collected first", Plain),
    ("collected_session_ids", "session ids collected first", Plain),
    ("collecting_connections", "connections that collected them", Plain),
    ("requests_per_connection", "requests per connection", Plain),
    ("connections_by_requests", "connections by their requests", Counts),
    ("closed_early", "closed early by the server", Plain),
    ("close", "close", Plain),
    ("kept_open", "kept open by the server", Plain),
    ("sent_again", "requests sent again", Plain),
    ("not_taken", "of these, not taken by the server", Plain),
    ("receive", "receive", Plain),
    ("verify", "verify", Plain),
    ("signatures_verified", "signatures verified", Plain),
    ("bodies_walked", "bodies walked", Plain),
    ("bodies_peeked", "heads read unauthenticated", Plain),
    ("bodies_authenticated", "bodies opened whole", Plain),
    ("bodies_compared", "bodies compared", Plain),
    ("send", "send", Counts),
    ("send_known_by", "send known by", Plain),
    ("send_calls", "send calls", Plain),
    ("kernel_tls", "kernel TLS", Plain),
    ("server_congestion", "server's congestion control", Counts),
    ("client_congestion", "client's congestion control", Counts),
    ("pacing", "held back", Plain),
    ("server_quota", "server's CPU quota", Plain),
    ("client_quota", "client's CPU quota", Plain),
    ("backend", "backend", Plain),
    ("backend_connections", "connections to the backend", Plain),
    ("backend_verify", "backend's certificate verified", Plain),
    ("accelerator", "accelerator", Plain),
    ("system", "server's system", Plain),
    ("library", "TLS library", Plain),
    ("library_path", "library path", Plain),
    ("environment", "environment", Plain),
    ("directives", "directives", Plain),
    ("crypto", "cryptography", Plain),
    ("aes", "AES instructions", Plain),
    ("ns_per_byte", "ns per byte", Plain),
    ("disabled_algorithms", "disabled algorithms", Plain),
    ("orders", "orders", Plain),
    ("order_pages", "order pages", Plain),
];

/// The fields of [`Obtained`](crate::Obtained) that server and client agree on, whatever was asked: a server that is
/// set up in another way shows it there.
const NEGOTIATED: [&str; 8] =
    ["http", "tls", "suite", "group", "signature_scheme", "certificate_key", "system", "library"];

impl Receipt {
    /// What was negotiated, by its labels in the list, each value once; what is not known is left out.
    pub fn negotiated(&self) -> impl Iterator<Item = (&'static str, Vec<String>)> {
        let obtained = fields(&self.obtained);
        let of_negotiated = FIELDS.iter().filter(|(name, ..)| NEGOTIATED.contains(name));
        of_negotiated.filter_map(move |(name, label, form)| match obtained.get(*name)? {
            Value::Object(counts) => Some((*label, counts.keys().cloned().collect())),
            Value::Array(items) => {
                Some((*label, items.iter().map(|item| form.text(item)).collect()))
            }
            _ => None,
        })
    }

    /// All fields that are there.
    pub fn rows(&self) -> Vec<ReceiptRow> {
        let (asked, obtained) = (fields(&self.asked), fields(&self.obtained));
        let row = |(name, label, form): &(&str, &'static str, Form)| {
            let text = |fields: &Map<String, Value>| fields.get(*name).map(|of| form.text(of));
            let (asked, obtained) = (text(&asked), text(&obtained));
            (asked.is_some() || obtained.is_some()).then(|| ReceiptRow {
                what: label,
                asked: asked.unwrap_or_default(),
                obtained: obtained.unwrap_or_default(),
                is_mismatch: self.mismatch.iter().any(|mismatch| mismatch.is_about(name)),
            })
        };
        FIELDS.iter().filter_map(row).collect()
    }
}

fn fields(of: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(of) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

impl Form {
    fn text(self, value: &Value) -> String {
        match (self, value.as_u64(), value.as_f64()) {
            (Size, Some(bytes), _) => Bytes(bytes).to_string(),
            (Time, Some(nanos), _) => Nanos(nanos).to_string(),
            (Bps, _, Some(rate)) => BitsPerSecond(rate).to_string(),
            (Percent, Some(share), _) => format!("{share}%"),
            _ => self.in_words(value),
        }
    }

    /// That of a field within a field, by the unit that its name ends with; and the name without it.
    fn of_inner(name: &str) -> (&str, Self) {
        let of = |(ending, form)| Some((name.strip_suffix(ending)?, form));
        let units = [("_bps", Bps), ("_ns", Time), ("_bytes", Size)];
        units.into_iter().find_map(of).unwrap_or((name, Plain))
    }

    fn in_words(self, value: &Value) -> String {
        match value {
            Value::Null => String::new(),
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            Value::String(text) => text.clone(),
            Value::Number(number) => match number.as_u64() {
                Some(count) => thousands(count),
                None => format!("{:.2}", number.as_f64().unwrap_or_default()),
            },
            Value::Array(items) => joined(items.iter().map(|item| self.in_words(item))),
            Value::Object(fields) => joined(fields.iter().map(|(name, value)| {
                if let Counts = self {
                    return format!("{name} ({}×)", self.in_words(value));
                }
                let (label, form) = Self::of_inner(name);
                let (label, text) = (label.replace('_', " "), form.text(value));
                if value.is_object() {
                    format!("{label} ({text})")
                } else {
                    format!("{label} {text}")
                }
            })),
        }
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde::de::{DeserializeOwned, Deserializer, Error, Visitor, value};

    use super::*;
    use crate::asked::Asked;
    use crate::obtained::Obtained;

    /// Asks a struct for the names of its fields and reads none.
    struct Names<'a>(&'a Cell<&'static [&'static str]>);

    impl<'de> Deserializer<'de> for Names<'_> {
        type Error = value::Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(Error::custom("not a struct"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Self::Error> {
            self.0.set(fields);
            Err(Error::custom("only the names"))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    fn names<T: DeserializeOwned>() -> &'static [&'static str] {
        let names: Cell<&[&str]> = Cell::default();
        assert!(T::deserialize(Names(&names)).is_err());
        names.get()
    }

    #[test]
    fn each_field_is_listed_and_nothing_else_is() {
        let known: Vec<&str> = [names::<Asked>(), names::<Obtained>()].concat();
        let listed: Vec<&str> = FIELDS.iter().map(|(name, ..)| *name).collect();
        let missing: Vec<_> = known.iter().filter(|name| !listed.contains(name)).collect();
        assert!(missing.is_empty(), "add to FIELDS: {missing:?}");
        let gone: Vec<_> = listed.iter().filter(|name| !known.contains(name)).collect();
        assert!(gone.is_empty(), "in FIELDS, but no field: {gone:?}");
        let labels = |of: fn(&(&'static str, &'static str, Form)) -> &'static str| {
            let all: std::collections::BTreeSet<_> = FIELDS.iter().map(of).collect();
            all.len()
        };
        assert_eq!((labels(|of| of.0), labels(|of| of.1)), (FIELDS.len(), FIELDS.len()));
    }

    #[test]
    fn asked_and_obtained_are_side_by_side() {
        let receipt: Receipt = serde_json::from_str(
            r#"{"asked":{"tls":"1.3","connections":64,"ramp_ns":2000000,"resumption_percent":50},
                "obtained":{"tls":{"1.2":2,"1.3":1000},"encrypt_then_mac":false,
                            "orders":{"before":1000,"after":2000},"pace_bps":8000000,
                            "pacing":{"connections":62,"least_bps":249722865112.4},
                            "client_quota":{"cpus":0.5,"throttled_ns":2000000,"throttled_periods":3,"group":"/a"}},
                "mismatch":[{"what":"tls","asked":"1.3","obtained":"1.2 in 2 handshakes"}]}"#,
        )
        .unwrap();
        let row = |what, asked: &str, obtained: &str, is_mismatch| ReceiptRow {
            what,
            asked: asked.to_owned(),
            obtained: obtained.to_owned(),
            is_mismatch,
        };
        assert_eq!(
            receipt.rows(),
            [
                row("connections", "64", "", false),
                row("pace", "", &BitsPerSecond(8e6).to_string(), false),
                row("ramp", "2ms", "", false),
                row("TLS", "1.3", "1.2 (2×), 1.3 (1,000×)", true),
                row("encrypt-then-MAC", "", "no", false),
                row("resumption", "50%", "", false),
                row("held back", "", "connections 62, least 249.72 Gb/s", false),
                row(
                    "client's CPU quota",
                    "",
                    "cpus 0.50, group /a, throttled 2ms, throttled periods 3",
                    false,
                ),
                row("orders", "", "after 2,000, before 1,000", false),
            ]
        );
    }
}
