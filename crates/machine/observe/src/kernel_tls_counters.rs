//! The kernel's counters of TLS connections that it encrypts itself, `/proc/net/tls_stat`
//! (Documentation/networking/tls.rst).

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{ObserveError, read};

/// How many connections the kernel has taken over since the network namespace began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelTlsCounters {
    /// To send, encrypted by the processor: `TlsTxSw`.
    pub sent_by_software: u64,
    /// To receive, decrypted by the processor: `TlsRxSw`.
    pub received_by_software: u64,
    /// To send, encrypted by the network card: `TlsTxDevice`.
    pub sent_by_device: u64,
    /// To receive, decrypted by the network card: `TlsRxDevice`.
    pub received_by_device: u64,
}

impl KernelTlsCounters {
    /// The counters of the network namespace of the process `pid`.
    ///
    /// # Errors
    /// The kernel has no TLS layer, or its module is not loaded: then it encrypts nothing.
    pub fn of_process(pid: u32) -> Result<Self, ObserveError> {
        let folder = format!("/proc/{pid}/net");
        let file = Path::new(&folder).join("tls_stat");
        match read(&file) {
            Err(_) if !file.exists() && Path::new(&folder).exists() => {
                Err(ObserveError::NoKernelTls)
            }
            text => Self::parse(&text?),
        }
    }

    /// The counters in the text of the file: a name and a number in each line.
    pub fn parse(text: &str) -> Result<Self, ObserveError> {
        let malformed = |what: String| ObserveError::Malformed { file: "/proc/net/tls_stat", what };
        let mut counters = BTreeMap::new();
        for line in text.lines() {
            let wrong = || malformed(format!("`{line}`"));
            let (name, value) = line.split_once(char::is_whitespace).ok_or_else(wrong)?;
            counters.insert(name, value.trim().parse().map_err(|_| wrong())?);
        }
        let counter = |name: &str| {
            counters.get(name).copied().ok_or_else(|| malformed(format!("it has no {name}")))
        };
        Ok(Self {
            sent_by_software: counter("TlsTxSw")?,
            received_by_software: counter("TlsRxSw")?,
            sent_by_device: counter("TlsTxDevice")?,
            received_by_device: counter("TlsRxDevice")?,
        })
    }

    /// Connections that it encrypts, by whatever means.
    pub fn sent(&self) -> u64 {
        self.sent_by_software + self.sent_by_device
    }

    /// What was added since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let less = u64::saturating_sub;
        Self {
            sent_by_software: less(self.sent_by_software, earlier.sent_by_software),
            received_by_software: less(self.received_by_software, earlier.received_by_software),
            sent_by_device: less(self.sent_by_device, earlier.sent_by_device),
            received_by_device: less(self.received_by_device, earlier.received_by_device),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.1 prints it.
    const STAT: &str = "TlsCurrTxSw                     \t0\nTlsCurrRxSw                     \t0\n\
        TlsCurrTxDevice                 \t0\nTlsCurrRxDevice                 \t0\n\
        TlsTxSw                         \t64\nTlsRxSw                         \t3\n\
        TlsTxDevice                     \t2\nTlsRxDevice                     \t1\n\
        TlsDecryptError                 \t0\n";

    #[test]
    fn the_four_that_only_grow_are_read() {
        let counters = KernelTlsCounters::parse(STAT).unwrap();
        let expected = KernelTlsCounters {
            sent_by_software: 64,
            received_by_software: 3,
            sent_by_device: 2,
            received_by_device: 1,
        };
        assert_eq!(counters, expected);
        assert_eq!(counters.since(&expected), KernelTlsCounters::default());
    }

    #[test]
    fn text_of_another_form_is_an_error() {
        for text in ["", "TlsTxSw", "TlsTxSw x", "TlsTxSw 1\nTlsRxSw 2\n"] {
            assert!(KernelTlsCounters::parse(text).is_err(), "{text}");
        }
        let gone = KernelTlsCounters::of_process(1 << 23);
        assert!(matches!(gone, Err(ObserveError::Unreadable { .. })), "{gone:?}");
        if let Err(error) = KernelTlsCounters::of_process(std::process::id()) {
            assert!(matches!(error, ObserveError::NoKernelTls), "{error}");
        }
    }
}
