//! Which class a sample belongs to, by rules in a TOML table.
//!
//! A sample is a stack of frames, innermost first. Each frame in turn is held against the rules in
//! their order, until one decides. A frame that no rule knows is decided by its caller.

use std::path::{Path, PathBuf};

use regex::Regex;
use serde::Deserialize;

use crate::class::Class;
use crate::stack::{CallStack, Frame};

/// The rules that toll comes with.
const BUILT_IN: &str = include_str!("rules.toml");

/// Rules in the order in which they are tried.
#[derive(Debug, Clone)]
pub struct Rules(Vec<Rule>);

/// A file of rules that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    #[error("{}: {why}", path.display())]
    Read { path: PathBuf, why: std::io::Error },
    #[error("{}: {why}", path.display())]
    Invalid { path: PathBuf, why: String },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rule: Vec<Rule>,
}

/// All patterns of a rule must match. They are regular expressions that match anywhere in a name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Rule {
    class: Decision,
    /// The program, library or kernel module of the frame.
    #[serde(default, deserialize_with = "pattern")]
    library: Option<Regex>,
    /// The frame's function; a frame without a symbol has none.
    #[serde(default, deserialize_with = "pattern")]
    function: Option<Regex>,
    /// Whether the frame must have no symbol.
    #[serde(default)]
    no_symbol: bool,
    /// Whether the frame must be the innermost.
    #[serde(default)]
    innermost: bool,
    /// A function among its callers.
    #[serde(default, deserialize_with = "pattern")]
    under: Option<Regex>,
    /// A function that is not between the innermost and that caller; without one, not in the stack.
    #[serde(default, deserialize_with = "pattern")]
    without: Option<Regex>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Decision {
    /// Its caller decides.
    Caller,
    #[serde(untagged)]
    Class(Class),
}

impl Rules {
    /// The rules that toll comes with.
    pub fn built_in() -> Self {
        Self::parse(BUILT_IN).expect("toll's own rules")
    }

    /// The rules of a file of the user's, and after them those that toll comes with.
    ///
    /// # Errors
    /// The file cannot be read, or is not a table of rules: with its line.
    pub fn with(path: &Path) -> Result<Self, RulesError> {
        let text = std::fs::read_to_string(path)
            .map_err(|why| RulesError::Read { path: path.to_owned(), why })?;
        let mut own = Self::parse(&text).map_err(|why| RulesError::Invalid {
            path: path.to_owned(),
            why: why.to_string().trim_end().to_owned(),
        })?;
        own.0.extend(Self::built_in().0);
        Ok(own)
    }

    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str::<File>(text).map(|file| Self(file.rule))
    }

    /// What the CPU was doing.
    pub fn class(&self, stack: &CallStack) -> Class {
        let decision = |place| {
            self.0.iter().find(|rule| rule.matches(&stack.frames, place)).map(|rule| rule.class)
        };
        // What the kernel does for a program is not the program's own work.
        let is_of_kernel = stack.frames.first().is_some_and(Frame::is_of_kernel);
        let same = stack.frames.iter().take_while(|frame| frame.is_of_kernel() == is_of_kernel);
        (0..same.count())
            .find_map(|place| match decision(place) {
                Some(Decision::Class(class)) => Some(class),
                Some(Decision::Caller) | None => None,
            })
            .unwrap_or(Class::Other)
    }
}

impl Rule {
    fn matches(&self, frames: &[Frame], place: usize) -> bool {
        let frame = &frames[place];
        let function = |frame: &Frame, pattern: &Regex| {
            frame.function.as_deref().is_some_and(|name| pattern.is_match(name))
        };
        let is_of = |pattern: &Option<Regex>, name: Option<&str>| match pattern {
            Some(pattern) => name.is_some_and(|name| pattern.is_match(name)),
            None => true,
        };
        is_of(&self.library, frame.library.as_deref())
            && is_of(&self.function, frame.function.as_deref())
            && !(self.no_symbol && frame.function.is_some())
            && !(self.innermost && place > 0)
            && self.caller(frames, place).is_some_and(|caller| {
                let without = self.without.as_ref();
                let has = |without| frames[..caller].iter().any(|frame| function(frame, without));
                !without.is_some_and(has)
            })
    }

    /// The place of the caller that the rule asks for; the length where it asks for none.
    fn caller(&self, frames: &[Frame], place: usize) -> Option<usize> {
        let Some(under) = &self.under else { return Some(frames.len()) };
        let is_it = |frame: &Frame| frame.function.as_deref().is_some_and(|f| under.is_match(f));
        Some(place + 1 + frames[place + 1..].iter().position(is_it)?)
    }
}

