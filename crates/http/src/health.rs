//! Health: `/livez`, `/readyz`, `/healthz`, with their single checks.

use http::Response;
use tokio::sync::watch;

use crate::body::Body;
use crate::query::Query;
use crate::respond;

pub type Check = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The checks of a server, and whether it is going away.
pub struct Health {
    checks: Vec<(&'static str, Check)>,
    /// What matters only for whether the server is ready.
    readiness: Vec<(&'static str, Check)>,
    /// Others that the server needs. It is not made better by being started again.
    services: Vec<(String, Check)>,
    /// What is worth a line in `/readyz?verbose` though the server is ready.
    remarks: Vec<Remark>,
    stopping: watch::Sender<bool>,
}

pub type Remark = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// Waits until the server stops.
pub struct Stopping(watch::Receiver<bool>);

impl Stopping {
    pub async fn wait(&mut self) {
        // An error means that the server is gone already.
        let _ = self.0.wait_for(|stopping| *stopping).await.map(|_| ());
    }
}

impl Health {
    /// Checks besides `ping`, in the order in which they are shown.
    pub fn new(checks: Vec<(&'static str, Check)>) -> Self {
        let mut all: Vec<(&'static str, Check)> = vec![("ping", Box::new(|| Ok(())))];
        all.extend(checks);
        Self {
            checks: all,
            readiness: Vec::new(),
            services: Vec::new(),
            remarks: Vec::new(),
            stopping: watch::Sender::new(false),
        }
    }

    /// One more check that only `/readyz` makes.
    #[must_use]
    pub fn with_readiness(mut self, name: &'static str, check: Check) -> Self {
        self.readiness.push((name, check));
        self
    }

    /// One more check of somebody else, that `/readyz` and `/healthz` make.
    #[must_use]
    pub fn with_service(mut self, name: String, check: Check) -> Self {
        self.services.push((name, check));
        self
    }

    /// Something to say in `/readyz?verbose` that keeps nobody from being served.
    #[must_use]
    pub fn with_remark(mut self, remark: Remark) -> Self {
        self.remarks.push(remark);
        self
    }

    /// From now on the server is not ready.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// A way to wait for the stop.
    pub fn stopping(&self) -> Stopping {
        Stopping(self.stopping.subscribe())
    }

    /// Answers a health path; `None` when it is none.
    pub fn answer(&self, path: &str, query: &Query) -> Option<Response<Body>> {
        let mut parts = path.strip_prefix('/')?.splitn(2, '/');
        let root = parts.next().filter(|r| matches!(*r, "livez" | "readyz" | "healthz"))?;
        let mut results: Vec<(&str, Result<(), String>)> =
            self.checks.iter().map(|(name, check)| (*name, check())).collect();
        if root != "livez" {
            results.extend(self.services.iter().map(|(name, check)| (name.as_str(), check())));
        }
        if root == "readyz" {
            let store = self.checks.iter().find(|(name, _)| *name == "etcd");
            results.extend(store.map(|(_, check)| ("etcd-readiness", check())));
            results.extend(self.readiness.iter().map(|(name, check)| (*name, check())));
            let stopping = if self.is_stopping() { Err("process is shutting down".to_owned()) } else { Ok(()) };
            results.push(("shutdown", stopping));
        }
        if let Some(single) = parts.next() {
            let Some((_, result)) = results.into_iter().find(|(name, _)| *name == single) else {
                return Some(respond::page_not_found());
            };
            return Some(match result {
                Ok(()) => respond::text(200, "ok"),
                Err(why) => respond::text(500, format!("internal server error: {why}\n")),
            });
        }
        let excluded: Vec<&str> = query.all("exclude").collect();
        let verbose = query.get("verbose").is_some();
        let mut lines = String::new();
        let mut failed = false;
        for (name, result) in &results {
            if excluded.contains(name) {
                lines.push_str(&format!("[+]{name} excluded: ok\n"));
                continue;
            }
            match result {
                Ok(()) => lines.push_str(&format!("[+]{name} ok\n")),
                Err(why) => {
                    failed = true;
                    let why = if verbose { why } else { "reason withheld" };
                    lines.push_str(&format!("[-]{name} failed: {why}\n"));
                }
            }
        }
        if root == "readyz" && verbose {
            lines.extend(self.remarks.iter().filter_map(|remark| Some(format!("[!]{}\n", remark()?))));
        }
        for name in excluded.iter().filter(|e| !results.iter().any(|(name, _)| name == *e)) {
            lines.push_str(&format!("warn: some health checks cannot be excluded: no matches for {name:?}\n"));
        }
        Some(if failed {
            respond::text(500, format!("{lines}{root} check failed\n"))
        } else if verbose {
            respond::text(200, format!("{lines}{root} check passed\n"))
        } else {
            respond::text(200, "ok")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(health: &Health, path: &str, query: &str) -> (u16, String) {
        let response = health.answer(path, &Query::parse(query)).unwrap();
        let code = response.status().as_u16();
        let Body::Full(bytes) = response.into_body() else { panic!("a text is expected") };
        (code, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn who_asks_for_more_is_told_why() {
        let health = Health::new(vec![("watch-cache", Box::new(|| Err("stands at revision 7".to_owned())))]);
        let told = (500, "[+]ping ok\n[-]watch-cache failed: reason withheld\nlivez check failed\n".to_owned());
        assert_eq!(ask(&health, "/livez", ""), told);
        let told = (500, "[+]ping ok\n[-]watch-cache failed: stands at revision 7\nlivez check failed\n".to_owned());
        assert_eq!(ask(&health, "/livez", "verbose"), told);
    }
}
