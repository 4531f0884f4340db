//! Users who walk the pages of a shop that is right, or wrong in a way that it counts itself.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Mutex};

use load::{ErrorKind, Job, Operation, Outcome, Plan, Url};
use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream};
use random::Random;
use tls::{OrPlain, Suite, Version};
use units::{Bytes, Nanos};

use super::scripted_server::{Plain, Server, Session, legacy_acceptor, rsa};
use super::{http, https, kinds, lasts, run, summary};

const PAGES: [&str; 4] = ["form", "sign-in", "item", "buy"];

const SESSION: &str = r#"
schema = 1
[[page]]
name = "form"
get = "/sign-in?bytes={page}"
contains = "Sign in"
take.token = { field = "token" }
[[page]]
name = "sign-in"
post = "/sign-in?bytes={page}"
form = { name = "user{user}", token = "{token}" }
redirects = 1
contains = "Signed in as user{user}"
take.item = 'href="/item/([^"]+)"'
[[page]]
name = "item"
get = "/item/{item}"
contains = "Buy {item}"
take.token = { field = "token" }
[[page]]
name = "buy"
post = "/buy"
order = true
form = { item = "{item}", token = "{token}" }
redirects = 1
contains = "Thank you"
"#;

/// Stands for a body of 64 MiB.
const LARGE: &str = "64 MiB";

/// What the shop does wrong with one page in ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Status 500.
    Status,
    /// The form comes without its cookie, so that the user cannot sign in.
    LostCookie,
    /// The session of a user at the shelf is over; it is sent to sign in.
    Expired,
    /// An error page with status 200.
    ErrorPage,
    /// The account page has no item.
    MissingValue,
    Loop,
    OtherServer,
    /// A page of 64 MiB.
    Large,
}

struct Shop {
    fault: Fault,
    /// Another server, that nobody is to ask.
    other: SocketAddr,
    random: Random,
    next: u64,
    /// The token and the user of each cookie.
    sessions: HashMap<String, (String, String)>,
    users: HashSet<String>,
    orders: u64,
    /// How many pages were right and wrong, by name.
    counted: BTreeMap<&'static str, (u64, u64)>,
}

struct Answer {
    status: u16,
    fields: String,
    body: String,
}

impl Answer {
    fn setting(self, cookie: &str) -> Self {
        Self { fields: format!("{}Set-Cookie: {cookie}\r\n", self.fields), ..self }
    }
}

