/// A share as a plan shows it, without decimals.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}
