//! Servers under test on another machine: `toll agent` runs there over the user's own ssh, starts them,
//! and reads that machine with the same code as toll does here.
//!
//! - [`RunningServer`] is what a run asks about a server that toll started: a [`LocalServer`], or one that
//!   a [`RemoteHost`] started on another machine.
//! - [`serve`] is the agent. Requests and answers are lines of JSON over its pipe; when its input ends, it
//!   ends, and its servers with it.
//!
//! No load is sent to an address that has not proved to be the agent's machine: see the crate `proof`.

mod agent;
mod connection;
mod failure;
mod input;
mod local_server;
mod logs;
mod remote;
mod remote_machine;
mod remote_server;
mod request;
mod running_server;

pub use agent::serve;
pub use failure::Refusal;
pub use input::Input;
pub use local_server::LocalServer;
pub use remote::{Clients, RemoteHost};
pub use remote_server::RemoteServer;
pub use running_server::RunningServer;