impl Shop {
    fn new(fault: Fault, other: SocketAddr) -> Self {
        Self {
            fault,
            other,
            random: Random::stream(7, 0),
            next: 0,
            sessions: HashMap::new(),
            users: HashSet::new(),
            orders: 0,
            counted: PAGES.map(|page| (page, (0, 0))).into(),
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn count(&mut self, page: &'static str, is_right: bool) {
        let (right, wrong) = self.counted.get_mut(page).unwrap();
        *(if is_right { right } else { wrong }) += 1;
    }

    /// Whether this page is to be wrong.
    fn is_wrong(&mut self, page: &'static str) -> bool {
        let can_be = match self.fault {
            Fault::None => false,
            Fault::LostCookie => page == "form",
            Fault::Expired => page == "item",
            Fault::MissingValue => page == "sign-in",
            _ => true,
        };
        can_be && self.random.below(10) == 0
    }

    fn answer(&mut self, method: &str, path: &str, cookie: &str, form: &str) -> Answer {
        let page = match (method, path.split(['?', '/']).nth(1)) {
            ("GET", Some("sign-in")) if path.contains("from=") => return page("Sign in"),
            ("GET", Some("sign-in")) => "form",
            ("POST", Some("sign-in")) => "sign-in",
            ("GET", Some("item")) => "item",
            ("POST", Some("buy")) => "buy",
            ("GET", Some("account")) => return self.account(cookie),
            ("GET", Some("order")) => return page("Thank you"),
            ("GET", Some("loop")) => return redirect("/loop"),
            _ => return Answer { status: 404, ..page(&format!("{method} {path}")) },
        };
        let is_wrong = self.is_wrong(page);
        let is_lost = self.fault == Fault::LostCookie;
        if is_wrong && !is_lost {
            self.count(page, false);
            match self.fault {
                Fault::Status => return Answer { status: 500, ..self::page("Sign in, Thank you") },
                Fault::ErrorPage => return self::page("Sorry."),
                Fault::Expired => return redirect("/sign-in?from=item"),
                Fault::Loop => return redirect("/loop"),
                Fault::OtherServer => return redirect(&format!("http://{}/", self.other)),
                Fault::Large => return self::page(LARGE),
                Fault::MissingValue => {
                    let user = form.split(['=', '&']).nth(1).unwrap();
                    self.sessions
                        .insert("shop=broken".to_owned(), (String::new(), user.to_owned()));
                    return redirect("/account").setting("shop=broken; Path=/");
                }
                Fault::None | Fault::LostCookie => unreachable!(),
            }
        }
        match page {
            "form" => {
                assert_eq!((path, cookie), ("/sign-in?bytes=1024", ""), "a new visitor");
                self.count(page, true);
                let (cookie, token) = (format!("shop=s{}", self.number()), self.number());
                self.sessions.insert(cookie.clone(), (token.to_string(), String::new()));
                let body = format!("Sign in <input type=hidden name=\"token\" value=\"{token}\">");
                match is_wrong {
                    true => self::page(&body),
                    false => self::page(&body).setting(&format!("{cookie}; Path=/; HttpOnly")),
                }
            }
            "sign-in" => {
                let sent = form.strip_prefix("name=").and_then(|form| form.split_once("&token="));
                let (user, token) = sent.unwrap();
                let known = self.sessions.remove(cookie);
                let is_right = known.is_some_and(|(known, _)| known == token);
                self.count(page, is_right);
                if !is_right {
                    return redirect("/sign-in?from=account");
                }
                self.users.insert(user.to_owned());
                let cookie = format!("shop=s{}", self.number());
                self.sessions.insert(cookie.clone(), (String::new(), user.to_owned()));
                redirect("account").setting(&cookie)
            }
            "item" => {
                let token = self.number().to_string();
                let item = path.strip_prefix("/item/").unwrap().to_owned();
                self.count(page, true);
                self.sessions.get_mut(cookie).unwrap().0 = token.clone();
                let item = item.replace("%26", "&").replace("%3D", "=");
                self::page(&format!("Buy {item} <input value='{token}' name='token'>"))
            }
            _ => {
                let token = &self.sessions[cookie].0;
                assert_eq!(form, format!("item=a%26b%3D1&token={token}"));
                self.count(page, true);
                self.orders += 1;
                redirect("/order")
            }
        }
    }

    fn account(&self, cookie: &str) -> Answer {
        let (_, user) = &self.sessions[cookie];
        match cookie {
            "shop=broken" => page(&format!("Signed in as {user}")),
            _ => page(&format!("Signed in as {user} <a href=\"/item/a&b=1\">")),
        }
    }
}

fn page(body: &str) -> Answer {
    Answer { status: 200, fields: String::new(), body: body.to_owned() }
}

fn redirect(to: &str) -> Answer {
    Answer { status: 302, fields: format!("Location: {to}\r\n"), body: String::new() }
}

/// Answers the requests of a connection; where `closes`, one only.
fn serve(shop: &Mutex<Shop>, mut stream: impl Read + Write, closes: bool) -> io::Result<()> {
    let mut received = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let (head, form) = loop {
            let text = String::from_utf8(received.clone()).unwrap();
            if let Some((head, form)) = text.split_once("\r\n\r\n")
                && form.len() >= field(head, "Content-Length").parse().unwrap_or(0)
            {
                break (head.to_owned(), form.to_owned());
            }
            match stream.read(&mut piece)? {
                0 => return Ok(()),
                count => received.extend_from_slice(&piece[..count]),
            }
        };
        received.clear();
        let [method, path] = [0, 1].map(|word| head.split(' ').nth(word).unwrap());
        let cookie = field(&head, "Cookie");
        let Answer { status, fields, body } =
            shop.lock().unwrap().answer(method, path, cookie, &form);
        let connection = if closes { "Connection: close\r\n" } else { "" };
        let head = format!("HTTP/1.1 {status} X\r\n{fields}{connection}");
        if body == LARGE {
            stream.write_all(format!("{head}Content-Length: {}\r\n\r\n", 64 << 20).as_bytes())?;
            let piece = [b'x'; 1 << 16];
            for _ in 0..1 << 10 {
                stream.write_all(&piece)?;
            }
            continue;
        }
        // Pages end in both ways.
        let text = match body.len() % 2 {
            0 => format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()),
            _ => format!(
                "{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
                body.len()
            ),
        };
        stream.write_all(text.as_bytes())?;
        if closes {
            return Ok(());
        }
    }
}

