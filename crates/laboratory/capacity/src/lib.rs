//! How many cores traffic needs: what the traffic is, what each part of it costs, what follows, and what can be
//! changed.

mod access_log;
mod lever;
mod model;
mod sizes;

pub use access_log::{
    AccessLog, Connections, Damaged, FormatError, Heads, LeftOut, LogError, LogErrorReason,
    LogFormat, LogUse, Protocol, ReadSoFar, Tls, read,
};
pub use lever::{ALL_PARTS, Actor, Kind, LEVERS, Lever, Part, Setting, To};
pub use model::{Checked, Costs, Load, Plan, Request, Traffic};
pub use sizes::Sizes;
