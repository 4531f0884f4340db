//! Formats as nginx and Apache have them in their configurations.

use std::str::FromStr;

use super::request::Field;
use super::template::{Adjacent, Piece, Template, Variable};

/// A format that was given: nginx's `log_format` or Apache's `LogFormat`.
#[derive(Debug, Clone)]
pub struct LogFormat(pub(super) Template);

/// Why a format cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error(
        "the format has neither a variable of nginx, such as $status, nor one of Apache, such as %>s"
    )]
    Language,
    #[error("the format has no {what}: it needs {names}")]
    Missing { what: &'static str, names: &'static str },
    #[error(
        "the format has no text between {first} and {second}, so that nothing shows where the first ends"
    )]
    Adjacent { first: String, second: String },
    #[error("the format has a quotation mark or a brace that is not closed")]
    Unclosed,
}

impl From<Adjacent> for FormatError {
    fn from(Adjacent(first, second): Adjacent) -> Self {
        Self::Adjacent { first, second }
    }
}

impl FromStr for LogFormat {
    type Err = FormatError;

    /// The bare format, or the whole directive: names, quotation marks and the semicolon are left out.
    fn from_str(text: &str) -> Result<Self, FormatError> {
        let text = text.trim();
        let format = match text.split_once(char::is_whitespace) {
            Some(("log_format", rest)) => nginx_strings(rest)?,
            Some((name, rest)) if name.eq_ignore_ascii_case("LogFormat") => apache_string(rest)?,
            // nginx's strings without the directive.
            _ if text.starts_with('\'') => nginx_strings(text)?,
            // Apache's string, maybe with a nickname. A format that has quotation marks itself goes on with more.
            _ if closed(text).is_ok_and(|(_, after)| !after.contains(['%', '$', '"'])) => {
                apache_string(text)?
            }
            _ => text.replace("\\\"", "\""),
        };
        let (template, names) = if has_nginx_variable(&format) {
            (Template::new(nginx(&format, nginx_field)?)?, NGINX)
        } else if format.contains('%') {
            (Template::new(apache(&format)?)?, APACHE)
        } else {
            return Err(FormatError::Language);
        };
        for (what, fields, names) in names {
            if !fields.iter().any(|field| template.has(*field)) {
                return Err(FormatError::Missing { what, names });
            }
        }
        Ok(Self(template))
    }
}

/// What a format must have: one of the fields, and how a language writes them.
type Needed = [(&'static str, &'static [Field], &'static str); 3];

const SIZES: &[Field] = &[Field::Body, Field::BodyAndHead];

const NGINX: Needed = [
    ("time", &[Field::Time], "$time_local, $time_iso8601 or $msec"),
    ("status", &[Field::Status], "$status"),
    ("bytes of the body", SIZES, "$body_bytes_sent, or $bytes_sent, which has the heads too"),
];

const APACHE: Needed = [
    ("time", &[Field::Time], "%t"),
    ("status", &[Field::Status], "%>s"),
    ("bytes of the body", SIZES, "%b or %B, or %O, which has the heads too"),
];

fn has_nginx_variable(format: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'{';
    format.as_bytes().windows(2).any(|pair| pair[0] == b'$' && is_name(pair[1]))
}

/// The strings of `main escape=json 'a' 'b';`, joined.
fn nginx_strings(text: &str) -> Result<String, FormatError> {
    let mut format = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['\'', '"']) {
        let (string, after) = closed(&rest[start..])?;
        format.push_str(&string);
        rest = after;
    }
    Ok(format)
}

/// The string of `"%h \"%r\"" nickname`.
fn apache_string(text: &str) -> Result<String, FormatError> {
    let start = text.find(['\'', '"']).ok_or(FormatError::Unclosed)?;
    closed(&text[start..]).map(|(string, _)| string)
}

/// A string in quotation marks and what is after it. A backslash keeps the character after it.
fn closed(text: &str) -> Result<(String, &str), FormatError> {
    let mut characters = text.char_indices();
    let mark = characters.next().map(|(_, mark)| mark);
    let mark = mark.filter(|mark| matches!(mark, '\'' | '"')).ok_or(FormatError::Unclosed)?;
    let mut string = String::new();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => match characters.next().ok_or(FormatError::Unclosed)?.1 {
                't' => string.push('\t'),
                kept => string.push(kept),
            },
            _ if character == mark => return Ok((string, &text[at + 1..])),
            _ => string.push(character),
        }
    }
    Err(FormatError::Unclosed)
}

