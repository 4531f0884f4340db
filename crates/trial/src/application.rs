//! What a web application under test says of itself around a load, in the receipt.

use targets::{Aes, Crypto, CryptoFacts};
use units::thousands;

use crate::Line;
use crate::mismatch::Mismatch;
use crate::obtained::Orders;

/// What an application that toll started said of itself. A server that is none says nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Application {
    pub orders: Option<Orders>,
    /// Its cryptography: what was asked, and what it is.
    pub crypto: Option<((Crypto, Aes), CryptoFacts)>,
}

impl Line {
    /// The line with what the application said after the load, or why it said nothing. It is valid
    /// only where the application's cryptography is what was asked.
    #[must_use]
    pub fn with_application(mut self, said: Result<Application, String>) -> Self {
        let Application { orders, crypto } = match said {
            Ok(application) => application,
            Err(why) => {
                self.valid = false;
                self.target_error = Some(why);
                return self;
            }
        };
        self.receipt.obtained.orders = orders;
        if let Some(mismatch) = orders.and_then(|orders| self.lost_orders(orders)) {
            self.valid = false;
            self.receipt.mismatch.push(mismatch);
        }
        let Some(((crypto, aes), found)) = crypto else { return self };
        let mut differs = |what: &str, asked: String, obtained: &str| {
            if asked != obtained {
                self.valid = false;
                self.receipt.mismatch.push(Mismatch::new(what, asked, obtained));
            }
        };
        differs("crypto", crypto.to_string(), &found.crypto);
        differs("aes", aes.to_string(), &found.aes);
        let (asked, obtained) = (&mut self.receipt.asked, &mut self.receipt.obtained);
        (asked.crypto, asked.aes) = (Some(crypto.to_string()), Some(aes.to_string()));
        (obtained.crypto, obtained.aes) = (found.providers, found.switches);
        obtained.ns_per_byte = found.ns_per_byte;
        obtained.disabled_algorithms = Some(found.disabled);
        self
    }

    /// Where the shop stored more or fewer orders than order pages completed. The load's end finds
    /// each user with at most one page under way, whose order may be stored.
    fn lost_orders(&self, Orders { before, after }: Orders) -> Option<Mismatch> {
        let users = self.receipt.asked.connections.unwrap_or_default();
        let pages = self.receipt.obtained.order_pages?;
        let stored = after.saturating_sub(before);
        (stored.abs_diff(pages) > users as u64).then(|| {
            let asked = format!(
                "one for each of {} completed order pages, or as many as {} users more or less",
                thousands(pages),
                thousands(users as u64)
            );
            Mismatch::new("orders", asked, thousands(stored))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(crypto: &str, aes: &str) -> CryptoFacts {
        let of = |name: &str, value: &str| [(name.to_owned(), value.to_owned())].into();
        CryptoFacts {
            crypto: crypto.to_owned(),
            aes: aes.to_owned(),
            providers: of("AES/GCM/NoPadding", "SunJCE"),
            switches: of("UseAES", "true"),
            ns_per_byte: [("AES/GCM/NoPadding".to_owned(), 0.25)].into(),
            disabled: "SSLv3".to_owned(),
        }
    }

    fn line(asked: (Crypto, Aes), found: CryptoFacts) -> Line {
        let orders = Some(Orders { before: 3, after: 63 });
        let application = Application { orders, crypto: Some((asked, found)) };
        crate::testing::example().with_application(Ok(application))
    }

    #[test]
    fn what_it_runs_on_is_in_the_receipt() {
        let line = line((Crypto::Jdk, Aes::On), found("jdk", "on"));
        assert!(line.valid && line.receipt.mismatch.is_empty());
        let receipt = serde_json::to_value(&line.receipt).unwrap();
        assert_eq!(receipt["asked"]["aes"], "on");
        assert_eq!(receipt["obtained"]["orders"]["after"], 63);
        assert_eq!(receipt["obtained"]["crypto"]["AES/GCM/NoPadding"], "SunJCE");
        assert_eq!(receipt["obtained"]["aes"]["UseAES"], "true");
        assert_eq!(receipt["obtained"]["ns_per_byte"]["AES/GCM/NoPadding"], 0.25);
    }

    #[test]
    fn a_switch_without_effect_makes_the_trial_invalid() {
        let of = |asked, found| {
            let line = line(asked, found);
            let mismatch: Vec<_> = line.receipt.mismatch.iter().map(ToString::to_string).collect();
            (line.valid, mismatch.join("; "))
        };
        let off = of((Crypto::Jdk, Aes::Off), found("jdk", "on"));
        assert_eq!(off, (false, "aes: asked off, got on".to_owned()));
        let nss = of((Crypto::Nss, Aes::On), found("jdk", "on"));
        assert_eq!(nss, (false, "crypto: asked nss, got jdk".to_owned()));
    }

    #[test]
    fn orders_and_completed_order_pages_differ_by_the_users_at_most() {
        let of = |pages: Option<u64>, after| {
            let mut line = crate::testing::example();
            line.receipt.asked.connections = Some(50);
            line.receipt.obtained.order_pages = pages;
            let orders = Some(Orders { before: 1000, after });
            let line = line.with_application(Ok(Application { orders, crypto: None }));
            let mismatch: Vec<_> = line.receipt.mismatch.iter().map(ToString::to_string).collect();
            (line.valid, mismatch.join("; "))
        };
        for after in [1590, 1640, 1690] {
            assert_eq!(of(Some(640), after), (true, String::new()), "{after}");
        }
        let why = "orders: asked one for each of 640 completed order pages, or as many as 50 users \
                   more or less, got ";
        assert_eq!(of(Some(640), 1812), (false, format!("{why}812")));
        assert_eq!(of(Some(640), 1589), (false, format!("{why}589")));
        assert_eq!(of(None, 9000), (true, String::new()));
    }

    #[test]
    fn silence_makes_the_trial_invalid() {
        let line = crate::testing::example().with_application(Err("no answer".to_owned()));
        assert_eq!((line.valid, line.target_error.as_deref()), (false, Some("no answer")));
    }
}
