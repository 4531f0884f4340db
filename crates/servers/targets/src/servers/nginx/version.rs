//! The numbers in versions of nginx and of its library.

/// Those of nginx itself in what `Program::version` answers.
pub(super) fn server_numbers(version: &str) -> Option<Vec<u32>> {
    Some(numbers(version.split_once(", ")?.0.strip_prefix("nginx/")?))
}

/// The parts of `1.22.1 (Ubuntu)`.
pub(super) fn numbers(version: &str) -> Vec<u32> {
    let version = version.split_whitespace().next().unwrap_or_default();
    version.split('.').map_while(|part| part.parse().ok()).collect()
}