/// The pieces of a format in which `$name` and `${name}` are variables.
pub(super) fn nginx(
    format: &str,
    field: impl Fn(&str) -> Option<Field>,
) -> Result<Vec<Piece>, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some((text, after)) = rest.split_once('$') {
        pieces.push(Piece::Text(text.into()));
        let (name, after) = match after.strip_prefix('{') {
            Some(braced) => braced.split_once('}').ok_or(FormatError::Unclosed)?,
            None => {
                let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
                after.split_at(after.find(is_end).unwrap_or(after.len()))
            }
        };
        pieces.push(Piece::Value(Variable {
            name: format!("${name}"),
            field: field(name),
            is_list: name.starts_with("upstream_"),
        }));
        rest = after;
    }
    pieces.push(Piece::Text(rest.into()));
    Ok(pieces)
}

/// What a variable of nginx is.
pub(super) fn nginx_field(name: &str) -> Option<Field> {
    Some(match name {
        "time_local" | "time_iso8601" | "msec" => Field::Time,
        "status" => Field::Status,
        "body_bytes_sent" => Field::Body,
        "bytes_sent" => Field::BodyAndHead,
        "request" => Field::Request,
        "request_method" => Field::Method,
        "server_protocol" => Field::Protocol,
        "ssl_protocol" => Field::Tls,
        "ssl_cipher" => Field::Cipher,
        "scheme" => Field::Scheme,
        "https" => Field::Https,
        "upstream_addr" | "upstream_status" | "upstream_response_time" => Field::Upstream,
        "connection_requests" => Field::NumberFromOne,
        "ssl_session_reused" => Field::Resumed,
        _ => return None,
    })
}

/// The pieces of a format in which `%h`, `%>s` and `%{name}x` are directives.
fn apache(format: &str) -> Result<Vec<Piece>, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = format;
    // Of both, `%>s` is what the client got.
    let has_final = format.contains(">s");
    while let Some((text, after)) = rest.split_once('%') {
        pieces.push(Piece::Text(text.into()));
        if let Some(after) = after.strip_prefix('%') {
            pieces.push(Piece::Text(b"%".into()));
            rest = after;
            continue;
        }
        let is_modifier = |c: char| matches!(c, '<' | '>' | '!' | ',' | '^') || c.is_ascii_digit();
        let directive = after.trim_start_matches(is_modifier);
        let modifiers = &after[..after.len() - directive.len()];
        let (argument, directive) = match directive.strip_prefix('{') {
            Some(braced) => braced.split_once('}').ok_or(FormatError::Unclosed)?,
            None => ("", directive),
        };
        // `%^ti` and `%^to` have two letters.
        let letters = if modifiers.contains('^') { 2 } else { 1 };
        let end = directive.char_indices().nth(letters).map_or(directive.len(), |(at, _)| at);
        let (letter, after) = directive.split_at(end);
        let field = match letter {
            "s" if has_final && !modifiers.contains('>') => None,
            _ => apache_field(letter, argument),
        };
        let name = format!("%{}", &rest[text.len() + 1..rest.len() - after.len()]);
        let value = Piece::Value(Variable { name, field, is_list: false });
        if letter == "t" && argument.is_empty() {
            pieces.extend([Piece::Text(b"[".into()), value, Piece::Text(b"]".into())]);
        } else {
            pieces.push(value);
        }
        rest = after;
    }
    pieces.push(Piece::Text(rest.into()));
    Ok(pieces)
}

fn apache_field(letter: &str, argument: &str) -> Option<Field> {
    Some(match (letter, argument) {
        ("t", _) if is_time(argument) => Field::Time,
        ("s", _) => Field::Status,
        ("b" | "B", _) => Field::Body,
        ("O", _) => Field::BodyAndHead,
        ("r", _) => Field::Request,
        ("m", _) => Field::Method,
        ("H", _) => Field::Protocol,
        ("k", _) => Field::NumberFromZero,
        ("x", "SSL_PROTOCOL") => Field::Tls,
        ("x", "SSL_CIPHER") => Field::Cipher,
        ("x", "SSL_SESSION_RESUMED") => Field::Resumed,
        _ => return None,
    })
}

