//! Servers under test and their life: started on free ports of loopback with generated keys,
//! configuration and objects, ready when they answer, stopped for certain.
//!
//! [`start`] makes a [`Running`] server of one of [`SERVERS`], [`Settings`] and objects; `tests/nginx.rs` shows
//! a whole life.
//!
//! A server does not outlive toll, however toll ends: see [`Running`].
//!
//! A new server is a [`Server`] among [`SERVERS`], and an implementation of [`Program`] in `servers/`.

mod backend;
mod callgrind;
mod captured;
mod command_line;
mod crypto;
mod directives;
mod environment;
mod error;
mod facts;
mod files;
mod host;
mod known_servers;
mod launch_context;
mod library;
mod lines;
mod listening;
mod log;
mod mounts;
mod nobody;
mod objects_on_disk;
mod openssl;
mod openssl_provider;
mod port;
mod process;
mod program;
mod program_path;
mod ready;
mod repin;
mod running;
mod secret;
mod server;
mod server_pid;
mod servers;
mod settings;
mod shell;
mod silence;
mod spawner;
mod start;
mod system;
mod target;
mod target_dir;
mod warm_up;

pub use backend::{Backend, BackendConnections, SUITE as BACKEND_SUITE};
pub use captured::{Captured, NotEnded, unnamed};
pub use command_line::CommandLine;
pub use counters::{AcceleratorCounts, BatchCounts, Calls, KeyUse, SendCounters, UseCounts};
pub use crypto::{Aes, CRYPTO_TAKES, Crypto, CryptoFacts};
pub use directives::Directives;
pub use environment::{Environment, LibraryPath};
pub use error::TargetError;
pub use facts::{ClientFiles, ClientPem, PrivatePem, ServerFacts};
pub use host::Host;
pub use known_servers::{SERVERS, by_name};
pub use launch_context::LaunchContext;
pub use library::{MappedLibrary, TlsLibrary};
pub use lines::{Lines, shortened};
pub use log::end_of;
pub use mounts::Mounts;
pub use objects_on_disk::Objects;
pub use port::Ports;
pub use process::{GuardedProcess, Launch, Stopped, wait_for, wait_or_kill};
pub use program::{Binary, find_in, is_program, output_within};
pub use program_path::ProgramPath;
pub use ready::Unready;
pub use running::{Running, Started};
pub use secret::Secret;
pub use server::{Restart, Server};
pub use server_pid::ServerPid;
pub use servers::program::{Invocation, Program, ServerCounts};
pub use settings::Settings;
pub use shell::{RemoteStartError, Shell, one_line};
pub use silence::Silence;
pub use start::{RESTART_TAKES, command, restart, start};
pub use system::{System, SystemRoot, systems};
pub use target::{IfMissing, Target, ThreadsPerCore};
pub use warm_up::{SteadyRule, WarmUp};
