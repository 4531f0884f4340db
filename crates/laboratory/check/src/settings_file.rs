//! Settings of another machine beside this one's, from a file in the form of sysctl.d(5), of what
//! `sysctl -a` prints, and of limits.conf(5).

use observe::Fact;
use serde::Serialize;

use observe::Root;

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
    pub fn is_the_same(&self) -> bool {
        self.here.known() == Some(&self.there)
    }
}

/// Machines that were published, by their name, in the same form.
const SHIPPED: [(&str, &str); 1] =
    [("xeon-e5-v3-2014", include_str!("../machines/xeon-e5-v3-2014.conf"))];

/// The settings of a machine that was published.
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The limits of programs that are compared: in limits.conf(5), and in `/proc/PID/limits`.
const LIMITS: [(&str, &str); 2] = [("nofile", "Max open files"), ("nproc", "Max processes")];

/// What lists of tunings promise more of than the kernel does, and what they do beside it (tcp(7), and
/// ip-sysctl.rst of the kernel's documentation).
const NOTES: [(&str, &str); 13] = [
    (
        "net.ipv4.ip_local_port_range",
        "for who connects; ports below 10000 may be those of servers, and toll's client has more source \
         addresses instead",
    ),
    ("net.ipv4.tcp_tw_reuse", "for who connects, not for a server"),
    ("net.ipv4.tcp_max_syn_backlog", "a listener's queue is bounded by net.core.somaxconn too"),
    ("net.ipv4.tcp_max_tw_buckets", "a bound: it changes nothing until so many connections wait"),
    (
        "net.ipv4.tcp_mem",
        "counts pages, not bytes (16777216 are 64 GiB); the kernel takes it from the machine's memory",
    ),
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
            setting(root, line).or_else(|| limit(root, line)).ok_or_else(|| {
                let begin: String = line.chars().take(40).collect();
                let begin = begin.escape_debug();
                format!(
                    "line {number}: `{begin}` is not a setting; write NAME = VALUE, or a limit as \
                     `* soft nofile 65536`"
                )
            })
        })
        .collect()
}

/// A limit of limits.conf(5): whose, `soft` or `hard`, which, how many.
fn limit(root: &Root, line: &str) -> Option<Setting> {
    let [_, kind, name, there] = line.split_whitespace().collect::<Vec<_>>()[..] else {
        return None;
    };
    let column = ["soft", "hard"].iter().position(|known| *known == kind)?;
    let (_, title) = LIMITS.iter().find(|(known, _)| *known == name)?;
    let here = root.text("/proc/self/limits").and_then(|limits| {
        let values = limits.lines().find_map(|line| line.strip_prefix(title));
        let value = values.and_then(|values| values.split_whitespace().nth(column));
        value.map(str::to_owned).ok_or_else(|| format!("/proc/self/limits has no {title}")).into()
    });
    let there = match there {
        "-1" | "infinity" => "unlimited",
        number => number,
    };
    Some(Setting { name: format!("{kind} {name}"), here, there: there.to_owned(), note: None })
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
    let there = words(there);
    let here = root.line(&format!("/proc/sys/{slashes}")).map(|value| words(&value));
    let note = note(&dots, &there);
    Some(Setting { name: name.to_owned(), here, there, note })
}

fn note(name: &str, there: &str) -> Option<&'static str> {
    let is_sized_by_kernel = !matches!(name, "net.ipv4.tcp_rmem" | "net.ipv4.tcp_wmem")
        || there.split(' ').collect::<std::collections::BTreeSet<_>>().len() > 1;
    if !is_sized_by_kernel {
        return Some("three equal values end the kernel's own sizing: every socket gets as much");
    }
    NOTES.iter().find(|(known, _)| *known == name).map(|(_, note)| *note)
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
        let limits = root.path("/proc/self/limits");
        std::fs::create_dir_all(limits.parent().unwrap()).unwrap();
        let text = "Limit            Soft Limit  Hard Limit  Units\nMax open files   1024        180000      files\n";
        std::fs::write(limits, text).unwrap();
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
    fn machines_that_were_published_are_compared_with_their_limits() {
        let (_folder, root) = root();
        let settings = beside(&root, shipped("xeon-e5-v3-2014").unwrap()).unwrap();
        let of = |name: &str| settings.iter().find(|setting| setting.name == name).unwrap();
        assert_eq!(of("soft nofile").here, Fact::Known("1024".to_owned()));
        assert_eq!(of("soft nofile").there, "150000");
        assert!(of("hard nofile").is_the_same());
        // Three equal values are what is noted of them.
        assert!(of("net.ipv4.tcp_rmem").note.is_some() && !of("net.ipv4.tcp_rmem").is_the_same());
        let unlimited = beside(&root, "@web hard nproc -1").unwrap();
        assert_eq!(unlimited[0].there, "unlimited");
        assert!(unlimited[0].here.known().is_none());
        assert_eq!(shipped("xeon-e5-v4"), None);
    }

    #[test]
    fn what_is_no_setting_is_named_with_its_line() {
        let (_folder, root) = root();
        for line in [
            "net.core.rmem_default",
            "net core = 1",
            "= 1",
            "../../etc/passwd = 1",
            "a..b=1",
            "* soft files 1",
        ] {
            let error = beside(&root, &format!("# one\n{line}\n")).unwrap_err();
            assert!(error.starts_with(&format!("line 2: `{line}`")), "{error}");
        }
        let long = "x".repeat(1_000);
        assert!(beside(&root, &long).unwrap_err().len() < 160);
    }
}
