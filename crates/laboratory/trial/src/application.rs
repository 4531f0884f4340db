//! What a web application under test reports of a load, in the receipt.

use units::thousands;

use crate::mismatch::Mismatch;
use crate::obtained::Orders;
use crate::receipt::Receipt;
use crate::reports::ServerReport;

impl Receipt {
    /// Adds the orders that the application stored while this many users walked its pages, and what its
    /// cryptography was to run on and runs on.
    pub(crate) fn add_application(&mut self, report: &ServerReport, users: usize) {
        self.obtained.orders = report.orders;
        let lost = report.orders.and_then(|orders| self.lost_orders(orders, users));
        self.mismatch.extend(lost);
        let Some(((crypto, aes), found)) = &report.crypto else { return };
        for (what, asked, obtained) in
            [("crypto", crypto.to_string(), &found.crypto), ("aes", aes.to_string(), &found.aes)]
        {
            if asked != *obtained {
                self.mismatch.push(Mismatch::new(what, asked, obtained));
            }
        }
        (self.asked.crypto, self.asked.aes) = (Some(*crypto), Some(*aes));
        let obtained = &mut self.obtained;
        (obtained.crypto, obtained.aes) = (found.providers.clone(), found.switches.clone());
        obtained.ns_per_byte = found.ns_per_byte.clone();
        obtained.disabled_algorithms = Some(found.disabled.clone());
    }

    /// Where the shop stored more or fewer orders than order pages completed. The load's end finds
    /// each user with at most one page under way, whose order may be stored.
    fn lost_orders(&self, Orders { before, after }: Orders, users: usize) -> Option<Mismatch> {
        let pages = self.obtained.order_pages?;
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
    use targets::{Aes, Crypto, CryptoFacts};

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

    fn receipt(asked: (Crypto, Aes), found: CryptoFacts) -> Receipt {
        let orders = Some(Orders { before: 3, after: 63 });
        let crypto = Some((asked, found));
        let mut receipt = Receipt::default();
        receipt.add_application(&ServerReport { orders, crypto, ..ServerReport::default() }, 50);
        receipt
    }

    fn mismatch(receipt: &Receipt) -> String {
        let all: Vec<_> = receipt.mismatch.iter().map(ToString::to_string).collect();
        all.join("; ")
    }

    #[test]
    fn what_it_runs_on_is_in_the_receipt() {
        let receipt = receipt((Crypto::Jdk, Aes::On), found("jdk", "on"));
        assert_eq!(mismatch(&receipt), "");
        let receipt = serde_json::to_value(&receipt).unwrap();
        assert_eq!(receipt["asked"]["aes"], "on");
        assert_eq!(receipt["obtained"]["orders"]["after"], 63);
        assert_eq!(receipt["obtained"]["crypto"]["AES/GCM/NoPadding"], "SunJCE");
        assert_eq!(receipt["obtained"]["aes"]["UseAES"], "true");
        assert_eq!(receipt["obtained"]["ns_per_byte"]["AES/GCM/NoPadding"], 0.25);
    }

    #[test]
    fn a_switch_without_effect_is_a_mismatch() {
        let of = |asked, found| mismatch(&receipt(asked, found));
        assert!(of((Crypto::Jdk, Aes::Off), found("jdk", "on")).starts_with("aes: "));
        assert!(of((Crypto::Nss, Aes::On), found("jdk", "on")).starts_with("crypto: "));
    }

    #[test]
    fn orders_and_completed_order_pages_differ_by_the_users_at_most() {
        let of = |pages: Option<u64>, after| {
            let mut receipt = Receipt::default();
            receipt.obtained.order_pages = pages;
            let orders = Some(Orders { before: 1000, after });
            receipt.add_application(&ServerReport { orders, ..ServerReport::default() }, 50);
            mismatch(&receipt)
        };
        for after in [1590, 1640, 1690] {
            assert_eq!(of(Some(640), after), "", "{after}");
        }
        let why = "orders: asked one for each of 640 completed order pages, or as many as 50 users \
                   more or less, got ";
        assert_eq!(of(Some(640), 1812), format!("{why}812"));
        assert_eq!(of(Some(640), 1589), format!("{why}589"));
        assert_eq!(of(None, 9000), "");
    }
}
