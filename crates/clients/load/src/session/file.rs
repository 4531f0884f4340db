//! Session files: TOML, read into a [`Session`]; errors name file and line.

use std::collections::BTreeMap;
use std::path::Path;

use keys::did_you_mean;
use regex::bytes::Regex;
use serde::Deserialize;
use toml::Spanned;

use super::template::{BUILT_IN, Template, is_name};
use super::{Method, Page, Reconnect, Session, Take, Taking};

/// The name of the session of the pet-store application.
const PET_STORE: &str = "petstore";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: Spanned<u32>,
    #[serde(default)]
    reconnect: Reconnect,
    page: Vec<Spanned<PageTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageTable {
    name: Spanned<String>,
    get: Option<Spanned<String>>,
    post: Option<Spanned<String>>,
    #[serde(default)]
    form: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    redirects: u8,
    #[serde(default = "ok")]
    status: Spanned<u16>,
    contains: Option<Spanned<String>>,
    #[serde(default)]
    take: BTreeMap<String, Spanned<TakeValue>>,
    #[serde(default)]
    order: bool,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a take is a pattern, or { field = \"NAME\" }")]
enum TakeValue {
    Pattern(String),
    Field(FieldTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldTable {
    field: String,
}

fn ok() -> Spanned<u16> {
    Spanned::new(0..0, 200)
}

/// What is wrong, and at which offset of the file.
struct Flaw(usize, String);

impl Session {
    /// Reads the built-in session of this name, or a file.
    ///
    /// # Errors
    /// One line that says what is wrong, and where.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        if is_built_in(path) {
            return Self::parse(include_str!("petstore.toml"), PET_STORE);
        }
        file(path).map(|(session, _)| session)
    }

    /// Reads the text of the file with this name.
    pub(super) fn parse(text: &str, file: &str) -> Result<Self, String> {
        document(text).map_err(|Flaw(offset, what)| {
            let before = &text.as_bytes()[..offset.min(text.len())];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            let what: String = what.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            format!("{file}, line {line}: {what}")
        })
    }
}

/// Whether this is the name of a session that is built in, and no path.
pub fn is_built_in(session: &Path) -> bool {
    session == Path::new(PET_STORE)
}

/// The text of a session file, checked.
///
/// # Errors
/// One line that says what is wrong, and where.
pub fn session_text(path: &Path) -> Result<String, String> {
    file(path).map(|(_, text)| text)
}

fn file(path: &Path) -> Result<(Session, String), String> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        format!("{name}: {error}; give the path of a session file, or {PET_STORE}")
    })?;
    Ok((Session::parse(&text, &name)?, text))
}

fn document(text: &str) -> Result<Session, Flaw> {
    let document: Document = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Flaw(offset, with_hint(error.message()))
    })?;
    if *document.schema.get_ref() != 1 {
        return Err(flaw(&document.schema, "this toll reads schema = 1"));
    }
    let mut pages: Vec<Page> = Vec::new();
    let mut names = Vec::new();
    for table in document.page {
        let start = table.span().start;
        let table = table.into_inner();
        if pages.iter().any(|page| page.name == *table.name.get_ref()) {
            return Err(flaw(&table.name, "another page has this name"));
        }
        pages.push(page(start, table, &mut names)?);
    }
    if pages.is_empty() {
        return Err(Flaw(0, "a session needs at least one [[page]]".to_owned()));
    }
    Ok(Session { reconnect: document.reconnect, pages, values: names.len() })
}

/// An error of the deserializer; of an unknown name, such as "unknown field `contain`, expected one of
/// `name`, `get`", with the one that is near.
fn with_hint(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    match (names.next(), message.split_once(", expected ")) {
        (Some(given), Some((unknown, _))) if unknown.starts_with("unknown ") => {
            format!("{unknown}{}", did_you_mean(given, "there are:", names))
        }
        _ => message.to_owned(),
    }
}

/// Reads a page that begins at `start`; `names` are those of the values that earlier pages take.
fn page(start: usize, table: PageTable, names: &mut Vec<String>) -> Result<Page, Flaw> {
    let template = |text: &Spanned<String>| {
        let number_of = |name: &str| names.iter().position(|known| known == name);
        Template::parse(text.get_ref(), number_of).map_err(|name| {
            flaw(text, format!("no earlier page takes `{name}`; add take.{name} to one, or leave {{{name}}} out"))
        })
    };
    let method = match (&table.get, &table.post) {
        (Some(path), None) => {
            if let Some(value) = table.form.values().next() {
                return Err(flaw(
                    value,
                    "a page that is asked for with get has no form; write post",
                ));
            }
            check_path(path)?;
            Method::Get(template(path)?)
        }
        (None, Some(path)) => {
            check_path(path)?;
            let fields = table.form.iter();
            let fields = fields.map(|(name, value)| Ok((name.clone(), template(value)?)));
            Method::Post(template(path)?, Template::form(fields.collect::<Result<_, Flaw>>()?))
        }
        (Some(_), Some(path)) => {
            return Err(flaw(path, "a page is asked for with get or post; leave one out"));
        }
        (None, None) => {
            return Err(Flaw(start, "a page needs get = \"/path\" or post = \"/path\"".to_owned()));
        }
    };
    let status = *table.status.get_ref();
    if !(200..600).contains(&status) {
        return Err(flaw(&table.status, "a status is a number from 200 to 599"));
    }
    let contains = match &table.contains {
        Some(text) if text.get_ref().is_empty() => {
            return Err(flaw(
                text,
                "every page contains an empty text; write one that only this page has",
            ));
        }
        Some(text) => Some(template(text)?),
        None => None,
    };
    if contains.is_none() && table.take.is_empty() {
        let why = "a page needs contains or take, for an error page may have the right status too";
        return Err(Flaw(start, why.to_owned()));
    }
    let mut takes = Vec::new();
    for (name, value) in table.take {
        if !is_name(&name) || BUILT_IN.contains(&name.as_str()) {
            let why = format!(
                "`{name}` is not a name for a value; use letters, digits, - and _, and neither user nor page"
            );
            return Err(flaw(&value, why));
        }
        let number = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        });
        takes.push(Take { number, taking: taking(&value)?, name });
    }
    let PageTable { redirects, order: is_order, .. } = table;
    let name = table.name.into_inner();
    Ok(Page { name, is_order, method, redirects, status, contains, takes })
}

