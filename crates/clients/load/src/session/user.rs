//! One user: where it is in its walk, and what it has taken along the way.

use std::fmt::Write as _;
use std::num::NonZeroU32;

use memchr::memmem;

use super::cookies::Cookies;
use super::origin::redirected;
use super::template::{Values, as_is, form_encoded, percent_encoded};
use super::{Method, Page, Reconnect, Site, Taking, html};
use wire::reception::KeptResponse;
use wire::{ErrorKind, Failure};

/// See the module.
#[derive(Debug)]
pub(crate) struct User<'a> {
    site: &'a Site,
    /// From 1.
    number: String,
    /// The page under way, or the next one.
    page: usize,
    /// The path of the last request.
    path: String,
    /// The form of the last request.
    form: String,
    /// The last request.
    request: String,
    /// What the last page was to contain.
    text: String,
    /// How many redirects of the page under way were followed.
    redirected: u8,
    /// The values taken so far, by their numbers.
    taken: Vec<String>,
    cookies: Cookies,
    /// How many walks are left; `None` for any number.
    walks_left: Option<u32>,
}

/// What follows an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It is a redirect: the next request is for where it leads.
    Follow,
    /// The page is complete; so is the walk if it was the last one.
    Complete { walk: bool },
}

impl<'a> User<'a> {
    pub(crate) fn new(site: &'a Site, number: usize, walks: Option<NonZeroU32>) -> Self {
        Self {
            site,
            number: number.to_string(),
            page: 0,
            path: String::new(),
            form: String::new(),
            request: String::new(),
            text: String::new(),
            redirected: 0,
            taken: vec![String::new(); site.session.values],
            cookies: Cookies::default(),
            walks_left: walks.map(NonZeroU32::get),
        }
    }

    /// The number of the page under way, or of the next one.
    pub(crate) fn page(&self) -> usize {
        self.page
    }

    /// Whether it has made all its walks.
    pub(crate) fn is_done(&self) -> bool {
        self.walks_left == Some(0)
    }

    /// Whether each walk has a connection of its own.
    pub(crate) fn reconnects(&self) -> bool {
        self.site.session.reconnect == Reconnect::Walk
    }

    /// The request for the page under way, or for where its last redirect leads.
    pub(crate) fn request(&mut self) -> &str {
        let Self { site, number, page, path, form, request, redirected, taken, cookies, .. } = self;
        let values = Values { user: number, page: &site.page, taken };
        let mut is_post = false;
        form.clear();
        if *redirected == 0 {
            path.clear();
            match &site.session.pages[*page].method {
                Method::Get(template) => template.fill(&values, percent_encoded, path),
                Method::Post(template, fields) => {
                    template.fill(&values, percent_encoded, path);
                    fields.fill(&values, form_encoded, form);
                    is_post = true;
                }
            }
        }
        request.clear();
        for part in [if is_post { "POST " } else { "GET " }, path, &site.fields] {
            request.push_str(part);
        }
        cookies.write_to(request);
        if is_post {
            // Writing to a string cannot fail.
            let _ = write!(
                request,
                "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
                form.len()
            );
        }
        request.push_str("\r\n");
        request.push_str(form);
        request
    }

    /// Judges the answer to the last request.
    ///
    /// # Errors
    /// Why the page failed.
    pub(crate) fn answered(&mut self, answer: &KeptResponse) -> Result<Then, Failure> {
        let page = &self.site.session.pages[self.page];
        for cookie in &answer.cookies {
            self.cookies.set(cookie);
        }
        let then = self.judge(page, answer).map_err(|mut failure| {
            failure.seen = format!("page {}: {}", page.name, failure.seen);
            failure
        })?;
        if then != Then::Follow {
            self.redirected = 0;
            self.page += 1;
        }
        if then == (Then::Complete { walk: true }) {
            self.end_walk();
        }
        Ok(then)
    }

    /// Ends the walk, whether its last page is complete or one has failed.
    pub(crate) fn end_walk(&mut self) {
        (self.page, self.redirected) = (0, 0);
        self.cookies.clear();
        if let Some(left) = &mut self.walks_left {
            *left -= 1;
        }
    }

    fn judge(&mut self, page: &Page, answer: &KeptResponse) -> Result<Then, Failure> {
        let body = answer.body.as_slice();
        let failure = |kind, seen: String| Err(Failure::new(kind, seen));
        let is_redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
        if is_redirect && self.redirected < page.redirects {
            let Some(location) = &answer.location else {
                return failure(ErrorKind::Redirect, "a redirect without a Location".to_owned());
            };
            if matches!(answer.status, 307 | 308) && matches!(page.method, Method::Post(..)) {
                let seen = format!("{} asks to post the form again elsewhere", answer.status);
                return failure(ErrorKind::Redirect, seen);
            }
            self.path = redirected(&self.site.origin, location, &self.path)?;
            self.redirected += 1;
            return Ok(Then::Follow);
        }
        let (Page { status, redirects, .. }, redirected) = (page, self.redirected);
        if answer.status != *status {
            if !is_redirect {
                let seen = format!("status {}, not {status}", answer.status);
                return failure(ErrorKind::Status, seen);
            }
            let location = answer.location.as_deref().unwrap_or_default();
            let location = String::from_utf8_lossy(location);
            let seen =
                format!("a redirect to {location} after {redirected}, not {redirects} in all");
            return failure(ErrorKind::Redirect, seen);
        }
        if redirected != *redirects {
            let seen = format!("{redirected} redirects, not {redirects}");
            return failure(ErrorKind::Redirect, seen);
        }
        if let Some(contains) = &page.contains {
            let values = Values { user: &self.number, page: &self.site.page, taken: &self.taken };
            self.text.clear();
            contains.fill(&values, as_is, &mut self.text);
            if memmem::find(body, self.text.as_bytes()).is_none() {
                let seen = format!("it does not contain `{}`", self.text);
                return failure(ErrorKind::Content, seen);
            }
        }
        for take in &page.takes {
            let taken = match &take.taking {
                Taking::Field(name) => html::field(body, name),
                Taking::Pattern(pattern) => pattern
                    .captures(body)
                    .and_then(|captures| captures.get(1))
                    .and_then(|group| std::str::from_utf8(group.as_bytes()).ok())
                    .map(str::to_owned),
            };
            let Some(taken) = taken else {
                return failure(ErrorKind::Content, format!("it has no value for `{}`", take.name));
            };
            self.taken[take.number] = taken;
        }
        let walk = self.page + 1 == self.site.session.pages.len();
        Ok(Then::Complete { walk })
    }
}
