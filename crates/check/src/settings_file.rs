//! Settings of another machine beside this one's, from a file in the form of sysctl.d(5) and of what
//! `sysctl -a` prints.

use observe::Fact;
use serde::Serialize;

use crate::Root;

/// A setting of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    pub name: String,
    pub here: Fact<String>,
    /// In the file.
    pub there: String,
    /// Why it does less than its name promises, where that is so for TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

impl Setting {
    #[must_use]
    pub fn is_the_same(&self) -> bool {
        self.here.known() == Some(&self.there)
    }
}

/// What lists of tunings promise more of than the kernel does (tcp(7), and ip-sysctl.rst of the kernel's
/// documentation).
const NOTES: [(&str, &str); 8] = [
    ("net.core.rmem_default", "no effect on TCP, which begins with the middle value of tcp_rmem"),
    ("net.core.wmem_default", "no effect on TCP, which begins with the middle value of tcp_wmem"),
    ("net.core.rmem_max", "bounds only what a program asks for by itself"),
    ("net.core.wmem_max", "bounds only what a program asks for by itself"),
    ("net.ipv4.tcp_fin_timeout", "shortens FIN_WAIT_2, not TIME_WAIT"),
    ("net.ipv4.tcp_tw_recycle", "no effect: Linux has not had it since 4.12"),
    ("net.ipv4.tcp_low_latency", "no effect since Linux 4.14"),
    ("net.ipv4.tcp_fack", "no effect since Linux 4.15"),
];

/// The settings of a file, in its order, beside this machine's.
///
/// # Errors
/// The first line that is no setting, with its number.
pub fn beside(root: &Root, text: &str) -> Result<Vec<Setting>, String> {
    let lines = (1..).zip(text.lines().map(str::trim));
    // A minus and a name alone leaves settings out of a pattern (sysctl.d(5)).
    let is_setting = |line: &str| {
        !line.is_empty()
            && !line.starts_with(['#', ';'])
            && (line.contains('=') || !line.starts_with('-'))
    };
    lines
        .filter(|(_, line)| is_setting(line))
        .map(|(number, line)| {
            setting(root, line).ok_or_else(|| {
                let begin: String = line.chars().take(40).collect();
                let begin = begin.escape_debug();
                format!("line {number}: `{begin}` is not a setting; write NAME = VALUE")
            })
        })
        .collect()
}

fn setting(root: &Root, line: &str) -> Option<Setting> {
    let (name, there) = line.split_once('=')?;
    // A minus before the name says that it may be missing.
    let name = name.trim().trim_start_matches('-');
    // Where the first separator is a slash, dots are part of names: net/ipv4/conf/eth0.1/forwarding.
    let slashes = match name.find(['.', '/']).map(|at| name.as_bytes()[at]) {
        Some(b'/') => name.to_owned(),
        _ => name.split('.').map(|part| part.replace('/', ".")).collect::<Vec<_>>().join("/"),
    };
    let is_word = |part: &str| {
        part.contains(|c: char| c != '.')
            && part.chars().all(|c| !c.is_whitespace() && !c.is_control())
    };
    if !slashes.split('/').all(is_word) {
        return None;
    }
    let dots = slashes.replace('/', ".");
    let note = NOTES.iter().find(|(known, _)| *known == dots).map(|(_, note)| *note);
    let here = root.line(&format!("/proc/sys/{slashes}")).map(|value| words(&value));
    Some(Setting { name: name.to_owned(), here, there: words(there), note })
}

/// The kernel separates numbers by tabs.
fn words(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for (file, value) in [
            ("net/core/rmem_default", "212992\n"),
            ("net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
            ("net/ipv4/conf/eth0.1/forwarding", "0\n"),
        ] {
            let path = root.path(&format!("/proc/sys/{file}"));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, value).unwrap();
        }
        (folder, root)
    }

    #[test]
    fn values_are_compared_and_what_has_no_effect_is_noted() {
        let (_folder, root) = root();
        let text = "# a tuned machine\n; and a remark\n\nnet.core.rmem_default = 16777216\n\
                    net.ipv4.tcp_rmem=4096 131072  6291456\n-net/ipv4/tcp_tw_recycle = 1\n-net.ipv4.conf.*\n\
                    net/ipv4/conf/eth0.1/forwarding = 0\nnet.ipv4.conf.eth0/1.forwarding = 1\n";
        let settings = beside(&root, text).unwrap();
        let seen: Vec<_> = settings
            .iter()
            .map(|setting| (&*setting.name, setting.is_the_same(), setting.note.is_some()))
            .collect();
        assert_eq!(
            seen,
            [
                ("net.core.rmem_default", false, true),
                ("net.ipv4.tcp_rmem", true, false),
                ("net/ipv4/tcp_tw_recycle", false, true),
                ("net/ipv4/conf/eth0.1/forwarding", true, false),
                ("net.ipv4.conf.eth0/1.forwarding", false, false),
            ]
        );
        let Fact::Unknown { not_available_here } = &settings[2].here else { panic!("it is gone") };
        assert!(not_available_here.contains("/proc/sys/net/ipv4/tcp_tw_recycle"));
        assert_eq!(settings[4].here, Fact::Known("0".to_owned()));
    }

    #[test]
    fn what_is_no_setting_is_named_with_its_line() {
        let (_folder, root) = root();
        for line in
            ["net.core.rmem_default", "net core = 1", "= 1", "../../etc/passwd = 1", "a..b=1"]
        {
            let error = beside(&root, &format!("# one\n{line}\n")).unwrap_err();
            assert!(error.starts_with(&format!("line 2: `{line}`")), "{error}");
        }
        let long = "x".repeat(1_000);
        assert!(beside(&root, &long).unwrap_err().len() < 100);
    }
}
