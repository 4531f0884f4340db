//! Sessions: users who walk the pages of a web application again and again.
//!
//! A session file says what the pages are (`file`), a [`Site`] is that at a server, and a [`User`]
//! asks for one page after another and judges what comes: its status, the number of redirects, a
//! text that it must contain, the values that later pages need. No status alone proves a page,
//! because servers send error pages with 200 too. Nothing here does input or reads a clock.

mod cookies;
mod file;
mod html;
mod origin;
mod template;
mod user;

use objects::Url;
use regex::bytes::Regex;
use serde::Deserialize;
use units::Bytes;

use crate::{Header, PageOutcome};
pub use file::{is_built_in, session_text};
use template::Template;
pub(crate) use user::{Then, User};

/// The pages of a session file.
#[derive(Debug)]
pub(crate) struct Session {
    reconnect: Reconnect,
    /// At least one.
    pages: Vec<Page>,
    /// How many values the pages take.
    values: usize,
}

/// When a user takes a new connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reconnect {
    /// When the server has closed the last one, or a page failed so that it cannot be used.
    #[default]
    Never,
    /// For each walk.
    Walk,
}

/// What a user asks for in one operation, and what must come.
#[derive(Debug)]
struct Page {
    name: String,
    /// Whether the shop stores an order for each of these.
    is_order: bool,
    method: Method,
    /// How many redirects it makes, exactly.
    redirects: u8,
    /// Of the last answer.
    status: u16,
    contains: Option<Template>,
    takes: Vec<Take>,
}

#[derive(Debug)]
enum Method {
    /// The path.
    Get(Template),
    /// The path, and the form.
    Post(Template, Template),
}

/// A value that later pages need.
#[derive(Debug)]
struct Take {
    name: String,
    /// Its place among the user's values.
    number: usize,
    taking: Taking,
}

#[derive(Debug)]
enum Taking {
    /// What the pattern's only group matches.
    Pattern(Regex),
    /// The value of the `<input>` with this name.
    Field(String),
}

/// A session at the server of a job.
#[derive(Debug)]
pub(crate) struct Site {
    session: Session,
    /// `https://host:port`.
    origin: String,
    /// The fields of each request.
    fields: String,
    /// `load.page` in bytes.
    page: String,
}

impl Site {
    /// The site at this URL, whose requests have these fields and whose `{page}` has this size.
    pub(crate) fn new(session: Session, url: &Url, header: &[Header], page: Bytes) -> Self {
        let origin = url.with_path("").to_string();
        let fields =
            format!(" HTTP/1.1\r\nHost: {}\r\n{}", url.authority(), Header::fields(header));
        Self { session, origin, fields, page: page.0.to_string() }
    }

    /// Its pages, of which none has been asked for.
    pub(crate) fn outcomes(&self) -> Vec<PageOutcome> {
        self.session.pages.iter().map(|page| PageOutcome::new(&page.name, page.is_order)).collect()
    }
}
