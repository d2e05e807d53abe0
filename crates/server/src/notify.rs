//! Telling a service manager that the server is ready (`sd_notify`).

use std::os::unix::net::UnixDatagram;

/// Sends `READY=1` where the environment asks for it.
pub fn ready() {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let sent = UnixDatagram::unbound().and_then(|socket| socket.send_to(b"READY=1\n", path));
    if let Err(error) = sent {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}
