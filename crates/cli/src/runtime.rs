//! The threads that the server works on, and what it asks of the system first.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A runtime with as many workers as there is use for.
pub fn start() -> Result<tokio::runtime::Runtime, String> {
    raise_file_limit();
    // Two workers: beyond that the store and the kernel are what there is to wait for.
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(threads).thread_stack_size(4 << 20).enable_all().build();
    runtime.map_err(|error| error.to_string())
}

/// As many connections as the system allows at all: the usual limit is for programs that cannot cope with more, and a
/// thousand idle clients would shut everybody out. What cannot be raised stays as it is.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
