//! What an answer shows beside its figures: each is asked for by its name.

use serde::{Deserialize, Serialize};

/// A derived quantity, or a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Show {
    /// What the parts of a handshake, or the cipher of bodies, take of the server's CPU time.
    Bill,
    /// From which value of a key on one is ahead of the baseline.
    Crossover,
    /// What more cores would do.
    Projection,
    /// What resumption saves, and how long full and resumed handshakes take.
    HitRate,
    /// What offload costs, what the private key does, and how much later a lone handshake ends.
    Offload,
    /// How much of a modelled device's rate was used.
    DeviceUse,
    /// How many cores send what a published device does.
    PerDevice,
    /// What a client adds that reads all that it receives.
    ReadingClient,
    /// What TLS takes of plain HTTP by sendfile.
    Sendfile,
    /// What loopback contributes to the share that TLS takes.
    Loopback,
    /// What the cost of the cipher predicts, where the server reports that cost.
    Prediction,
    /// What Little's law allows numbers of users.
    LittlesLaw,
}
