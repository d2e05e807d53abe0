//! How a server is found: by kubeconfigs, as kubectl finds it.

use std::path::PathBuf;

use http::header::{HeaderValue, USER_AGENT};
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::server::Server;

/// What was said of the server.
#[derive(Clone, Debug, Default)]
pub struct Connect {
    /// Without one: those that KUBECONFIG names, or the one in the home directory, or as a Pod finds its own server.
    pub kubeconfig: Option<PathBuf>,
    pub context: Option<String>,
    /// Without one: that of the context.
    pub namespace: Option<String>,
}

/// A client of the server that is meant.
pub async fn connect(how: &Connect) -> Result<Server, String> {
    let options = KubeConfigOptions { context: how.context.clone(), ..KubeConfigOptions::default() };
    let mut config = match &how.kubeconfig {
        Some(path) => {
            let read = Kubeconfig::read_from(path).map_err(|why| format!("{}: {why}", path.display()))?;
            let config = kube::Config::from_custom_kubeconfig(read, &options).await;
            config.map_err(|why| format!("{}: {why}", path.display()))?
        }
        // Somebody who names a context means a file.
        None if how.context.is_some() => {
            kube::Config::from_kubeconfig(&options).await.map_err(|why| format!("the kubeconfig: {why}"))?
        }
        None => kube::Config::infer().await.map_err(|why| format!("no server is known: {why}"))?,
    };
    // Who changes something by these commands is told by their name.
    config.headers.push((USER_AGENT, HeaderValue::from_static(concat!("pawl/", env!("CARGO_PKG_VERSION")))));
    let namespace = how.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
    let place = config.cluster_url.to_string();
    let client = kube::Client::try_from(config).map_err(|why| why.to_string())?;
    Ok(Server::new(client, place, namespace))
}
