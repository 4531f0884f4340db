//! TLS libraries that the server opens and that `make test` does not install, or `make stacks` builds. Those that are not
//! here are not tried.

use tls::Stack;

use crate::opened_libraries::{is_here, is_measured, serves};

#[test]
fn libraries_that_are_opened_serve_other_clients() {
    for library in [Stack::WolfSsl, Stack::AwsLc, Stack::BoringSsl, Stack::S2n] {
        if is_here(library) {
            serves(library);
        }
    }
}

#[test]
fn libraries_that_are_opened_are_measured_and_proven() {
    for library in [Stack::WolfSsl, Stack::AwsLc, Stack::BoringSsl, Stack::S2n] {
        if is_here(library) {
            is_measured(library);
        }
    }
}
