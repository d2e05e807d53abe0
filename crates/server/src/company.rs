//! What a server does beside answering, alone or in the company of others that share its store.
//!
//! Owns who runs the controllers. A server that is alone runs all of them. Among several one leads and runs them; each serves
//! custom resources by itself, because each must answer for them, and each is listed as a server.

use std::sync::Arc;
use std::time::Duration;

use pawl_controllers::{Controllers, Handle, Leadership, Options};
use pawl_http::Api;
use pawl_registry::Registry;

use crate::bootstrap::Placeholders;
use crate::endpoints::Listing;
use crate::{Error, Settings, run};

/// How long a server takes to leave in order. The Lease of one that does not runs out after as long.
const FAREWELL: Duration = Duration::from_secs(15);

pub struct Company {
    /// What runs on every server.
    own: Handle,
    leadership: Option<Leadership>,
    listing: Option<Listing>,
}

impl Company {
    pub fn start(
        registry: &Arc<Registry>,
        settings: &Settings,
        options: Options,
        api: &Arc<Api>,
    ) -> Result<Self, Error> {
        let start = |selection: &str, options| {
            Controllers::start(Arc::clone(registry), selection, options).map_err(Error::Flag)
        };
        if !registry.storage().kv().is_shared() {
            let own = start(&settings.controllers, options)?;
            run::measure(api, own.collectors());
            return Ok(Self { own, leadership: None, listing: None });
        }
        // What is wrong with the selection is told now, whoever leads.
        Controllers::check(&settings.controllers).map_err(Error::Flag)?;
        let everywhere = Options { catalogue: options.catalogue.clone(), ..Options::default() };
        let own = start("-*", everywhere)?;
        let identity = format!("{}_{}", settings.advertised(), random());
        let (led, selection) = (Arc::clone(registry), settings.controllers.clone());
        let api = Arc::clone(api);
        let begin = move |fence| {
            let options = Options { catalogue: None, fence: Some(fence), ..options.clone() };
            let handle = Controllers::start(Arc::clone(&led), &selection, options);
            handle.inspect(|handle| run::measure(&api, handle.collectors()))
        };
        let leadership = Some(Leadership::start(Arc::clone(registry), identity, begin));
        Ok(Self { own, leadership, listing: None })
    }

    /// Lists this server among those that answer, now that it does.
    pub fn list(&mut self, registry: &Arc<Registry>, placeholders: Placeholders) {
        if registry.storage().kv().is_shared() {
            self.listing = Listing::start(registry, placeholders);
        }
    }

    /// Ends everything; another server takes over at once, unless the store is away: then it learns it by itself.
    pub async fn stop(self) {
        let farewell = async {
            if let Some(listing) = self.listing {
                listing.stop().await;
            }
            if let Some(leadership) = self.leadership {
                leadership.stop().await;
            }
            self.own.stop().await;
        };
        if tokio::time::timeout(FAREWELL, farewell).await.is_err() {
            tracing::warn!("the store did not answer: this server ends without telling the others");
        }
    }
}

/// Tells servers of one address apart.
fn random() -> String {
    use std::hash::{BuildHasher, RandomState};
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}
