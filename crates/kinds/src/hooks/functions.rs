//! The hooks by the names that the facts use.

use pawl_rules::{CheckHook, FillHook, KeepHook, UpdateHook, WarnHook};

use super::{
    admissionregistration, apps, autoscaling, batch, certificates, cluster, config, events, flowcontrol, identity,
    migration, network, pods, quota, registration, resource, service, storage, warnings,
};

macro_rules! table {
    ($(#[$about:meta])* $find:ident, $hook:ty, $($module:ident: $($name:ident)*;)*) => {
        $(#[$about])*
        pub(crate) fn $find(name: &str) -> Option<$hook> {
            Some(match name {
                $($(stringify!($name) => $module::$name,)*)*
                _ => return None,
            })
        }

        #[cfg(test)]
        mod $find {
            pub(super) const NAMES: &[&str] = &[$($(stringify!($name),)*)*];
        }
    };
}

table! {
    /// A hook that fills in.
    fill, FillHook,
    apps: claim_template_kinds daemon_set_first_generation;
    batch: job_generated_selector job_labels;
    cluster: namespace_finalizer namespace_name_label node_pod_range;
    config: secret_fold_string_data;
    identity: service_account_secret_names;
    network: endpoint_slice_drop_topology network_policy_types;
    pods: container_image_pull_policy image_volume_pull_policy pod_app_armor_fields pod_grace_not_negative
        pod_host_network_defaults pod_initial_status pod_label_keys pod_level_defaults pod_overhead_rounded
        pod_requests_from_limits pod_service_account pod_status_ips resources_rounded volume_source;
    quota: limit_range_defaults;
    registration: api_service_available;
    resource: device_mapping_multipliers;
    service: service_client_ip_timeout service_cluster_ips service_ip_families service_ip_modes;
    storage: claim_data_source_fields claim_protection volume_protection;
}

table! {
    /// A hook that keeps.
    keep, KeepHook,
    apps: daemon_set_next_generation daemon_set_same_generation;
    certificates: csr_condition_times csr_status_set;
    cluster: lease_drop_gated;
    config: secret_keep_type;
    identity: service_account_keep_secret_names;
    network: endpoint_slice_keep_topology;
    pods: pod_keep_but_ephemeral pod_keep_but_resources pod_status_kept;
    service: service_drop_type_fields service_keep_allocated;
    storage: claim_data_source_update volume_phase_transition;
}

table! {
    /// A hook that checks.
    check, CheckHook,
    admissionregistration: audit_annotations cel_identifier match_conditions policy_expressions webhook_expressions mutating_binding_operations
        mutating_operations mutation_other_patch param_kind policy_type_checking rule_resource_names rule_resources
        validation_actions validation_message webhook_client webhook_review_versions;
    apps: daemon_set_moves revision_data_object rolling_update_moves stateful_set_unavailable
        statefulset_claim_names statefulset_template_annotations;
    autoscaling: container_metric_resource described_object_version metric_sources metrics_for_scale_to_zero
        scale_target_version;
    batch: cron_job_name cron_schedule cron_time_zone failure_rule_container failure_rule_exit_codes
        failure_rule_fail_index job_generated_labels job_index_limits job_pod_hostname job_uncounted_pods
        success_rule;
    certificates: csr_certificate csr_conditions csr_request csr_signer_name csr_usages;
    cluster: namespace_finalizers namespace_finalizers_each namespace_phase node_declared_features node_pod_ranges
        node_resources node_taints priority_class_value runtime_class_overhead;
    config: config_map_keys config_map_size secret_required_keys secret_size;
    events: event_core event_strict event_strict_legacy;
    flowcontrol: flow_conditions flow_namespaces flow_schema_first flow_schema_fixed flow_subject flow_urls
        flow_verbs priority_level_exempt_name priority_level_fixed queuing_hand_size;
    identity: aggregation_selectors policy_rule_cluster policy_rule_namespaced review_attributes review_local
        review_metadata review_selectors review_subject subject_by_kind;
    migration: migration_resource migration_version;
    network: endpoint_slice_endpoints endpoint_slice_ports endpoint_subset_addresses ingress_backend
        ingress_class_annotation ingress_host ingress_path ingress_status ingress_target ingress_tls_hosts
        network_policy_ip_block network_policy_peer_kind network_policy_port network_policy_type_names
        service_cidr_ranges;
    pods: app_armor_local_profile container_env_from container_privileges container_proc_mount
        container_resize_policy container_resources container_volume_devices container_volume_mounts env_field_path
        env_var_sources flex_options init_container_resize_policy label_keys_of_term pod_annotations
        pod_claims_of_volumes pod_dns_config pod_env_file_volumes pod_ephemeral_containers pod_host_network_ports
        pod_host_ports pod_host_process pod_host_users pod_init_containers pod_level_resources pod_os pod_overhead
        pod_profiles pod_resource_claims pod_scheduling_gates pod_shared_processes pod_spread_constraints
        pod_status_conditions pod_sysctls pod_token_volumes projected_paths projection_count quobyte_registry
        resource_divisor sleep_within_grace spread_min_domains template_annotations template_profiles
        volume_derived_names volume_field_path windows_options;
    quota: limit_range_item limit_range_type quota_hard quota_scope_selector quota_scopes quota_status;
    registration: api_service_conditions api_service_name api_service_spec;
    resource: claim_device_status claim_reserved_for device_allocation_mode device_class_extended_resource
        device_constraint_attribute device_request_kind device_request_references device_selector_expression device_requests opaque_parameters
        slice_counters slice_devices slice_node_fields slice_unchanged_fields;
    service: service_cluster_ip_fields service_external_ips service_external_traffic service_port_numbers
        service_shape service_source_ranges service_status_ingress service_topology_annotations;
    storage: access_modes attachment_source attachment_status claim_data_sources claim_request
        claim_status_resources class_parameters class_topologies driver_lifecycle_modes driver_token_requests
        iscsi_initiator iscsi_iqn iscsi_portal_length node_driver_topology_keys volume_capacity volume_local_affinity
        volume_mount_options volume_recycle_root;
}

table! {
    /// A hook that checks a change.
    update, UpdateHook,
    batch: job_completions job_status_changes job_template;
    certificates: csr_approval_update csr_status_update csr_update;
    cluster: node_addresses node_pod_ranges_update node_resources_again node_taints_again;
    events: event_strict_update;
    identity: role_ref_update;
    migration: migration_spec_update migration_status_update;
    network: ip_address_parent service_cidr_ranges_update;
    pods: pod_annotation_changes pod_ephemeral_changes pod_resize pod_spec_changes pod_status_changes;
    quota: quota_scopes_update;
    resource: claim_allocation_update claim_devices_update claim_reserved_for_update;
    service: service_cluster_ips_update service_health_port_update service_ip_families_update
        service_load_balancer_class_update;
    storage: attachment_spec_update claim_spec_update node_drivers_update volume_source_update;
}

table! {
    /// A hook that warns.
    warn, WarnHook,
    batch: cron_job_warnings job_warnings;
    pods: named_template_warnings pod_status_warnings pod_template_warnings pod_warnings template_warnings;
    warnings: capacity_topology_labels claim_fractions class_topology_labels policy_networks runtime_class_labels secret_key_pair
        volume_affinity_labels;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hook_is_called_by_the_facts() {
        let facts = crate::facts::text().rules.concat();
        let names = [fill::NAMES, keep::NAMES, check::NAMES, update::NAMES, warn::NAMES].concat();
        let called = |name: &str| facts.lines().any(|line| line.split_whitespace().any(|word| word == name));
        let idle: Vec<&str> = names.into_iter().filter(|name| !called(name)).collect();
        assert!(idle.is_empty(), "{idle:?}");
    }
}
