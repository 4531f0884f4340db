//! Servers under test on another machine: `toll agent` runs there over the user's own ssh, starts them,
//! and reads that machine with the same code as toll does here.
//!
//! - [`RunningServer`] is what a run asks of a server that toll started: [`Here`], or by [`RemoteHost`]
//!   on another machine.
//! - [`serve`] is the agent. Requests and answers are lines of JSON over its pipe; when its input ends, it
//!   ends, and its servers with it.
//!
//! No load is sent to an address that has not proved to be the agent's machine: see the crate `proof`.

mod agent;
mod connection;
mod failure;
mod here;
mod input;
mod logs;
mod pipe;
mod remote;
mod request;
mod running;
mod there;
mod two_machines;

pub use agent::serve;
pub use failure::Refusal;
pub use here::{Here, check_kernel};
pub use input::Input;
pub use remote::{Clients, RemoteHost};
pub use request::Wanted;
pub use running::RunningServer;
