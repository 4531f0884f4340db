//! The formats that are known, and which of them a log has.

use super::columns::{self, Columns};
use super::json;
use super::language::{self, LogFormat};
use super::request::{Damage, Entry, Field, Values};
use super::template::Template;

/// Those that are text: a name, and the form in the language of nginx with a few more names. The first that reads a line
/// is its format.
const KNOWN: [(&str, &str); 5] = [
    (
        "vhost_combined",
        r#"$vhost:$port $host - $user [$time_local] "$request" $status $bytes "$referer" "$agent"$rest"#,
    ),
    ("combined", r#"$client [$time_local] "$request" $status $bytes "$referer" "$agent"$rest"#),
    ("common", r#"$client [$time_local] "$request" $status $bytes$rest"#),
    (
        "HAProxy's HTTP log",
        r#"$client [$time_local] $frontend $backend/$server $times $status $bytes_sent $cookie $set_cookie $state $connections $queues"$request"$sni_and_tls"#,
    ),
    (
        "AWS ALB",
        r#"$scheme $time_iso8601 $elb $client $target $wait $response $send $status $target_status $received $bytes_sent "$request" "$agent" $ssl_cipher $ssl_protocol $after"#,
    ),
];

/// The first three are so alike that a damaged line of one may be read as another.
const AKIN: usize = 3;

const JSON: &str = "JSON";
const COLUMNS: &str = "#Fields:";

/// The formats by their names, for whoever gave another.
pub(super) const LIST: &str = "common, combined and vhost_combined of nginx and Apache with anything after it, HAProxy's \
    HTTP and HTTPS log, AWS ALB, CloudFront's and IIS's with a line `#Fields:`, Caddy's JSON and JSON with nginx's names";

fn known_field(name: &str) -> Option<Field> {
    Some(match name {
        "bytes" => Field::Bytes,
        "server" | "target" => Field::Upstream,
        "frontend" => Field::Frontend,
        "times" => Field::Times,
        "sni_and_tls" => Field::SniAndTls,
        "port" => Field::Port,
        "rest" => Field::Rest,
        _ => return language::nginx_field(name),
    })
}

/// The format of a log.
#[derive(Debug)]
pub(super) enum Format {
    Known(usize, Template),
    Given(Template),
    Json,
    Columns(Columns),
}

/// What a line is.
pub(super) enum Line {
    Entry(Entry),
    /// It is about the lines after it.
    Directive,
    Damaged(Damage),
    /// The line `#Fields:` has no column of this name.
    NoColumn(&'static str),
}

impl Format {
    pub(super) fn given(format: &LogFormat) -> Self {
        Self::Given(format.0.clone())
    }

    /// The one that reads most of these lines, or the first that reads more than half of them.
    pub(super) fn of(lines: &[&[u8]]) -> Option<Self> {
        if lines.iter().any(|line| line.starts_with(columns::FIELDS)) {
            return Some(Self::Columns(Columns::default()));
        }
        let known = (0..KNOWN.len()).filter_map(|at| Some(Self::Known(at, known(at)?)));
        let mut best = (0, None);
        for mut format in known.chain([Self::Json]) {
            let is_request = |line: &&&[u8]| matches!(format.read(line), Line::Entry(_));
            let read = lines.iter().filter(is_request).count();
            if read * 2 > lines.len() {
                return Some(format);
            }
            if read > best.0 {
                best = (read, Some(format));
            }
        }
        best.1
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Known(at, _) => KNOWN[*at].0,
            Self::Given(_) => "--log-format",
            Self::Json => JSON,
            Self::Columns(_) => COLUMNS,
        }
    }

    pub(super) fn read(&mut self, line: &[u8]) -> Line {
        let values = match self {
            Self::Columns(columns) if line.starts_with(b"#") => {
                return columns.take(line).map_or_else(Line::NoColumn, |()| Line::Directive);
            }
            // Text that is wrapped in JSON, as Docker keeps it, is no line of these.
            Self::Known(..) if line.starts_with(b"{") => None,
            Self::Known(_, template) | Self::Given(template) => template.read(line),
            Self::Json => json::read(line),
            Self::Columns(columns) => columns.read(line),
        };
        match values.as_ref().map(Values::entry) {
            Some(Ok(entry)) => Line::Entry(entry),
            Some(Err(damage)) => Line::Damaged(damage),
            None => Line::Damaged(Damage::Form),
        }
    }

    /// The other known format that a line has which is no request in this one. With a format that was given any line
    /// may be a damaged one.
    pub(super) fn other(&self, line: &[u8]) -> Option<&'static str> {
        let is_akin = match self {
            Self::Given(_) => return None,
            Self::Known(own, _) => *own < AKIN,
            Self::Json | Self::Columns(_) => false,
        };
        if line.starts_with(columns::FIELDS) {
            return Some(COLUMNS);
        }
        let is_request = |mut format: Self| matches!(format.read(line), Line::Entry(_));
        let others = (if is_akin { AKIN } else { 0 })..KNOWN.len();
        let mut others = others.filter_map(|at| Some((KNOWN[at].0, Self::Known(at, known(at)?))));
        let is_json = !matches!(self, Self::Json) && is_request(Self::Json);
        let found = others.find_map(|(name, format)| is_request(format).then_some(name));
        found.or(is_json.then_some(JSON))
    }
}

fn known(at: usize) -> Option<Template> {
    Template::new(language::nginx(KNOWN[at].1, known_field).ok()?).ok()
}

/// What a line of no known format looks like.
pub(super) fn look(line: &[u8]) -> &'static str {
    if line.starts_with(b"{\"log\":\"") {
        return "Docker's JSON around a server's line; `docker logs CONTAINER` prints the lines alone";
    }
    if line.starts_with(b"{") {
        return match Format::Json.read(line) {
            Line::Damaged(Damage::Time) => {
                "JSON without a known name for the time, such as `time_iso8601` or `ts`"
            }
            Line::Damaged(Damage::Status) => {
                "JSON without the name `status` and a number of three digits"
            }
            Line::Damaged(Damage::Size) => {
                "JSON without a known name for the size, such as `body_bytes_sent` or `size`"
            }
            _ => "damaged JSON",
        };
    }
    let magic: [(&[u8], &str); 3] = [
        (b"\xfd7zXZ", "a file compressed by xz, which toll does not unpack"),
        (b"BZh", "a file compressed by bzip2, which toll does not unpack"),
        (b"PK\x03\x04", "a ZIP archive, which toll does not unpack"),
    ];
    let magic = magic.into_iter().find(|(magic, _)| line.starts_with(magic));
    match magic {
        Some((_, name)) => name,
        None if memchr::memchr(0, line).is_some() => "no text",
        None if memchr::memmem::find(line, b"HTTP/").is_some() => {
            "a log of requests in another order"
        }
        None => "text without requests",
    }
}
