//! A rank of a load that many hosts make together; `toll run` starts it, through `mpirun`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cluster::main()
}
