//! Moves the threads of a running server to other CPUs.

use std::io;

use cpus::CpuList;
use procfs::process::Process;
use rustix::io::Errno;
use rustix::process::Pid;

/// Pins to `to` all threads of a process and of its children that are pinned to `from`. Others, which a
/// server pins by itself, stay where they are.
///
/// # Errors
/// The kernel's, other than that a thread has ended.
pub(crate) fn repin(pid: u32, from: &CpuList, to: &CpuList) -> io::Result<()> {
    // A thread inherits its CPUs, so the last look must find none to move.
    while from != to && move_threads(pid, from, to)? {}
    Ok(())
}

/// Whether there were any.
fn move_threads(pid: u32, from: &CpuList, to: &CpuList) -> io::Result<bool> {
    let tasks = Process::new(pid.cast_signed()).and_then(|process| process.tasks());
    let mut has_moved = false;
    for task in tasks.into_iter().flatten().flatten() {
        if let Some(thread) = Pid::from_raw(task.tid)
            && CpuList::of_thread(thread).is_ok_and(|cpus| cpus == *from)
        {
            match cpus::pin_thread(thread, to) {
                Err(error) if Errno::from_io_error(&error) != Some(Errno::SRCH) => {
                    return Err(error);
                }
                _ => has_moved = true,
            }
        }
        for child in task.children().unwrap_or_default() {
            has_moved |= move_threads(child, from, to)?;
        }
    }
    Ok(has_moved)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_and_its_children_move_and_what_is_pinned_elsewhere_stays() {
        let all = CpuList::allowed().unwrap();
        let (first, last) = (all.first(1), CpuList::from(*all.as_slice().last().unwrap()));
        let mut shell = Command::new("sh");
        let mut shell = shell.args(["-c", "sleep 100 & sleep 100 & wait"]).spawn().unwrap();
        let children = || {
            let process = Process::new(shell.id().cast_signed()).unwrap();
            process.task_main_thread().unwrap().children().unwrap()
        };
        while children().len() < 2 {
            std::thread::yield_now();
        }
        let pid = |number: u32| Pid::from_raw(number.cast_signed()).unwrap();
        let [one, other] = children()[..] else { panic!("two") };
        let cpus = || [shell.id(), one, other].map(|id| CpuList::of_thread(pid(id)).unwrap());
        repin(shell.id(), &all, &first).unwrap();
        assert_eq!(cpus(), [&first, &first, &first].map(Clone::clone));
        cpus::pin_thread(pid(other), &last).unwrap();
        repin(shell.id(), &first, &all).unwrap();
        let stays = if last == first { &all } else { &last };
        assert_eq!(cpus(), [&all, &all, stays].map(Clone::clone));
        for id in [one, other, shell.id()] {
            rustix::process::kill_process(pid(id), rustix::process::Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
    }
}
