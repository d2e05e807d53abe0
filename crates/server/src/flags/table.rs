//! Every flag that is known, and what becomes of it.

/// What a flag does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Used,
    /// Upstream has it; here it does nothing and that is safe.
    Inert,
    /// Upstream has it; ignoring it would leave a hole, so it ends the start.
    Refused(&'static str),
}

/// A flag: what it is called, what it is for, what it is when nobody says.
#[derive(Debug)]
pub struct Flag {
    pub name: &'static str,
    /// One letter for it; empty where it has none.
    pub short: &'static str,
    pub default: &'static str,
    pub about: &'static str,
    /// It may stand without a value.
    pub is_switch: bool,
    pub role: Role,
}

/// A flag with a value.
pub const fn used(name: &'static str, default: &'static str, about: &'static str) -> Flag {
    Flag { name, short: "", default, about, is_switch: false, role: Role::Used }
}

/// A flag that may stand alone.
pub const fn switch(name: &'static str, default: &'static str, about: &'static str) -> Flag {
    Flag { name, short: "", default, about, is_switch: true, role: Role::Used }
}

/// A flag that has a letter, too.
pub const fn lettered(short: &'static str, flag: Flag) -> Flag {
    Flag { short, ..flag }
}

const fn inert(name: &'static str) -> Flag {
    Flag { name, short: "", default: "", about: "", is_switch: false, role: Role::Inert }
}

const fn inert_switch(name: &'static str) -> Flag {
    Flag { name, short: "", default: "", about: "", is_switch: true, role: Role::Inert }
}

const fn refused(name: &'static str, why: &'static str) -> Flag {
    Flag { name, short: "", default: "", about: "", is_switch: false, role: Role::Refused(why) }
}

const fn refused_switch(name: &'static str, why: &'static str) -> Flag {
    Flag { is_switch: true, ..refused(name, why) }
}

