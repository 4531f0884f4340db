//! A rank of a load that many hosts make together; `toll run` starts it, through `mpirun`.

mod mpi;

use std::process::ExitCode;

fn main() -> ExitCode {
    build_identity::register(env!("TOLL_BUILD"));
    cluster::main(mpi::Mpi::init)
}
