//! As much of WebDriver (W3C, <https://www.w3.org/TR/webdriver2/>) as the test needs, spoken to
//! chromedriver over HTTP on loopback. Whatever is waited for has a limit.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::Agent;

const START: Duration = Duration::from_secs(60);
const COMMAND: Duration = Duration::from_secs(60);

/// A browser with one window. It ends with this value.
pub struct Browser {
    agent: Agent,
    /// `http://127.0.0.1:PORT/session/ID`.
    session: String,
    driver: Child,
    /// Everything that the browser writes, removed with it.
    _profile: TempDir,
}

impl Browser {
    /// Starts chromedriver, and through it a Chromium with an empty profile. All files lie in
    /// cargo's folder for tests, because a browser that comes as a snap sees no `/tmp`.
    pub fn start() -> Self {
        let (browser, driver) = (browser_program(), driver_program());
        let profile = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a folder for the browser's profile");
        let port_file = profile.path().join("driver.log");
        let driver = Command::new(&driver)
            .args(["--port=0", "--log-level=WARNING"])
            .env("XDG_CONFIG_HOME", profile.path())
            .env("XDG_CACHE_HOME", profile.path())
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&port_file).expect("a file for chromedriver's output"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("{} cannot be started: {e}", driver.display()));
        let config = Agent::config_builder()
            .timeout_global(Some(COMMAND))
            .http_status_as_error(false)
            .proxy(None)
            .build();
        let agent = Agent::new_with_config(config);
        let mut started = Self { agent, session: String::new(), driver, _profile: profile };
        let port = port_in(&port_file);
        let capabilities = capabilities(&browser, &started._profile.path().join("profile"));
        let root = format!("http://127.0.0.1:{port}/session");
        let session = started.post_to(&root, &capabilities);
        let id = session["sessionId"].as_str().expect("a session has an id");
        started.session = format!("{root}/{id}");
        started
    }

    /// Shows a page; returns when it has loaded.
    pub fn open(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// What the body of a function of JavaScript returns in the page.
    pub fn script(&self, body: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": body, "args": [] }))
    }

    /// Waits until the body of a function of JavaScript returns `true`.
    pub fn wait_for(&self, what: &str, body: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        while self.script(body) != json!(true) {
            assert!(Instant::now() < end, "waited in vain for {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Clicks into the middle of the first element of a CSS selector, as a mouse would.
    pub fn click(&self, selector: &str) {
        let element = self.find(selector);
        self.post(&format!("/element/{element}/click"), &json!({}));
    }

    /// Presses keys while the first element of a CSS selector has the focus.
    pub fn type_into(&self, selector: &str, keys: &str) {
        let element = self.find(selector);
        self.post(&format!("/element/{element}/value"), &json!({ "text": keys }));
    }

    /// A command of the Chrome DevTools Protocol.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// The entries of a log since it was last asked for.
    pub fn log(&self, kind: &str) -> Vec<Value> {
        let log = self.post("/se/log", &json!({ "type": kind }));
        log.as_array().cloned().expect("a log is a list")
    }

    fn find(&self, selector: &str) -> String {
        let found = self.post("/element", &json!({ "using": "css selector", "value": selector }));
        // The key by which WebDriver marks references to elements (section 12.1).
        let id = found["element-6066-11e4-a52e-4f735466cecf"].as_str();
        id.unwrap_or_else(|| panic!("{selector} is not in the page")).to_owned()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.post_to(&format!("{}{path}", self.session), body)
    }

    fn post_to(&self, url: &str, body: &Value) -> Value {
        let mut response = self
            .agent
            .post(url)
            .send_json(body)
            .unwrap_or_else(|e| panic!("chromedriver does not answer {url}: {e}"));
        let status = response.status();
        let mut answer: Value = response
            .body_mut()
            .with_config()
            .limit(64 << 20)
            .read_json()
            .unwrap_or_else(|e| panic!("{url} gives no JSON: {e}"));
        assert!(status.is_success(), "{url}: {}", answer["value"]["message"]);
        answer["value"].take()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            // The end of its session ends the browser. Where that fails the driver's end does.
            let _ = self.agent.delete(&self.session).call();
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn capabilities(browser: &Path, profile: &Path) -> Value {
    json!({"capabilities": {"alwaysMatch": {
        "browserName": "chrome",
        "timeouts": {"script": 30_000, "pageLoad": 30_000},
        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        "goog:chromeOptions": {
            "binary": browser,
            "args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-dev-shm-usage", "--no-proxy-server", "--hide-scrollbars",
                format!("--user-data-dir={}", profile.display()),
            ],
        },
    }}})
}

/// The port that chromedriver says it listens on: `… was started successfully on port 38231.`
fn port_in(output: &Path) -> u16 {
    let end = Instant::now() + START;
    loop {
        let text = std::fs::read_to_string(output).unwrap_or_default();
        let port = text
            .split_once("started successfully on port ")
            .and_then(|(_, rest)| rest.trim_start().split(['.', '\n']).next()?.trim().parse().ok());
        if let Some(port) = port {
            return port;
        }
        assert!(Instant::now() < end, "chromedriver did not start; it said: {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn browser_program() -> PathBuf {
    program(
        &["chromium", "chromium-browser", "google-chrome"],
        "this test needs Chromium: run scripts/needs test, or install chromium",
    )
}

fn driver_program() -> PathBuf {
    program(
        &["chromedriver", "chromium.chromedriver"],
        "this test needs chromedriver: run scripts/needs test, or install chromium-driver",
    )
}

/// The first of `names` in the folders of `PATH`.
fn program(names: &[&str], lacking: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(["/snap/bin".into()]).collect();
    let files = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.into_iter().find(|file| file.is_file()).unwrap_or_else(|| panic!("{lacking}"))
}
