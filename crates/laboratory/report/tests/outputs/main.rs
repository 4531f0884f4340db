//! What is made of a run that was made up: the page, the terminal, CSV, OpenMetrics and the files for CI.

mod ci;
mod csv;
mod fabricated;
mod one_trial;
mod page;
mod primitives;
mod profiles;
/// What needs more than the sources: a browser, another reader of a format.
mod proofs {
    mod browser;
    mod openmetrics;
}
mod terminal;