/// Whether `%{argument}t` is a whole time, not a part of one.
fn is_time(argument: &str) -> bool {
    let argument = argument.trim_start_matches("begin:").trim_start_matches("end:");
    matches!(argument, "" | "sec" | "msec" | "usec")
        || ["%d/", "-%d", "/%d", "%F", "%s"].iter().any(|date| argument.contains(date))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access_log::request::{Entry, Request};

    fn read(format: &str, line: &str) -> Request {
        let LogFormat(template) = format.parse().unwrap();
        let values = template.read(line.as_bytes()).unwrap_or_else(|| panic!("{format}: {line}"));
        match values.entry().unwrap() {
            Entry::Request(request) => request,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn formats_are_read_as_configurations_have_them() {
        let nginx = r#"$remote_addr [$time_local] "$request" $status $body_bytes_sent"#;
        let json =
            r#"{"t":"$msec","request":"$request","status":$status,"bytes":${body_bytes_sent}}"#;
        let apache = r#"%h %l %u %t "%r" %>s %b"#;
        let line = r#"192.0.2.1 [10/Oct/2026:15:55:36 +0200] "GET /\"a HTTP/1.1" 304 7"#;
        let of_apache = line.replace(" [", " - - [");
        let of_json =
            r#"{"t":"1791640536.001","request":"GET /\"a HTTP/1.1","status":304,"bytes":7}"#;
        for (format, line) in [
            (nginx.to_owned(), line),
            (format!("log_format main '{nginx}';"), line),
            (
                "log_format  main  escape=default\n '$remote_addr [$time_local] '\n '\"$request\" $status $body_bytes_sent';".to_owned(),
                line,
            ),
            (format!("'{nginx}'"), line),
            (json.to_owned(), of_json),
            (format!("log_format j escape=json '{json}';"), of_json),
            (apache.to_owned(), &of_apache),
            (apache.replace('"', "\\\""), &of_apache),
            (format!("LogFormat \"{}\" common", apache.replace('"', "\\\"")), &of_apache),
            (format!("\"{}\"", apache.replace('"', "\\\"")), &of_apache),
            (apache.replace("%h", "\"%h\""), &of_apache.replace("192.0.2.1", "\"192.0.2.1\"")),
            (format!("{apache} %%"), &format!("{of_apache} %")),
            (apache.replace("%t", "[%{%d/%b/%Y:%T %z}t]"), &of_apache),
            (apache.replace("%>s", "%s %>s"), &of_apache.replace("304", "200 304")),
            (
                apache.replace("%l", "%400,501{User-agent}i %^ti"),
                &of_apache.replacen('-', "agent x", 1),
            ),
        ] {
            let request = read(&format, line);
            assert_eq!((request.minute.utc, request.size), (29_860_675, 7), "{format}");
            assert!(request.is_bodiless && request.protocol.is_some(), "{format}");
        }
    }

    #[test]
    fn lists_of_upstreams_have_spaces_in_them() {
        let format = "$upstream_addr $upstream_status [$time_local] $status $bytes_sent";
        for (upstreams, is_proxied) in [
            ("10.0.0.1:80 200", true),
            ("10.0.0.1:80, 10.0.0.2:80 502, 200", true),
            ("10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80 502, 502 : 200", true),
            ("- -", false),
        ] {
            let request = read(format, &format!("{upstreams} [10/Oct/2026:13:55:36 +0000] 200 5"));
            assert_eq!((request.is_proxied, request.size), (Some(is_proxied), 5), "{upstreams}");
        }
    }

    #[test]
    fn what_a_format_lacks_is_named() {
        for (format, about) in [
            ("combined", "neither"),
            ("$status $body_bytes_sent", "no time: it needs $time_local"),
            ("[$time_local] $body_bytes_sent", "no status: it needs $status"),
            ("[$time_local] $status", "no bytes of the body: it needs $body_bytes_sent"),
            ("%>s %b", "no time: it needs %t"),
            ("%{%H}t %>s %b", "no time: it needs %t"),
            ("%t %b", "no status: it needs %>s"),
            ("%t %>s", "no bytes of the body: it needs %b"),
            ("$status$time_local $body_bytes_sent", "between $status and $time_local"),
            ("%t %>s%b", "between %>s and %b"),
            ("log_format main '$status", "not closed"),
            ("${status", "not closed"),
            ("%{x", "not closed"),
        ] {
            let error = format.parse::<LogFormat>().unwrap_err().to_string();
            assert!(error.contains(about), "{format}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_format_is_a_panic(format in "[$%{}'\"\\\\ a-zé>^,0-9]{0,40}", line in prop::collection::vec(any::<u8>(), 0..60)) {
            for format in [format.clone(), format!("{format} $time_local $status $bytes_sent{format}"), format!("%t %s %b{format}")] {
                if let Ok(LogFormat(template)) = format.parse() {
                    let _ = template.read(&line).map(|values| values.entry());
                }
            }
        }
    }
}