pub const FLAGS: &[Flag] = &[
    used("advertise-address", "", "the address that the kubernetes service points to"),
    switch("allow-privileged", "true", "whether privileged containers may be created"),
    switch("anonymous-auth", "true", "whether requests without credentials count as system:anonymous"),
    used("api-audiences", "", "audiences that service-account tokens are for (default: the issuers)"),
    used("audit-log-maxage", "0", "days that rotated audit logs are kept"),
    used("audit-log-maxbackup", "0", "rotated audit logs that are kept"),
    used("audit-log-maxsize", "0", "megabytes at which the audit log is rotated"),
    used("audit-log-mode", "blocking", "how audit events are written: batch or blocking, by a queue with a limit"),
    used("audit-log-path", "", "where audit events are written; - is standard output"),
    used("audit-policy-file", "", "what is audited (audit.k8s.io/v1 Policy)"),
    used("authorization-mode", "RBAC", "who decides what may be done, in order: RBAC, AlwaysAllow, AlwaysDeny"),
    used("bind-address", "127.0.0.1", "the address to listen on"),
    used("cert-dir", "", "where serving certificates are looked for and kept (default: inside the data directory)"),
    used("client-ca-file", "", "who signs client certificates"),
    used("controllers", "*", "controllers to run: * for all, name or -name"),
    used("data-dir", "./pawl-data", "where everything is kept"),
    used("default-not-ready-toleration-seconds", "300", "how long pods stay on a node that is not ready"),
    used("default-unreachable-toleration-seconds", "300", "how long pods stay on a node that is not reached"),
    used("disable-admission-plugins", "", "admission plugins to switch off"),
    switch("disable-http2-serving", "false", "whether only HTTP/1.1 is spoken"),
    used("enable-admission-plugins", "", "admission plugins to switch on beyond the default ones"),
    used("encryption-provider-config", "", "how values are encrypted at rest (EncryptionConfiguration)"),
    switch(
        "encryption-provider-config-automatic-reload",
        "false",
        "whether the encryption configuration is read again when its file changes",
    ),
    switch(
        "ephemeral",
        "false",
        "keep nothing: a directory of its own that is deleted at exit, and no sync of the disk",
    ),
    used("etcd-cafile", "", "who signs the certificates of etcd"),
    used("etcd-certfile", "", "the certificate that is shown to etcd"),
    used("etcd-compaction-interval", "5m0s", "how long etcd keeps old versions; 0 leaves that to others"),
    used("etcd-healthcheck-timeout", "2s", "how long etcd may take to answer while it counts as well"),
    used("etcd-keyfile", "", "the key of --etcd-certfile"),
    used("etcd-prefix", "/registry", "what all keys in etcd begin with"),
    used("etcd-readycheck-timeout", "2s", "the same for readiness; the longer of the two counts"),
    used(
        "etcd-servers",
        "",
        "URLs of an etcd cluster to keep everything in, which other servers may share; or of a stand-in by `pawl assets`",
    ),
    used("event-ttl", "1h0m0s", "how long events are kept"),
    switch("exit-with-parent", "false", "stop when the process that started this one has ended"),
    used("feature-gates", "", "features to switch on or off: Name=true,Other=false"),
    used("history", "5m0s", "how long the store keeps old versions, for watches that resume"),
    used("logging-format", "text", "text or json"),
    used("max-mutating-requests-inflight", "200", "writes answered at once; more are told to try again"),
    used("max-requests-inflight", "400", "reads answered at once; more are told to try again"),
    used("min-request-timeout", "1800", "seconds that a watch lasts at least, if its client does not say"),
    used("quarantine-ttl", "168h0m0s", "how long what was deleted unread is kept and can be restored; 0 keeps nothing"),
    used("request-timeout", "1m0s", "how long a request may take"),
    used("secure-port", "6443", "the port to listen on; 0 takes a free one"),
    used("seed", "", "a file or directory of manifests that are applied before the server is ready"),
    switch("service-account-extend-token-expiration", "true", "whether tokens of pods outlive what was asked for"),
    used("service-account-issuer", "", "who issues service-account tokens"),
    used("service-account-key-file", "", "keys or certificates that verify service-account tokens"),
    used("service-account-max-token-expiration", "0", "the longest that service-account tokens may be asked for"),
    used("service-account-signing-key-file", "", "the key that signs service-account tokens"),
    used("service-cluster-ip-range", "10.0.0.0/24", "addresses of services"),
    used("service-node-port-range", "30000-32767", "ports of services on nodes"),
    used("tls-cert-file", "", "the serving certificate"),
    used("tls-min-version", "VersionTLS12", "the oldest TLS that is spoken: VersionTLS12 or VersionTLS13"),
    used("tls-private-key-file", "", "the key of the serving certificate"),
    used("tls-san", "", "further names and addresses for the certificate that the server makes for itself"),
    used("token-auth-file", "", "static bearer tokens: token,user,uid,\"group1,group2\""),
    switch("unsafe-no-fsync", "false", "acknowledge writes before they are on the disk"),
    used("v", "0", "how much is logged"),
    used("write-kubeconfig", "", "a file for the administrator's kubeconfig, written when the server is ready"),
    refused("admission-control", "use --enable-admission-plugins and --disable-admission-plugins"),
    refused("admission-control-config-file", "admission plugins with a configuration are not built"),
    refused("audit-webhook-config-file", "audit events are only written to a log"),
    refused("authentication-config", "only certificates, tokens and service accounts are known"),
    refused("authentication-token-webhook-config-file", "there is no webhook authenticator"),
    refused("authorization-config", "use --authorization-mode"),
    refused("authorization-policy-file", "there is no ABAC authorizer"),
    refused("authorization-webhook-config-file", "there is no webhook authorizer"),
    refused_switch("enable-bootstrap-token-auth", "there are no bootstrap tokens"),
    refused("oidc-issuer-url", "there is no OIDC authenticator"),
    refused("oidc-client-id", "there is no OIDC authenticator"),
    refused("oidc-ca-file", "there is no OIDC authenticator"),
    refused("oidc-groups-claim", "there is no OIDC authenticator"),
    refused("oidc-groups-prefix", "there is no OIDC authenticator"),
    refused("oidc-required-claim", "there is no OIDC authenticator"),
    refused("oidc-signing-algs", "there is no OIDC authenticator"),
    refused("oidc-username-claim", "there is no OIDC authenticator"),
    refused("oidc-username-prefix", "there is no OIDC authenticator"),
    refused("tls-sni-cert-key", "one serving certificate is all there is"),
    inert_switch("aggregator-reject-forwarding-redirect"),
    inert("allow-metric-labels"),
    inert("allow-metric-labels-manifest"),
    inert("apiserver-count"),
    inert("audit-log-batch-buffer-size"),
    inert("audit-log-batch-max-size"),
    inert("audit-log-batch-max-wait"),
    inert("audit-log-batch-throttle-burst"),
    inert_switch("audit-log-batch-throttle-enable"),
    inert("audit-log-batch-throttle-qps"),
    inert_switch("audit-log-compress"),
    inert("audit-log-format"),
    inert_switch("audit-log-truncate-enabled"),
    inert("audit-log-truncate-max-batch-size"),
    inert("audit-log-truncate-max-event-size"),
    inert("audit-log-version"),
    inert("audit-webhook-batch-buffer-size"),
    inert("audit-webhook-batch-initial-backoff"),
    inert("audit-webhook-batch-max-size"),
    inert("audit-webhook-batch-max-wait"),
    inert("audit-webhook-batch-throttle-burst"),
    inert_switch("audit-webhook-batch-throttle-enable"),
    inert("audit-webhook-batch-throttle-qps"),
    inert("audit-webhook-initial-backoff"),
    inert("audit-webhook-mode"),
    inert_switch("audit-webhook-truncate-enabled"),
    inert("audit-webhook-truncate-max-batch-size"),
    inert("audit-webhook-truncate-max-event-size"),
    inert("audit-webhook-version"),
    inert("authentication-token-webhook-cache-ttl"),
    inert("authentication-token-webhook-version"),
    inert("authorization-webhook-cache-authorized-ttl"),
    inert("authorization-webhook-cache-unauthorized-ttl"),
    inert("authorization-webhook-version"),
    inert_switch("contention-profiling"),
    inert("coordinated-leadership-lease-duration"),
    inert("coordinated-leadership-renew-deadline"),
    inert("coordinated-leadership-retry-period"),
    inert("cors-allowed-origins"),
    inert("debug-socket-path"),
    inert("default-watch-cache-size"),
    inert("delete-collection-workers"),
    inert("disabled-metrics"),
    inert("egress-selector-config-file"),
    inert("emulated-version"),
    inert_switch("emulation-forward-compatible"),
    inert_switch("enable-aggregator-routing"),
    inert_switch("enable-garbage-collector"),
    inert_switch("enable-logs-handler"),
    inert_switch("enable-priority-and-fairness"),
    inert("endpoint-reconciler-type"),
    inert("etcd-count-metric-poll-period"),
    inert("etcd-db-metric-poll-interval"),
    inert("etcd-servers-overrides"),
    inert("external-hostname"),
    inert("goaway-chance"),
    inert("http2-max-streams-per-connection"),
    inert("identity-lease-duration-seconds"),
    inert("identity-lease-renew-interval-seconds"),
    inert("kubelet-certificate-authority"),
    inert("kubelet-client-certificate"),
    inert("kubelet-client-key"),
    inert("kubelet-port"),
    inert("kubelet-preferred-address-types"),
    inert("kubelet-read-only-port"),
    inert("kubelet-timeout"),
    inert("kubernetes-service-node-port"),
    inert("lease-reuse-duration-seconds"),
    inert("livez-grace-period"),
    inert("log-flush-frequency"),
    inert("log-json-info-buffer-size"),
    inert_switch("log-json-split-stream"),
    inert("log-text-info-buffer-size"),
    inert_switch("log-text-split-stream"),
    inert("max-connection-bytes-per-sec"),
    inert("min-compatibility-version"),
    inert("peer-advertise-ip"),
    inert("peer-advertise-port"),
    inert("peer-ca-file"),
    inert_switch("permit-address-sharing"),
    inert_switch("permit-port-sharing"),
    inert_switch("profiling"),
    inert("proxy-client-cert-file"),
    inert("proxy-client-key-file"),
    inert("requestheader-allowed-names"),
    inert("requestheader-client-ca-file"),
    inert("requestheader-extra-headers-prefix"),
    inert("requestheader-group-headers"),
    inert("requestheader-uid-headers"),
    inert("requestheader-username-headers"),
    inert("runtime-config"),
    inert_switch("runtime-config-emulation-forward-compatible"),
    inert("service-account-jwks-uri"),
    inert_switch("service-account-lookup"),
    inert("service-account-signing-endpoint"),
    inert("show-hidden-metrics-for-version"),
    inert("shutdown-delay-duration"),
    inert_switch("shutdown-send-retry-after"),
    inert("shutdown-watch-termination-grace-period"),
    inert("storage-backend"),
    inert("storage-initialization-timeout"),
    inert("storage-media-type"),
    inert("strict-transport-security-directives"),
    inert("tls-cipher-suites"),
    inert("tls-curve-preferences"),
    inert("tracing-config-file"),
    inert("vmodule"),
    inert_switch("watch-cache"),
    inert("watch-cache-sizes"),
];
