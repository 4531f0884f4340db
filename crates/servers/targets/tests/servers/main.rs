//! Servers from their start to their end, and programs that are not what they should be.

mod nginx;
mod stand_in;
/// What takes Java and tens of seconds.
mod proofs {
    mod tomcat;
}
