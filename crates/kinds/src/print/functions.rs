//! The functions that `columns.facts` calls by name.

use serde_json::Value;

use super::{cluster, network, pods, storage, workloads};

/// Gives one cell of an object; the second argument is now, in seconds since 1970.
pub(super) type CellFunction = fn(&Value, i64) -> Value;

/// Gives several cells of an object.
pub(super) type RowFunction = fn(&Value, i64) -> Vec<Value>;

pub(super) fn cell(name: &str) -> Option<CellFunction> {
    let function: CellFunction = match name {
        "api_service_available" => cluster::api_service_available,
        "autoscaler_targets" => workloads::autoscaler_targets,
        "claim_access_modes" => storage::claim_access_modes,
        "controller" => workloads::controller,
        "endpoints" => network::endpoints,
        "ingress_hosts" => network::ingress_hosts,
        "ip_address_parent" => network::ip_address_parent,
        "job_completions" => workloads::job_completions,
        "job_duration" => workloads::job_duration,
        "job_status" => workloads::job_status,
        "load_balancer_addresses" => network::load_balancer_addresses,
        "migration_status" => cluster::migration_status,
        "node_roles" => cluster::node_roles,
        "node_status" => cluster::node_status,
        "pod_readiness_gates" => pods::readiness_gates,
        "policy_parameter" => cluster::policy_parameter,
        "service_external_ip" => network::service_external_ip,
        "service_ports" => network::service_ports,
        "signing_request_condition" => cluster::signing_request_condition,
        "slice_endpoints" => network::slice_endpoints,
        "slice_ports" => network::slice_ports,
        "volume_access_modes" => storage::volume_access_modes,
        _ => return None,
    };
    Some(function)
}

pub(super) fn row(name: &str) -> Option<RowFunction> {
    let function: RowFunction = match name {
        "event_summary" => cluster::event_summary,
        "pod_summary" => pods::summary,
        "quota_usage" => cluster::quota_usage,
        "subjects" => cluster::subjects,
        _ => return None,
    };
    Some(function)
}
