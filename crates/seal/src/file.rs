//! The configuration file, looked at for as long as the server runs. What cannot be used is refused, and what is in use stays.

use std::future::Future;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::config::{self, Config, ConfigError};
use crate::live::{Candidate, Refused, Seals};

impl Seals {
    /// Follows a file until the future is dropped. `review` sees keys that are about to be used, and what is in use still.
    ///
    /// Content is compared, not times: nobody announces a change, and several may have one time.
    pub async fn follow<R, F>(&self, path: PathBuf, review: R)
    where
        R: Fn(Candidate) -> F,
        F: Future<Output = Candidate>,
    {
        // What was refused for good; only other content is tried again.
        let mut refused: Option<String> = None;
        // What was refused last, for whatever reason; it is told once.
        let mut told: Option<String> = None;
        loop {
            tokio::time::sleep(self.pace().look).await;
            let (content, hash) = look(&path).await;
            if hash == self.mark().keys.hash {
                (refused, told) = (None, None);
                continue;
            }
            if refused.as_ref() == Some(&hash) {
                continue;
            }
            match self.try_content(&path, content).await {
                Ok(candidate) => {
                    let generation = self.install(review(candidate).await);
                    self.metrics().reloaded(true);
                    tracing::info!(path = %path.display(), generation, "the encryption configuration was read again");
                }
                Err(error) => {
                    self.metrics().reloaded(false);
                    if told.as_ref() != Some(&hash) {
                        tracing::error!(path = %path.display(), %error, "the new encryption configuration is refused");
                        told = Some(hash.clone());
                    }
                    // A key service may come; a file that says something wrong goes on saying it.
                    match error {
                        Refused::Config(_) => refused = Some(hash),
                        Refused::Unwell(_) => tokio::time::sleep(self.pace().retry).await,
                    }
                }
            }
        }
    }

    async fn try_content(&self, path: &Path, content: Result<Text, ConfigError>) -> Result<Candidate, Refused> {
        let config = Config::parse(&path.display().to_string(), &content?, true)?;
        self.prepare(&config).await
    }
}

type Text = Zeroizing<Vec<u8>>;

/// The content and its hash; of an error, what it says.
async fn look(path: &Path) -> (Result<Text, ConfigError>, String) {
    let file = path.to_owned();
    let read = tokio::task::spawn_blocking(move || config::read(&file)).await;
    let content = read.unwrap_or_else(|why| {
        Err(ConfigError::Read { path: path.display().to_string(), why: std::io::Error::other(why) })
    });
    let hash = match &content {
        Ok(text) => config::hash(text),
        Err(error) => error.to_string(),
    };
    (content, hash)
}
