//! Serving certificates and client CAs are read again when their files change. New connections use the new certificate;
//! the new CAs count at once, for connections that are open too. A certificate that the server made for itself is made anew
//! before it expires.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pawl_auth::authn::Authorities;
use tokio::sync::watch;
use tokio_rustls::rustls::ServerConfig;

use crate::{Error, Settings, certificates};

/// How often the files are looked at: a rotation is announced by nobody.
const EVERY: Duration = Duration::from_secs(1);
/// How many looks go by between two questions whether a certificate is about to expire.
const DUE_EVERY: u32 = 3600;

/// Looks at the files for as long as somebody serves with what comes out.
pub async fn follow(settings: Settings, tls: watch::Sender<Arc<ServerConfig>>, authorities: Arc<Authorities>) {
    let files = certificates::files(&settings);
    let mut seen = stamps(&files);
    let mut looks: u32 = 0;
    while !tls.is_closed() {
        tokio::time::sleep(EVERY).await;
        looks = looks.wrapping_add(1);
        let now = stamps(&files);
        let due = looks.is_multiple_of(DUE_EVERY) && certificates::due(&settings);
        if now == seen && !due {
            continue;
        }
        // A pair that does not fit is half written: what is there stays, and the next look finds the rest.
        match renew(&settings, &tls, &authorities) {
            Ok(()) => {
                tracing::info!("certificates were read again");
                seen = now;
            }
            Err(error) => tracing::warn!(%error, "the new certificates cannot be used"),
        }
    }
}

fn renew(settings: &Settings, tls: &watch::Sender<Arc<ServerConfig>>, authorities: &Authorities) -> Result<(), Error> {
    let renewed = certificates::read(settings)?;
    authorities.replace(&renewed.client_roots).map_err(|e| Error::Certificate(e.to_string()))?;
    tls.send_replace(renewed.tls);
    Ok(())
}

fn stamps(files: &[PathBuf]) -> Vec<Option<SystemTime>> {
    files.iter().map(|path| std::fs::metadata(path).and_then(|m| m.modified()).ok()).collect()
}
