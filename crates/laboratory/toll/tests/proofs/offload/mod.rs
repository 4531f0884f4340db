//! Private keys that are not used on the server's CPU: under servers and commands that are not toll's, and
//! what becomes of operations when clients or servers go.

mod commands;
mod faults;
mod foreign;
mod multi_buffer;
mod servers;
mod study;
