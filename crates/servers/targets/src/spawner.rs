//! A thread that starts every server, for as long as the process lives.
//!
//! The death signal of a child (`prctl(2)`, `PR_SET_PDEATHSIG`) is sent when the *thread* that
//! forked it ends, not the process. A server that a worker thread of toll started would be
//! killed with that worker; so one thread that never ends does it for all.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

struct Order {
    command: Command,
    reply: Sender<io::Result<Child>>,
}

/// Starts `command` from the thread that never ends.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    let (reply, answer) = mpsc::channel();
    let gone = || io::Error::other("the thread that starts servers is gone");
    orders()?.send(Order { command, reply }).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}

/// The way to that thread, which is started at the first call.
fn orders() -> io::Result<Sender<Order>> {
    // This sender is never dropped, so the thread's inbox never closes.
    static ORDERS: Mutex<Option<Sender<Order>>> = Mutex::new(None);
    let mut orders = ORDERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(orders) = &*orders {
        return Ok(orders.clone());
    }
    let (sender, inbox) = mpsc::channel::<Order>();
    thread::Builder::new().name("spawner".to_owned()).spawn(move || {
        for mut order in inbox {
            // Whoever ordered waits for the answer, so this does not fail.
            let _ = order.reply.send(order.command.spawn());
        }
    })?;
    *orders = Some(sender.clone());
    Ok(sender)
}
