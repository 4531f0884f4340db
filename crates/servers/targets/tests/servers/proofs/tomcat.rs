//! The pet store on Tomcat, as curl and OpenSSL's client see it. `make petstore` builds it.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use cpus::CpuList;
use targets::{Aes, Crypto, Objects, Program, Running, Settings, Target};
use tempfile::TempDir;
use units::Bytes;

/// The length that pages are asked to have.
const LENGTH: usize = 16_384;

fn program() -> &'static dyn Program {
    targets::by_name("tomcat").unwrap().program().unwrap()
}

fn settings(crypto: Crypto, aes: Aes) -> Settings {
    let settings = Settings::new(CpuList::allowed().unwrap());
    Settings { target: Target { crypto, aes, ..settings.target }, ..settings }
}

fn objects(folder: &TempDir) -> Arc<Objects> {
    Arc::new(Objects::make(&[Bytes(1000)], folder.path()).unwrap())
}

fn start(settings: &Settings, objects: &Arc<Objects>, folder: &TempDir) -> Running {
    let tomcat = targets::by_name("tomcat").unwrap();
    targets::start(tomcat, settings, objects, folder.path(), None).unwrap()
}

fn orders(shop: &Running) -> u64 {
    program().orders(shop).unwrap().unwrap()
}

/// A browser of one user's.
struct Browser<'a> {
    shop: &'a Running,
    base: String,
    cookies: PathBuf,
}

/// What curl received, redirects followed: the last status, the path of the last page, and its text.
#[derive(Debug)]
struct Answer {
    status: u16,
    path: String,
    redirects: u32,
    text: String,
}

impl Browser<'_> {
    fn new<'a>(shop: &'a Running, base: &str, user: &str) -> Browser<'a> {
        Browser {
            shop,
            base: base.to_owned(),
            cookies: shop.logs().join(format!("{user}.cookies")),
        }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(path, &[])
    }

    fn post(&self, path: &str, form: &str) -> Answer {
        self.ask(path, &["--data", form])
    }

    fn ask(&self, path: &str, options: &[&str]) -> Answer {
        let url = format!("{}{path}?bytes={LENGTH}", self.base);
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--max-time", "20", "--location", "--cacert"])
            .arg(&self.shop.facts().certificate)
            .args(["--cookie".as_ref(), self.cookies.as_os_str()])
            .args(["--cookie-jar".as_ref(), self.cookies.as_os_str()])
            .args(["--write-out", "\n%{http_code} %{num_redirects} %{url_effective}"])
            .args(options)
            .arg(&url)
            .output()
            .unwrap();
        assert!(output.status.success(), "{url}: {}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout).unwrap();
        let (text, last) = said.rsplit_once('\n').unwrap();
        let words: Vec<&str> = last.split(' ').collect();
        Answer {
            status: words[0].parse().unwrap(),
            redirects: words[1].parse().unwrap(),
            path: words[2].strip_prefix(&self.base).unwrap().to_owned(),
            text: text.to_owned(),
        }
    }

    fn session(&self) -> String {
        let cookies = std::fs::read_to_string(&self.cookies).unwrap();
        let line = cookies.lines().find(|line| line.contains("JSESSIONID")).unwrap();
        line.split('\t').next_back().unwrap().to_owned()
    }

    /// Signs in, and returns the token of the session's forms.
    fn sign_in(&self, user: u32) -> String {
        let form = shown(self.get("/sign-in"), "Sign in");
        let token = taken(&form, "name=\"token\" value=\"");
        let before = self.session();
        let name = format!("name=user{user}&password=pet{user}&token={token}");
        let account = self.post("/sign-in", &name);
        assert!(account.path.starts_with("/account?"), "{account:?}");
        assert_eq!(account.redirects, 1);
        shown(account, &format!("Signed in as user{user}"));
        assert_ne!(self.session(), before);
        token
    }

    /// Walks all pages, and returns the order's number.
    fn walk(&self, user: u32) -> String {
        shown(self.get("/"), "Pet Store");
        let token = self.sign_in(user);
        let category = shown(self.get("/category/dogs"), "Dogs");
        let product = taken(&category, "href=\"/product/");
        let item = taken(&shown(self.get(&format!("/product/{product}")), ""), "href=\"/item/");
        let page = shown(self.get(&format!("/item/{item}")), "Add to cart");
        assert_eq!(taken(&page, "name=\"token\" value=\""), token);
        let item = format!("item={item}&token={token}");
        shown(self.post("/cart/add", &item), "Shopping cart");
        shown(self.post("/cart/update", &format!("{item}&quantity=2")), "Quantity: 2");
        shown(self.get("/checkout"), "Checkout");
        let card = format!("card=4111111111111111&expires=12/29&token={token}");
        shown(self.post("/payment", &card), "Confirm your order");
        let confirmed = shown(self.post("/confirm", &format!("token={token}")), "Thank you");
        let order = taken(&confirmed, "Order number ");
        shown(self.get(&format!("/order/{order}")), &format!("Order {order}"));
        let home = self.post("/sign-out", &format!("token={token}"));
        assert!(home.path.starts_with("/?signed-out=1&bytes="), "{home:?}");
        shown(home, "Signed out");
        assert!(self.get("/cart").path.starts_with("/sign-in?"));
        order
    }
}