fn taking(value: &Spanned<TakeValue>) -> Result<Taking, Flaw> {
    let pattern = match value.get_ref() {
        TakeValue::Field(table) => return Ok(Taking::Field(table.field.clone())),
        TakeValue::Pattern(pattern) => pattern,
    };
    let regex = Regex::new(pattern).map_err(|error| {
        // The first lines repeat the pattern.
        let error = error.to_string();
        let why = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        flaw(value, format!("`{pattern}` is not a pattern: {why}"))
    })?;
    match regex.captures_len() {
        2 => Ok(Taking::Pattern(regex)),
        groups => Err(flaw(
            value,
            format!(
                "`{pattern}` has {} groups; put one pair of parentheses around the value",
                groups - 1
            ),
        )),
    }
}

/// A path goes into the request's first line as it is.
fn check_path(path: &Spanned<String>) -> Result<(), Flaw> {
    let text = path.get_ref();
    if !text.starts_with('/') || text.starts_with("//") {
        return Err(flaw(path, "a path begins with one /, such as /sign-in?bytes={page}"));
    }
    match text.chars().find(|c| !c.is_ascii_graphic() || *c == '#') {
        Some(other) => Err(flaw(path, format!("a path has no {other:?}; percent-encode it"))),
        None => Ok(()),
    }
}

fn flaw<T>(at: &Spanned<T>, what: impl Into<String>) -> Flaw {
    Flaw(at.span().start, what.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Session::parse(text, "shop.toml").err().unwrap_or_else(|| panic!("no error: {text}"))
    }

    #[test]
    fn the_documented_file_is_read() {
        let session = Session::parse(
            r#"
            schema = 1
            reconnect = "walk"
            [[page]]
            name = "form"
            get = "/sign-in?bytes={page}"
            take.token = { field = "token" }
            [[page]]
            name = "sign-in"
            post = "/sign-in?bytes={page}"
            form = { name = "user{user}", token = "{token}" }
            redirects = 1
            contains = "Signed in"
            take.order = 'order=(\d+)'
            "#,
            "x",
        )
        .unwrap();
        assert_eq!((session.reconnect, session.values), (Reconnect::Walk, 2));
        let [form, sign_in] = session.pages.as_slice() else { panic!() };
        assert!(matches!(&form.method, Method::Get(_)) && form.contains.is_none());
        assert!(matches!(&sign_in.method, Method::Post(..)));
        assert_eq!((sign_in.redirects, sign_in.status), (1, 200));
        assert!(matches!(&form.takes[0].taking, Taking::Field(name) if name == "token"));
    }

    #[test]
    fn the_built_in_session_is_right() {
        let session = Session::read(Path::new(PET_STORE)).unwrap();
        assert_eq!((session.pages.len(), session.reconnect), (13, Reconnect::Never));
    }

    #[test]
    fn the_session_of_jpetstore_is_right() {
        let text = include_str!("../../../../../studies/sessions/jpetstore-6.toml");
        let session = Session::parse(text, "jpetstore-6.toml").unwrap();
        assert_eq!((session.pages.len(), session.values), (13, 2));
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_line() {
        let page = "schema = 1\n[[page]]\nname = \"a\"\n";
        let good = format!("{page}get = \"/\"\ncontains = \"x\"\n");
        assert!(Session::parse(&good, "x").is_ok());
        let wrong = [
            "schema = 2\npage = []".to_owned(),
            "schema = 1\npage = []".to_owned(),
            "schema = 1\n[[page]]\nname = ".to_owned(),
            "schema = 1\nreconnect = \"often\"\n".to_owned(),
            format!("{page}contains = \"x\"\n"),
            format!("{page}get = \"/\"\n"),
            format!("{page}get = \"/\"\ncontains = \"\"\n"),
            format!("{page}get = \"x\"\ncontains = \"y\"\n"),
            format!("{page}get = \"//x\"\ncontains = \"y\"\n"),
            format!("{page}get = \"/a b\"\ncontains = \"y\"\n"),
            format!("{page}get = \"/{{x}}\"\ncontains = \"y\"\n"),
            // What a page takes is there for the pages after it.
            format!("{page}get = \"/\"\ncontains = \"{{x}}\"\ntake.x = '(x)'\n"),
        ];
        let added = [
            "contain = \"y\"",
            "[[page]]\nname = \"a\"",
            "post = \"/\"",
            "form = { a = \"b\" }",
            "status = 100",
            "take.x = '(x'",
            "take.x = 'x'",
            "take.x = '(x)(y)'",
            "take.x = 3",
            "take.x = { fields = \"y\" }",
            "take.user = '(x)'",
            "take.\"a b\" = '(x)'",
            "reconnect = \"never\"",
        ];
        let added = added.map(|line| format!("{good}{line}\n"));
        support::assert_golden!(wrong.into_iter().chain(added).map(|text| {
            let error = error(&text);
            assert!(!error.contains('\n'), "{error}");
            (text, error)
        }));
        let missing = Session::read(Path::new("/no/such/file.toml")).err().unwrap();
        assert!(missing.contains("/no/such/file.toml"), "{missing}");
    }
}