fn field<'a>(head: &'a str, name: &str) -> &'a str {
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.find(|(known, _)| *known == name).map_or("", |(_, value)| value)
}

/// A session file, which lives as long as the returned folder.
fn session_file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

/// Three users who walk a session 20 times each.
fn walks(job: Job, session: &Path) -> Job {
    let plan = Plan {
        operation: Operation::Session,
        session: Some(session.to_owned()),
        page: Some(Bytes(1024)),
        walks: NonZeroU32::new(20),
        connections: 3,
        ..job.plan
    };
    Job { plan, operations: None, ..job }
}

/// Completed and failed pages by name.
fn by_page(outcome: &Outcome) -> BTreeMap<&str, (u64, u64)> {
    let counts = |page: &load::PageOutcome| (page.completed, page.failures.total());
    outcome.pages.iter().map(|page| (page.name.as_str(), counts(page))).collect()
}

type Serve = Box<dyn Fn(std::net::TcpStream, &Mutex<Shop>) -> io::Result<()> + Send + Sync>;

/// How a shop is served, the suite and the version to ask for, the session, and how many connections
/// its walks take.
type Stack<'a> = (Serve, Option<&'static Suite>, Option<Version>, &'a str, u64);

fn over_tls(context: SslContext) -> Serve {
    Box::new(move |stream, shop| {
        let mut stream = SslStream::new(Ssl::new(&context)?, stream)?;
        stream.accept().map_err(io::Error::other)?;
        serve(shop, stream, false)
    })
}

#[test]
fn three_users_who_walk_twenty_times_ask_for_each_page_sixty_times() {
    let suite = |name: &str| Suite::parse(name).unwrap();
    let tls13 = {
        let mut builder = SslContext::builder(SslMethod::tls_server()).unwrap();
        let (certificate, key) = (&rsa().certificate_pem, &rsa().key_pem);
        let certificate = openssl::x509::X509::from_pem(certificate).unwrap();
        let key = openssl::pkey::PKey::private_key_from_pem(key).unwrap();
        builder.set_certificate(&certificate).unwrap();
        builder.set_private_key(&key).unwrap();
        builder.build()
    };
    let reconnecting = SESSION.replace("schema = 1", "schema = 1\nreconnect = \"walk\"");
    let stacks: Vec<Stack<'_>> = vec![
        (Box::new(|stream, shop| serve(shop, stream, false)), None, None, SESSION, 3),
        (Box::new(|stream, shop| serve(shop, stream, false)), None, None, &reconnecting, 60),
        // Each of a walk's six requests has its own connection.
        (Box::new(|stream, shop| serve(shop, stream, true)), None, None, SESSION, 360),
        (over_tls(tls13), None, Some(Version::Tls13), SESSION, 3),
    ];
    let legacy = ["ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA"].map(|name| {
        let accept = over_tls(legacy_acceptor(rsa(), suite(name)));
        (accept, Some(suite(name)), Some(Version::Tls12), SESSION, 3)
    });
    for (serve, suite, version, session, connections) in stacks.into_iter().chain(legacy) {
        let shop = Arc::new(Mutex::new(Shop::new(Fault::None, "127.0.0.1:1".parse().unwrap())));
        let server = Server::start({
            let shop = shop.clone();
            move |stream| serve(stream, &shop)
        });
        let at = if version.is_some() { https } else { http };
        let (_folder, file) = session_file(session);
        let mut job = walks(at(server.address(), "/"), &file);
        (job.plan.tls, job.plan.suite) = (version.map(OrPlain::Tls), suite.map(OrPlain::Tls));
        let outcome = run(job);
        assert_eq!(outcome.completed, 3 * 20 * 4, "{suite:?} {}", summary(&outcome));
        assert_eq!(outcome.failures.total(), 0, "{}", summary(&outcome));
        assert!(by_page(&outcome).values().all(|counts| *counts == (60, 0)));
        assert!(outcome.pages.iter().all(|page| page.latency.len() == 60));
        let orders = |page: &load::PageOutcome| page.is_order.then_some(page.completed_ever);
        assert_eq!(
            outcome.pages.iter().map(orders).collect::<Vec<_>>(),
            [None, None, None, Some(60)]
        );
        assert_eq!((outcome.walks.completed, outcome.walks.failed), (60, 0));
        assert!(!outcome.interrupted && outcome.in_flight == 0);
        assert_eq!(outcome.bytes.opened, outcome.bytes.body);
        assert_eq!(outcome.bytes.unproven, 0);
        assert_eq!(server.connections(), connections);
        let shop = shop.lock().unwrap();
        assert_eq!(shop.orders, 60);
        assert_eq!(shop.users, ["user1", "user2", "user3"].map(str::to_owned).into());
    }
}

