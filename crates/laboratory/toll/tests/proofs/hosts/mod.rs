//! A server on another machine: network namespaces, and a shell that enters the one that is named like the
//! host. They need root, and are skipped without it.

mod bad_input;
mod faults;
mod measured;
mod proof;
mod real_ssh;
mod scene;
