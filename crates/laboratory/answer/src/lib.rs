//! What a journal says: from its lines to what a person reads.
//!
//! The way of a figure, such as the handshakes per CPU-second of a cell:
//!
//! 1. **Row.** [`analysis::Row`] takes the trials of a cell, or the rounds of an algorithm, and keeps them. By metric it
//!    has their samples with their rounds ([`MeasuredRow`]), what limited them, its mark, and in which circumstances they
//!    ran. It knows nothing of answers.
//! 2. **Decision.** [`analysis::Decisions`] puts rows beside each other, as answers, their sentences and gates ask, and
//!    decides once, in one family, what is read together. `comparable` says which rows may be compared at all; what has to be
//!    alike is a [`Circumstance`].
//! 3. **Answer.** [`analysis::Answer`] has the figures of a rule with their ratios, and what follows from them: a file in
//!    `analysis` for each thing (the bill, the crossover, ...). Programs get this ([`analysis::Analysis`] as JSON).
//! 4. **Findings.** [`findings::Findings`] is what a person sees: headlines, tables, charts and notes as plain data. Crate
//!    `report` prints it on a terminal, as a page and as Markdown, and decides nothing.
//!
//! Beside that way: [`TrialDocument`] of one trial, [`compare::Comparison`] of two runs, [`gate::Gate`] of a figure that
//! must be reached, [`costs::Costs`] of timed algorithms, [`summary::Summary`] of a run without its journal, [`claims`]
//! that are judged by rows, and [`tracked::TrackedFigure`] that is followed from run to run.

pub mod analysis;
mod caveat;
mod circumstance;
pub mod claims;
mod comparable;
pub mod compare;
pub mod costs;
pub mod figure;
pub mod findings;
pub mod gate;
mod label;
mod limits;
mod mark;
mod measured;
mod one_trial;
pub mod summary;
pub mod tracked;
pub mod wording;

pub use caveat::Caveat;
pub use circumstance::Circumstance;
pub use label::{label, label_in, trials};
pub use mark::Mark;
pub use measured::{MeasuredRow, Shortfall, TrialCounts};
pub use one_trial::{Block, TrialDocument};
