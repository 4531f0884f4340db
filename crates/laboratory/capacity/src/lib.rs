//! How many cores traffic needs: what the traffic is, what each part of it costs, and what follows.

mod access_log;
mod model;
mod sizes;

pub use access_log::{
    AccessLog, Connections, Damaged, FormatError, Heads, LeftOut, LogError, LogErrorReason,
    LogFormat, LogUse, Protocol, ReadSoFar, Tls, read,
};
pub use model::{Checked, Costs, Load, Plan, Request, Traffic};
pub use sizes::Sizes;
