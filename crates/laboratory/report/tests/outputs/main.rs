//! What is made of a run that was made up: the page, the terminal, CSV and OpenMetrics.

mod csv;
mod fabricated;
mod page;
mod primitives;
mod profiles;
/// What needs more than the sources: a browser, another reader of a format.
mod proofs {
    mod browser;
    mod openmetrics;
}
mod terminal;
