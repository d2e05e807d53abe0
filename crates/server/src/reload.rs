//! Serving certificates and client CAs are read again when their files change. New connections use the new ones.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio_rustls::rustls::ServerConfig;

use crate::{Settings, certificates};

/// How often the files are looked at: a rotation is announced by nobody.
const EVERY: Duration = Duration::from_secs(1);

/// Looks at the files for as long as somebody serves with what comes out.
pub async fn follow(settings: Settings, tls: watch::Sender<Arc<ServerConfig>>) {
    let files = certificates::files(&settings);
    let mut seen = stamps(&files);
    while !tls.is_closed() {
        tokio::time::sleep(EVERY).await;
        let now = stamps(&files);
        if now == seen {
            continue;
        }
        // A pair that does not fit is half written: what is there stays, and the next look finds the rest.
        match certificates::tls(&settings) {
            Ok(config) => {
                tracing::info!("certificates were read again");
                tls.send_replace(config);
                seen = now;
            }
            Err(error) => tracing::warn!(%error, "the new certificates cannot be used"),
        }
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<SystemTime>> {
    files.iter().map(|path| std::fs::metadata(path).and_then(|m| m.modified()).ok()).collect()
}
