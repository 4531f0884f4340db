//! TLS libraries that the server opens and that `make test` does not install, or `make stacks` builds. Those that are not
//! here are not tried.

use tls::Stack;

use crate::opened_libraries::{
    is_here, is_measured, is_measured_with_clients, serves, verifies_clients,
};

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

#[test]
fn libraries_verify_clients_of_each_key() {
    let opened = [Stack::WolfSsl, Stack::AwsLc, Stack::BoringSsl, Stack::S2n];
    let here = opened.into_iter().filter(|library| is_here(*library));
    let built_in = [Stack::OpenSsl, Stack::RustlsRing, Stack::RustlsAwsLc];
    for library in built_in.into_iter().chain(here) {
        verifies_clients(library);
        is_measured_with_clients(library);
    }
}
