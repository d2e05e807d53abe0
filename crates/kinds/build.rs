//! Takes the descriptions of built-in types from the crate `k8s-openapi`, so that no prose is kept in the repository.
//!
//! The types are needed only here: the program that is built does not contain them.

#![allow(clippy::print_stdout, reason = "a build script speaks to cargo through its output")]

use std::path::Path;
use std::{env, fs, io};

use k8s_openapi::apimachinery::pkg::{apis::meta, runtime::RawExtension};
use k8s_openapi::schemars::{JsonSchema, SchemaGenerator};

/// Calls `$of` with every named type.
macro_rules! types {
    ($of:ident, $generator:ident: $($($module:ident)::+: $($name:ident),+;)+) => {
        $({
            use k8s_openapi::$($module)::+::{$($name),+};
            $($of::<$name>(&mut $generator);)+
        })+
    };
}

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut generator = SchemaGenerator::default();
    // Every kind, and what requests and answers are made of; their schemas name all other types.
    types! { ask, generator:
        api::core::v1:
            Binding, ComponentStatus, ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume,
            PersistentVolumeClaim, Pod, PodTemplate, ReplicationController, ResourceQuota, Secret, Service,
            ServiceAccount;
        api::policy::v1: Eviction, PodDisruptionBudget;
        api::autoscaling::v1: HorizontalPodAutoscaler, Scale;
        api::authentication::v1: SelfSubjectReview, TokenRequest, TokenReview;
        kube_aggregator::pkg::apis::apiregistration::v1: APIService;
        api::apps::v1: ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet;
        api::events::v1: Event;
        api::authorization::v1:
            LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview;
        api::autoscaling::v2: HorizontalPodAutoscaler;
        api::batch::v1: CronJob, Job;
        api::certificates::v1: CertificateSigningRequest;
        api::networking::v1: IPAddress, Ingress, IngressClass, NetworkPolicy, ServiceCIDR;
        api::rbac::v1: ClusterRole, ClusterRoleBinding, Role, RoleBinding;
        api::storage::v1:
            CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass;
        api::admissionregistration::v1:
            MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration,
            ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration;
        apiextensions_apiserver::pkg::apis::apiextensions::v1: CustomResourceDefinition;
        api::scheduling::v1: PriorityClass;
        api::coordination::v1: Lease;
        api::node::v1: RuntimeClass;
        api::discovery::v1: EndpointSlice;
        api::resource::v1: DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice;
        api::flowcontrol::v1: FlowSchema, PriorityLevelConfiguration;
        api::storagemigration::v1beta1: StorageVersionMigration;
        apimachinery::pkg::apis::meta::v1:
            APIGroup, APIGroupList, APIResourceList, APIVersions, DeleteOptions, LabelSelector, ListMeta, ObjectMeta, Patch,
            Status;
        apimachinery::pkg::version: Info;
    }
    ask::<meta::v1::WatchEvent<RawExtension>>(&mut generator);
    let mut text = String::new();
    for (name, schema) in generator.definitions() {
        describe(&mut text, name, schema);
    }
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    let packed = miniz_oxide::deflate::compress_to_vec(text.as_bytes(), 9);
    fs::write(Path::new(&out).join("descriptions.deflate"), packed)
}

fn ask<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// A type and its fields, each a name and a text, with the separators that `descriptions.rs` knows.
fn describe(text: &mut String, name: &str, schema: &serde_json::Value) {
    text.extend(["\u{1d}", name, "\u{1f}", schema["description"].as_str().unwrap_or_default()]);
    for (field, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(description) = property["description"].as_str() {
            text.extend(["\u{1e}", field, "\u{1f}", description]);
        }
    }
}
