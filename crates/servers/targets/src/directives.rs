//! Directives of nginx that a study adds to its configuration, or that replace those which toll
//! writes.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

/// The word for no directive.
const NONE: &str = "none";

/// What toll's proof depends on, each with what to do instead: which objects are served, where and by
/// whom, what is negotiated, and how it is sent.
const REFUSED: [(&str, &str); 9] = [
    ("sendfile", "write target.sendfile"),
    ("ssl_buffer_size", "write target.record-size"),
    ("ssl_certificate", "write target.certificate-key"),
    ("ssl_session_tickets", "write target.tickets"),
    ("ssl_ciphers", "write load.suite"),
    ("ssl_protocols", "write load.tls"),
    ("ssl_ecdh_curve", "write load.group"),
    ("worker_processes", "write target.cpus"),
    ("worker_cpu_affinity", "write target.cpus"),
];

/// Others that it depends on, by the start of their names.
const REFUSED_STARTS: [&str; 26] = [
    "ssl_",
    "listen",
    "server",
    "root",
    "alias",
    "location",
    "include",
    "user",
    "pid",
    "daemon",
    "master_process",
    "worker_",
    "events",
    "http",
    "error_",
    "gzip",
    "return",
    "rewrite",
    "sub_",
    "limit_",
    "upstream",
    "proxy_pass",
    "proxy_ssl_",
    "proxy_http_version",
    "proxy_set_header",
    "proxy_cache",
];

/// Names with such a start that nothing depends on.
const TAKEN: [&str; 4] = [
    "ssl_session_cache",
    "ssl_session_timeout",
    "http2_max_concurrent_streams",
    "http2_chunk_size",
];

/// Directives of nginx's `http` block, `tcp_nodelay off; aio threads`, or `none`.
#[derive(Debug, Clone, Default, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub struct Directives(Vec<String>);

impl Directives {
    /// Each without its semicolon, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether one of this name is given.
    pub fn has(&self, name: &str) -> bool {
        self.iter().any(|directive| self::name(directive) == name)
    }
}

fn name(directive: &str) -> &str {
    directive.split_whitespace().next().unwrap_or_default()
}

impl FromStr for Directives {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == NONE {
            return Ok(Self::default());
        }
        let mut directives = Self::default();
        for directive in text.split(';').map(str::trim).filter(|directive| !directive.is_empty()) {
            let name = name(directive);
            if directive.contains(['{', '}', '#', '"', '\'', '\\', '$']) || directive.contains('\n')
            {
                return Err(format!(
                    "`{directive}` is not a plain directive; write names and words without blocks, \
                     quotes, variables and comments, such as tcp_nodelay off; aio threads"
                ));
            }
            if let Some(instead) = instead_of(name) {
                return Err(format!("toll's proof depends on {name}; {instead}"));
            }
            if directives.has(name) {
                return Err(format!("{name} is given twice; leave one out"));
            }
            directives.0.push(directive.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        Ok(directives)
    }
}

/// What to do instead of a directive that is refused.
fn instead_of(name: &str) -> Option<&'static str> {
    let known = REFUSED.iter().find(|(refused, _)| *refused == name);
    if let Some((_, instead)) = known {
        return Some(instead);
    }
    let is_refused = REFUSED_STARTS.iter().any(|start| name.starts_with(start));
    let is_refused = is_refused || name.ends_with("_temp_path");
    (is_refused && !TAKEN.contains(&name)).then_some("leave it out")
}

impl fmt::Display for Directives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.is_empty() {
            true => f.write_str(NONE),
            false => f.write_str(&self.0.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_alike() {
        for text in ["none", "aio threads", "tcp_nodelay off; ssl_session_cache shared:SSL:10m"] {
            assert_eq!(text.parse::<Directives>().unwrap().to_string(), text);
        }
        let loose: Directives = " aio   threads ;;read_ahead 0; ".parse().unwrap();
        assert_eq!(loose.to_string(), "aio threads; read_ahead 0");
        assert!(loose.has("read_ahead") && !loose.has("read"));
    }

    #[test]
    fn what_the_proof_depends_on_is_refused() {
        let refusal = |text: &str| text.parse::<Directives>().unwrap_err();
        for name in ["root", "ssl_conf_command", "server_name", "gzip", "proxy_temp_path"] {
            assert!(refusal(&format!("aio on; {name} x")).contains(name));
        }
        let refused = ["sendfile on", "aio on; gzip x", "server { listen 80", "aio on; aio off"];
        support::assert_golden!(refused.map(|text| (text, refusal(text))));
    }
}