#[test]
fn the_errors_of_each_page_are_those_that_the_shop_made() {
    use ErrorKind::{Content, LongBody, Redirect, Status};
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    for (fault, kinds) in [
        (Fault::Status, &[Status][..]),
        (Fault::LostCookie, &[Content]),
        (Fault::Expired, &[Redirect]),
        (Fault::ErrorPage, &[Content, Redirect]),
        (Fault::MissingValue, &[Content]),
        (Fault::Loop, &[Redirect]),
        (Fault::OtherServer, &[Redirect]),
        (Fault::Large, &[LongBody]),
    ] {
        let address = other.local_addr().unwrap();
        let shop = Arc::new(Mutex::new(Shop::new(fault, address)));
        let server = Server::start({
            let shop = shop.clone();
            move |stream| serve(&shop, stream, false)
        });
        let (_folder, file) = session_file(SESSION);
        let outcome = run(walks(http(server.address(), "/"), &file));
        let shop = shop.lock().unwrap();
        assert_eq!(by_page(&outcome), shop.counted, "{fault:?} {}", summary(&outcome));
        let found: Vec<_> = outcome.failures.iter().map(|(kind, ..)| kind).collect();
        assert_eq!(found, kinds, "{fault:?} {}", summary(&outcome));
        let failed = outcome.failures.total();
        assert!(failed > 0, "{fault:?}");
        assert_eq!((outcome.walks.completed, outcome.walks.failed), (60 - failed, failed));
        assert_eq!(outcome.completed, shop.counted.values().map(|(right, _)| right).sum::<u64>());
        let named = outcome.failures.iter().all(|(kind, _, seen)| {
            kind == LongBody && seen.contains("16 MiB") || seen.starts_with("page ")
        });
        assert!(named, "{}", summary(&outcome));
        // Only after these is a connection of no use.
        let connections = if fault == Fault::Large { 3 + failed } else { 3 };
        assert!(server.connections() <= connections, "{fault:?}");
    }
    assert_eq!(other.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn users_think_between_pages_and_walk_until_the_load_ends() {
    let shop = Arc::new(Mutex::new(Shop::new(Fault::None, "127.0.0.1:1".parse().unwrap())));
    let server = Server::start(move |stream| serve(&shop, stream, false));
    let (_folder, file) = session_file(SESSION);
    let mut job = walks(http(server.address(), "/"), &file);
    job.plan.walks = None;
    job.plan.arrival = "closed, think 20ms".parse().unwrap();
    lasts(&mut job, Nanos(100_000_000), Nanos(1_000_000_000));
    let outcome = run(job);
    assert_eq!(outcome.failures.total(), 0, "{}", summary(&outcome));
    // At most 50 pages per second and user.
    assert!((1..=156).contains(&outcome.completed), "{}", summary(&outcome));
    assert!(outcome.walks.completed > 0);
}

#[test]
fn a_wrong_session_file_is_refused_before_anything_is_sent() {
    let (_folder, file) = session_file(&SESSION.replace("{token}", "{tokan}"));
    let address = "127.0.0.1:1".parse().unwrap();
    let job = walks(Job::new(Plan::default(), Url::at(false, address, "/"), address), &file);
    let error = crate::probe(&job).unwrap_err().to_string();
    assert!(error.contains("shop.toml, line 11: ") && error.contains("`tokan`"), "{error}");
}

/// A page of which there is always a little more.
#[test]
fn a_walk_ends_though_a_page_does_not() {
    let server = Server::start(|stream| {
        let mut plain = Plain(stream);
        plain.request()?;
        plain.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")?;
        loop {
            plain.send(b"x")?;
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    let (_folder, file) = session_file(SESSION);
    let mut job = walks(http(server.address(), "/"), &file);
    job.plan.walks = NonZeroU32::new(1);
    job.plan.operation_timeout = Some(Nanos(100_000_000));
    let outcome = run(job);
    assert_eq!(kinds(&outcome), [(ErrorKind::OperationTimeout, 3)], "{}", summary(&outcome));
    assert_eq!((outcome.walks.completed, outcome.walks.failed), (0, 3));
}