/// The text of a page that has the length that was asked for, and these words.
#[track_caller]
fn shown(answer: Answer, words: &str) -> String {
    assert_eq!((answer.status, answer.text.len()), (200, LENGTH), "{answer:?}");
    assert!(answer.text.contains(words), "{words}: {answer:?}");
    answer.text
}

/// The letters and digits after these words.
fn taken(text: &str, words: &str) -> String {
    let rest = text.split_once(words).unwrap_or_else(|| panic!("no {words} in {text}")).1;
    rest.chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// What OpenSSL's client says of a TLS 1.2 connection with only this suite.
fn negotiates(shop: &Running, suite: &str) -> bool {
    let output = Command::new("timeout")
        .args(["20", "openssl", "s_client", "-tls1_2", "-cipher", suite, "-connect"])
        .arg(shop.facts().https.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).contains(&format!("Cipher is {suite}"))
}

#[test]
fn a_shop_from_its_first_visit_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let objects = objects(&folder);
    let settings = settings(Crypto::Jdk, Aes::On);
    let shop = start(&settings, &objects, &folder);
    assert!(shop.facts().version.starts_with("Apache Tomcat/10.1."), "{}", shop.facts().version);
    assert!(shop.facts().version.contains(", Java "), "{}", shop.facts().version);
    needs_a_session_and_its_token(&shop);
    assert_eq!(orders(&shop), 0);

    let plain = format!("http://{}", shop.facts().http);
    let first = Browser::new(&shop, &plain, "first").walk(1);
    let second = Browser::new(&shop, &plain, "second");
    assert_ne!(second.walk(1000), first);
    assert_eq!(orders(&shop), 2);
    second.sign_in(1000);
    assert_eq!(second.get(&format!("/order/{first}")).status, 404);
    assert_cryptography(&shop, &settings);

    let database = objects.root().join("tomcat/derby");
    assert!(database.is_dir());
    shop.stop();
    assert!(!database.exists());
}

fn needs_a_session_and_its_token(shop: &Running) {
    let base = format!("https://{}", shop.facts().https);
    let stranger = Browser::new(shop, &base, "stranger");
    for path in ["/account", "/category/dogs", "/product/1", "/item/1", "/cart", "/checkout"] {
        let answer = stranger.get(path);
        assert!(answer.path.starts_with("/sign-in?bytes="), "{path}: {answer:?}");
    }
    let forms = ["/cart/add", "/cart/update", "/payment", "/confirm", "/sign-out"];
    for path in forms {
        // A browser of its own: the sign-in that it is sent to begins a session.
        let stranger = Browser::new(shop, &base, &path.replace('/', "-"));
        let answer = stranger.post(path, "token=x");
        assert!(answer.path.starts_with("/sign-in?bytes="), "{path}: {answer:?}");
    }
    stranger.sign_in(7);
    for path in forms {
        assert_eq!(stranger.post(path, "item=1&token=wrong").status, 403, "{path}");
    }
    // What a measurement asks is answered on the plain port only.
    for path in ["/nowhere", "/orders", "/crypto"] {
        assert_eq!(stranger.get(path).status, 404, "{path}");
    }
}

#[test]
fn the_jdk_without_aes_instructions_is_what_was_asked() {
    is_what_was_asked(Crypto::Jdk, Aes::Off);
}

#[test]
fn nss_with_aes_instructions_is_what_was_asked() {
    is_what_was_asked(Crypto::Nss, Aes::On);
}

#[test]
fn nss_without_aes_instructions_is_what_was_asked() {
    is_what_was_asked(Crypto::Nss, Aes::Off);
}

#[track_caller]
fn is_what_was_asked(crypto: Crypto, aes: Aes) {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(crypto, aes);
    let shop = start(&settings, &objects(&folder), &folder);
    Browser::new(&shop, &format!("https://{}", shop.facts().https), "one").walk(1);
    assert_eq!(orders(&shop), 1);
    assert_cryptography(&shop, &settings);
}

/// That it negotiates the suites of the study, and says of itself what was asked.
#[track_caller]
fn assert_cryptography(shop: &Running, settings: &Settings) {
    for suite in ["AES128-SHA", "AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"] {
        assert!(negotiates(shop, suite), "{suite}");
    }
    let found = program().crypto(shop, settings).unwrap().unwrap();
    println!("{:?}", found.ns_per_byte);
    assert_eq!(found.crypto, settings.target.crypto.to_string(), "{found:?}");
    assert_eq!(found.aes, settings.target.aes.to_string(), "{found:?}");
    assert!(!found.disabled.contains("TLS_RSA"), "{found:?}");
    assert_eq!(found.ns_per_byte.len(), 2, "{found:?}");
    let is_mapped = !shop.facts().libraries.is_empty();
    assert_eq!(is_mapped, settings.target.crypto == Crypto::Nss, "{:?}", shop.facts().libraries);
}