fn pattern<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Regex>, D::Error> {
    let text = String::deserialize(from)?;
    // Long lists of names are written over several lines.
    Regex::new(&format!("(?x){text}")).map(Some).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "[kernel.kallsyms]";

    /// The class of a stack of functions, innermost first; `library:function`, without a library the
    /// kernel's.
    fn class(rules: &Rules, functions: &[&str]) -> Class {
        let frame = |text: &&str| {
            let (library, function) = text.split_once(':').unwrap_or((KERNEL, *text));
            Frame {
                library: Some(library.to_owned()),
                function: (!function.is_empty()).then(|| function.to_owned()),
            }
        };
        let frames = functions.iter().map(frame).collect();
        rules.class(&CallStack { process: 7, thread: "nginx".to_owned(), frames })
    }

    fn built_in(functions: &[&str]) -> Class {
        class(&Rules::built_in(), functions)
    }

    #[test]
    fn functions_have_the_class_of_their_work() {
        for (functions, expected) in [
            (&["libcrypto.so.3:aesni_gcm_encrypt"][..], Class::SymmetricCrypto),
            (&["libcrypto.so.3:rsaz_1024_mul_avx2"], Class::AsymmetricCrypto),
            (&["libcrypto.so.3:mulx4x_internal"], Class::AsymmetricCrypto),
            (&["libcrypto.so.3:cmov"], Class::AsymmetricCrypto),
            (&["libcrypto.so.3:sha256_block_data_order_avx2"], Class::Hashing),
            (&["libcrypto.so.3:"], Class::CryptoWithoutSymbols),
            (&["libssl.so.3:SSL_write"], Class::TlsLibrary),
            (&["nginx:ngx_http_process_request"], Class::HttpServer),
            (&["rep_movs_alternative", "_copy_from_iter", "tcp_sendmsg_locked"], Class::Copies),
            (&["tcp_sendmsg_locked", "tcp_sendmsg"], Class::TcpIp),
            (&["__schedule", "schedule"], Class::Scheduler),
            (&["filemap_get_pages", "filemap_splice_read"], Class::PageCache),
            (&["get_page_from_freelist"], Class::MemoryManagement),
            (&["entry_SYSRETQ_unsafe_stack", "nginx:main"], Class::SystemCallEntry),
            (&["libc.so.6:writev", "nginx:ngx_writev"], Class::SystemCallEntry),
            (&["elsewhere.so:unheard_of"], Class::Other),
        ] {
            assert_eq!(built_in(functions), expected, "{functions:?}");
        }
    }

    /// A timer that is an interrupt finds the CPU where interrupts are allowed again.
    #[test]
    fn what_ran_with_interrupts_off_is_sorted_by_its_callers() {
        let unlock = "_raw_spin_unlock_irqrestore";
        assert_eq!(built_in(&[unlock, "sock_def_readable"]), Class::Scheduler);
        assert_eq!(built_in(&[unlock, "kmem_cache_free"]), Class::MemoryManagement);
        assert_eq!(
            built_in(&["handle_softirqs", "__local_bh_enable_ip", "ip_finish_output2"]),
            Class::TcpIp
        );
    }

    #[test]
    fn the_clients_half_of_loopback_is_under_the_backlog_and_not_an_acknowledgement() {
        let send = ["process_backlog", "__napi_poll", "ip_output", "tcp_write_xmit", "tcp_sendmsg"];
        let stack = |first: &[&'static str]| [first, &send[..]].concat();
        assert_eq!(built_in(&stack(&["tcp_data_queue", "tcp_rcv_established"])), Class::Loopback);
        for acknowledged in [
            &["tcp_clean_rtx_queue", "tcp_ack", "tcp_rcv_established"][..],
            // There is room now for what the server has queued.
            &["__tcp_transmit_skb", "tcp_write_xmit", "tcp_rcv_established"],
        ] {
            assert_eq!(built_in(&stack(acknowledged)), Class::TcpIp, "{acknowledged:?}");
        }
        assert_eq!(built_in(&["__tcp_transmit_skb", "tcp_sendmsg"]), Class::TcpIp);
    }

    #[test]
    fn the_kernels_work_is_not_the_programs_that_asked_for_it() {
        assert_eq!(built_in(&["unheard_of", "libcrypto.so.3:aesni_gcm_encrypt"]), Class::Other);
    }

    #[test]
    fn rules_of_a_user_come_first() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "[[rule]]\nclass = \"hashing\"\nlibrary = '^nginx$'\nfunction = '^ngx_sum$'\n";
        std::fs::write(file.path(), text).unwrap();
        let rules = Rules::with(file.path()).unwrap();
        assert_eq!(class(&rules, &["nginx:ngx_sum"]), Class::Hashing);
        assert_eq!(built_in(&["nginx:ngx_sum"]), Class::HttpServer);
        assert_eq!(class(&rules, &["libssl.so.3:SSL_write"]), Class::TlsLibrary);
    }
}
