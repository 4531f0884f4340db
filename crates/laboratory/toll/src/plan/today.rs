//! The keys of a plan's cases: the server and the traffic as they are, and what changes make of them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZeroU32;

use ::load::Http;
use keys::full;

use super::arguments::Arguments;
use super::offers::{self, Offer};
use super::parts::{FULL, OTHER, RESUMED};
use super::traffic::{PlannedTraffic, Shape};

/// The other size, where the traffic's is not near it; what a byte costs follows from two.
const SMALL: u64 = 1 << 10;
const LARGE: u64 = 64 << 10;

/// Keys and their values.
pub(super) type Keys = BTreeMap<String, String>;

/// The server and the traffic as they are.
#[derive(Debug, Clone)]
pub(super) struct Today {
    /// Of all cases.
    pub(super) common: Keys,
    http: Http,
    streams: u32,
    object: String,
    /// Of requests on connections that have one.
    small: String,
    other: String,
    pub(super) busy: f64,
    pub(super) shape: Shape,
}

impl Today {
    pub(super) fn of(arguments: &Arguments, wanted: &PlannedTraffic) -> Self {
        let Arguments { server, certificate_key: key, suite, group, http, streams, .. } = arguments;
        let shape = wanted.shape();
        let is_resumed = shape.resumed.get() > 0;
        let mut common: Keys = [
            ("target.if-missing", "fail".to_owned()),
            (full::SERVER, server.clone()),
            (full::CERTIFICATE_KEY, key.to_string()),
            (full::TICKETS, is_resumed.to_string()),
            (full::SESSION_CACHE, "false".to_owned()),
            ("target.encrypt-then-mac", "false".to_owned()),
            (full::SUITE, suite.to_string()),
            ("load.encrypt-then-mac", "false".to_owned()),
        ]
        .map(|(key, value)| entry(key, &value))
        .into();
        if let Some(group) = group {
            common.extend([entry(full::GROUP, group.name())]);
        }
        if let Some(system) = arguments.system.made() {
            common.extend([entry("target.system", system)]);
        }
        if *http == Http::V3 {
            common.extend([entry(full::QUIC, "true")]);
            // QUIC is rustls' in the embedded server.
            if server == "embedded" {
                common.extend([entry(full::LIBRARY, "rustls-ring")]);
            }
        }
        let mean = wanted.traffic.mean_bytes;
        let other = if mean < 4.0 * SMALL as f64 { LARGE } else { SMALL };
        let object = wanted.object.to_string();
        // Each connection with one request for the smaller object, which is taken off again.
        let small = if other < LARGE { format!("{other}B") } else { object.clone() };
        Self {
            common,
            http: *http,
            streams: streams.map_or(1, NonZeroU32::get),
            object,
            small,
            other: format!("{other}B"),
            busy: arguments.busy(),
            shape,
        }
    }

    /// The same server with handshakes that decrypt with its key: static RSA in TLS 1.2, as a modelled device needs it.
    pub(super) fn with_static_rsa(mut self) -> Self {
        self.common.remove(full::GROUP);
        let suite = entry(full::SUITE, "TLS_RSA_WITH_AES_128_GCM_SHA256");
        self.common.extend([suite, entry(full::TICKETS, "false")]);
        Self { http: Http::V1, streams: 1, ..self }
    }

    /// The keys of a part of the server with these changes, beside those that all cases have.
    ///
    /// # Errors
    /// What the changes leave nothing for.
    pub(super) fn keys(&self, part: &'static str, changes: &[&Offer]) -> Result<Keys, String> {
        let mut changed: BTreeMap<&str, &str> = BTreeMap::new();
        let touching = changes.iter().filter(|of| of.touches(part));
        for (key, value) in touching.flat_map(|of| of.keys()) {
            if changed.insert(key, value).is_some_and(|other| other != value) {
                return Err(format!("{key} cannot be both"));
            }
        }
        let http = changed
            .get(full::HTTP)
            .map_or_else(|| self.http.to_string(), |http| (*http).to_owned());
        let is_connection = [FULL, RESUMED].contains(&part);
        let object = match part {
            OTHER => &self.other,
            FULL | RESUMED => &self.small,
            _ => &self.object,
        };
        let mut keys: BTreeMap<&str, String> =
            [(full::OPERATION, "requests".to_owned()), (full::OBJECT, object.clone())].into();
        if http != Http::V1.to_string() {
            keys.insert(full::HTTP, http);
            // One request needs one stream; each further one would begin with a connection that has no session
            // to resume.
            let streams = if is_connection { 1 } else { self.streams };
            keys.insert("load.streams", streams.to_string());
        }
        if is_connection {
            keys.insert(full::REQUESTS_PER_CONNECTION, "1".to_owned());
        }
        if part == RESUMED {
            keys.insert(full::RESUMPTION, "100%".to_owned());
        }
        let common = |key: &str| self.common.get(key).map(String::as_str);
        if let Some(suite) = offers::suite(&changed, common)? {
            keys.insert(full::SUITE, suite.to_string());
        }
        let own = [full::HTTP, full::SUITE, full::VERSION];
        for (key, value) in changed.iter().filter(|(key, _)| !own.contains(key)) {
            keys.insert(key, (*value).to_owned());
        }
        let mut keys: Keys = keys.into_iter().map(|(key, value)| entry(key, &value)).collect();
        keys.retain(|key, value| self.common.get(key) != Some(value));
        Ok(keys)
    }
}

pub(super) fn entry(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

/// As TOML: counts and truth are no texts.
pub(super) fn write_keys(text: &mut String, keys: &Keys) {
    for (key, value) in keys {
        let is_count = || key != full::HTTP && value.bytes().all(|byte| byte.is_ascii_digit());
        let is_bare = matches!(&**value, "true" | "false") || is_count();
        let written = if is_bare { value.clone() } else { toml::Value::from(&**value).to_string() };
        let _ = writeln!(text, "{key} = {written}");
    }
}

pub(super) fn write_case(text: &mut String, name: &str, keys: &Keys) {
    let _ = writeln!(text, "[[case]]\nname = \"{name}\"");
    write_keys(text, keys);
}
