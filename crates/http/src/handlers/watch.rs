//! GET of a collection with `watch`: a stream of events.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, stream};
use http::Response;
use pawl_meta::Status;
use pawl_registry::{Registry, Served, WatchItem, Watcher};
use tokio::time::Instant;

use crate::api::{Api, Call};
use crate::audit::Trail;
use crate::body::Body;
use crate::health::Stopping;
use crate::metrics::{InFlight, Labels};
use crate::negotiation::{Form, Media};
use crate::options::ListOptions;
use crate::render::{IncludeObject, WatchRenderer};
use crate::respond;
use crate::websocket::{self, Messages};

/// The media types of streams.
const STREAMS: &str = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// Nobody watches for longer, whatever they say: times beyond what a clock can tell must not be asked of one.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

pub(crate) async fn answer(api: &Api, served: &Arc<Served>, call: &Call) -> Result<Response<Body>, Status> {
    let accepted = call.accepted;
    if accepted.media == Media::Yaml {
        return Err(Status::not_acceptable(format!("only the following media types are accepted: {STREAMS}")));
    }
    let options = ListOptions::read(call, served, true)?;
    let timeout = match options.timeout_seconds {
        Some(seconds) => Duration::from_secs(seconds),
        // Spread over a while, so that watches do not all come back at once.
        None => api.limits.min_watch_timeout.min(LONGEST).mul_f64(1.0 + fraction()),
    };
    if accepted.form == Form::Table {
        IncludeObject::check(call.query.get("includeObject"))?;
    }
    let include = IncludeObject::parse(call.query.get("includeObject"));
    let renderer = WatchRenderer::new(Arc::clone(served), accepted, include);
    let content_type = renderer.content_type();
    let source = match api.registry.watch(served, options.watch_request()).await {
        Ok(watcher) => Source::Watcher(watcher),
        // A version that is gone, and objects that cannot be read, are told on the stream.
        Err(status) if status.code == 410 || status.reason == "StorageReadError" => Source::Error(Some(status)),
        Err(status) => return Err(status),
    };
    let labels = Labels::of(&call.target, &call.info);
    let (counter, sizes) = api.metrics.watch_events(&labels);
    let state = WatchState {
        source,
        renderer,
        definition: served.resource.facts.custom.then(|| Definition::of(api)),
        over: Box::pin(over(Instant::now() + timeout.min(LONGEST), api.health.stopping())),
        counter,
        sizes,
        _in_flight: api.metrics.start(&call.info, &labels),
        _trail: call.trail.clone(),
    };
    let events = stream::unfold(state, next);
    match websocket::wanted(call)? {
        Some(offer) => Ok(offer.accept(Messages::of(accepted.media), Box::pin(events))),
        None => Ok(respond::with(200, content_type, Body::Stream(Box::pin(events)))),
    }
}

struct WatchState {
    source: Source,
    renderer: WatchRenderer,
    /// Of what users defined: what it is may change while it is watched.
    definition: Option<Definition>,
    /// Comes when the watch is over. Made once: to set a clock anew for each event costs more than to look at it.
    over: BoxFuture<'static, ()>,
    counter: prometheus::IntCounter,
    sizes: prometheus::Histogram,
    _in_flight: InFlight,
    /// The request is complete when the stream is.
    _trail: Option<Arc<Trail>>,
}

enum Source {
    Watcher(Watcher),
    Error(Option<Status>),
}

/// What is served of a resource that users defined.
struct Definition {
    registry: Arc<Registry>,
    changes: tokio::sync::watch::Receiver<()>,
    /// The resource is gone: what happened to its last objects is still told.
    is_gone: bool,
}

impl Definition {
    fn of(api: &Api) -> Self {
        let (registry, changes) = (Arc::clone(&api.registry), api.registry.table_changes());
        Self { registry, changes, is_gone: false }
    }

    /// Returns when what is served changes.
    async fn changed(definition: &mut Option<Self>) {
        let Some(definition) = definition.as_mut().filter(|definition| !definition.is_gone) else {
            return std::future::pending().await;
        };
        if definition.changes.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// Looks at what is served now.
    fn look(&mut self, renderer: &mut WatchRenderer) {
        match self.registry.current(renderer.served()) {
            Some(served) => renderer.follow(served),
            None => self.is_gone = true,
        }
    }
}

/// The next piece of the stream; `None` ends it cleanly: at its time, when the server stops, or when what is watched is no
/// longer served.
async fn next(mut state: WatchState) -> Option<(Bytes, WatchState)> {
    let items = loop {
        break match &mut state.source {
            Source::Error(status) => vec![WatchItem::Error(Box::new(status.take()?))],
            Source::Watcher(watcher) if state.definition.as_ref().is_some_and(|definition| definition.is_gone) => {
                watcher.next().now_or_never()?
            }
            Source::Watcher(watcher) => tokio::select! {
                biased;
                () = Definition::changed(&mut state.definition) => {
                    if let Some(definition) = &mut state.definition {
                        definition.look(&mut state.renderer);
                    }
                    continue;
                }
                items = watcher.next() => items,
                () = &mut state.over => return None,
            },
        };
    };
    if items.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(items.iter().map(room).sum());
    for item in &items {
        let before = out.len();
        state.renderer.write(&mut out, item);
        state.sizes.observe((out.len() - before) as f64);
    }
    state.counter.inc_by(items.len() as u64);
    Some((Bytes::from(out), state))
}

/// What an item may take: a little more than its object, so that nothing is moved while it is written.
fn room(item: &WatchItem) -> usize {
    const HEAD: usize = 256;
    match item {
        WatchItem::Added(entry) | WatchItem::Modified(entry) | WatchItem::Deleted(entry) => HEAD + entry.weight(),
        WatchItem::Bookmark { .. } | WatchItem::Error(_) => 2 * HEAD,
    }
}

/// Waits for the time at which a watch ends, or for the server to stop.
async fn over(ends: Instant, mut stop: Stopping) {
    tokio::select! {
        biased;
        () = tokio::time::sleep_until(ends) => {}
        () = stop.wait() => {}
    }
}

/// A fraction in 0..1 that differs from request to request.
fn fraction() -> f64 {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.subsec_nanos());
    f64::from(nanos % 1000) / 1000.0
}
