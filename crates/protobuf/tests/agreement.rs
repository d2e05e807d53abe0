//! Byte-for-byte agreement with other implementations.
//!
//! The types of the crate `k8s-pb` read what the codec wrote and write it again: since Go's way sets every field that has a
//! value, what they write are the same bytes. And they read objects in their own sparse way, which the codec reads as the
//! same object.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by them"
)]

#[path = "builtin/mod.rs"]
mod builtin;

use builtin::Generator;
use k8s_pb::api::{
    admissionregistration, apps, authentication, authorization, autoscaling, batch, certificates, coordination, core,
    discovery, events, flowcontrol, networking, node, policy, rbac, resource, scheduling, storage,
};
use k8s_pb::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_pb::apimachinery::pkg::apis::meta;
use k8s_pb::kube_aggregator::pkg::apis::apiregistration;
use pawl_protobuf::{Codec, frame, open, seal};
use pawl_schema::decode_value;
use prost::Message;
use serde_json::{Value, json};

fn check<T: Message + Default>(codec: &Codec<'_>, name: &str) {
    let schema = pawl_kinds::schema();
    let id = schema.named(name).unwrap_or_else(|| panic!("no type {name}"));
    for seed in 0..12 {
        let object = Generator::published(schema, seed).object(id, 0);
        let canonical = decode_value(schema, id, Value::Object(object)).unwrap();
        let mut ours = Vec::new();
        codec.encode(id, &canonical.object, &mut ours).unwrap_or_else(|error| panic!("{name}: {error}"));
        let theirs = T::decode(&*ours).unwrap_or_else(|error| panic!("{name}: {error}"));
        let again = theirs.encode_to_vec();
        if again != ours {
            let at = ours.iter().zip(&again).position(|(a, b)| a != b).unwrap_or(ours.len().min(again.len()));
            panic!("{name}, seed {seed}: other bytes from {at} on:\n{ours:02x?}\n{again:02x?}");
        }
        let decoded = codec.decode(id, &again).unwrap();
        let mut rewritten = Vec::new();
        codec.encode(id, &decoded.object, &mut rewritten).unwrap();
        assert_eq!(rewritten, again, "{name}, seed {seed}");
    }
}

macro_rules! agree {
    ($($name:literal => $type:ty,)*) => {
        let codec = builtin::codec();
        $(check::<$type>(&codec, $name);)*
    };
}

#[test]
fn the_published_types_write_the_same_bytes() {
    agree! {
        "core.v1.Binding" => core::v1::Binding,
        "core.v1.ComponentStatus" => core::v1::ComponentStatus,
        "core.v1.ConfigMap" => core::v1::ConfigMap,
        "core.v1.ConfigMapList" => core::v1::ConfigMapList,
        "core.v1.Endpoints" => core::v1::Endpoints,
        "core.v1.Event" => core::v1::Event,
        "core.v1.EventList" => core::v1::EventList,
        "core.v1.LimitRange" => core::v1::LimitRange,
        "core.v1.Namespace" => core::v1::Namespace,
        "core.v1.NamespaceList" => core::v1::NamespaceList,
        "core.v1.Node" => core::v1::Node,
        "core.v1.NodeList" => core::v1::NodeList,
        "core.v1.PersistentVolume" => core::v1::PersistentVolume,
        "core.v1.PersistentVolumeClaim" => core::v1::PersistentVolumeClaim,
        "core.v1.Pod" => core::v1::Pod,
        "core.v1.PodList" => core::v1::PodList,
        "core.v1.PodTemplate" => core::v1::PodTemplate,
        "core.v1.ReplicationController" => core::v1::ReplicationController,
        "core.v1.ResourceQuota" => core::v1::ResourceQuota,
        "core.v1.Secret" => core::v1::Secret,
        "core.v1.SecretList" => core::v1::SecretList,
        "core.v1.Service" => core::v1::Service,
        "core.v1.ServiceAccount" => core::v1::ServiceAccount,
        "core.v1.ServiceList" => core::v1::ServiceList,
        "admissionregistration.v1.MutatingWebhookConfiguration" => admissionregistration::v1::MutatingWebhookConfiguration,
        "admissionregistration.v1.ValidatingAdmissionPolicy" => admissionregistration::v1::ValidatingAdmissionPolicy,
        "admissionregistration.v1.ValidatingAdmissionPolicyBinding" => admissionregistration::v1::ValidatingAdmissionPolicyBinding,
        "admissionregistration.v1.ValidatingWebhookConfiguration" => admissionregistration::v1::ValidatingWebhookConfiguration,
        "apiextensions.v1.CustomResourceDefinition" => apiextensions::v1::CustomResourceDefinition,
        "apiextensions.v1.CustomResourceDefinitionList" => apiextensions::v1::CustomResourceDefinitionList,
        "apiextensions.v1.JSONSchemaProps" => apiextensions::v1::JsonSchemaProps,
        "apiregistration.v1.APIService" => apiregistration::v1::APIService,
        "apps.v1.ControllerRevision" => apps::v1::ControllerRevision,
        "apps.v1.DaemonSet" => apps::v1::DaemonSet,
        "apps.v1.Deployment" => apps::v1::Deployment,
        "apps.v1.DeploymentList" => apps::v1::DeploymentList,
        "apps.v1.ReplicaSet" => apps::v1::ReplicaSet,
        "apps.v1.StatefulSet" => apps::v1::StatefulSet,
        "authentication.v1.SelfSubjectReview" => authentication::v1::SelfSubjectReview,
        "authentication.v1.TokenRequest" => authentication::v1::TokenRequest,
        "authentication.v1.TokenReview" => authentication::v1::TokenReview,
        "authorization.v1.LocalSubjectAccessReview" => authorization::v1::LocalSubjectAccessReview,
        "authorization.v1.SelfSubjectAccessReview" => authorization::v1::SelfSubjectAccessReview,
        "authorization.v1.SelfSubjectRulesReview" => authorization::v1::SelfSubjectRulesReview,
        "authorization.v1.SubjectAccessReview" => authorization::v1::SubjectAccessReview,
        "autoscaling.v1.HorizontalPodAutoscaler" => autoscaling::v1::HorizontalPodAutoscaler,
        "autoscaling.v1.Scale" => autoscaling::v1::Scale,
        "autoscaling.v2.HorizontalPodAutoscaler" => autoscaling::v2::HorizontalPodAutoscaler,
        "batch.v1.CronJob" => batch::v1::CronJob,
        "batch.v1.Job" => batch::v1::Job,
        "certificates.v1.CertificateSigningRequest" => certificates::v1::CertificateSigningRequest,
        "coordination.v1.Lease" => coordination::v1::Lease,
        "discovery.v1.EndpointSlice" => discovery::v1::EndpointSlice,
        "events.v1.Event" => events::v1::Event,
        "flowcontrol.v1.FlowSchema" => flowcontrol::v1::FlowSchema,
        "flowcontrol.v1.PriorityLevelConfiguration" => flowcontrol::v1::PriorityLevelConfiguration,
        "meta.v1.APIGroupList" => meta::v1::APIGroupList,
        "meta.v1.APIResourceList" => meta::v1::APIResourceList,
        "meta.v1.CreateOptions" => meta::v1::CreateOptions,
        "meta.v1.DeleteOptions" => meta::v1::DeleteOptions,
        "meta.v1.PartialObjectMetadata" => meta::v1::PartialObjectMetadata,
        "meta.v1.PartialObjectMetadataList" => meta::v1::PartialObjectMetadataList,
        "meta.v1.PatchOptions" => meta::v1::PatchOptions,
        "meta.v1.Status" => meta::v1::Status,
        "meta.v1.UpdateOptions" => meta::v1::UpdateOptions,
        "networking.v1.IPAddress" => networking::v1::IPAddress,
        "networking.v1.Ingress" => networking::v1::Ingress,
        "networking.v1.IngressClass" => networking::v1::IngressClass,
        "networking.v1.NetworkPolicy" => networking::v1::NetworkPolicy,
        "networking.v1.ServiceCIDR" => networking::v1::ServiceCIDR,
        "node.v1.RuntimeClass" => node::v1::RuntimeClass,
        "policy.v1.Eviction" => policy::v1::Eviction,
        "policy.v1.PodDisruptionBudget" => policy::v1::PodDisruptionBudget,
        "rbac.v1.ClusterRole" => rbac::v1::ClusterRole,
        "rbac.v1.ClusterRoleBinding" => rbac::v1::ClusterRoleBinding,
        "rbac.v1.Role" => rbac::v1::Role,
        "rbac.v1.RoleBinding" => rbac::v1::RoleBinding,
        "resource.v1.DeviceClass" => resource::v1::DeviceClass,
        "resource.v1.ResourceClaim" => resource::v1::ResourceClaim,
        "resource.v1.ResourceClaimTemplate" => resource::v1::ResourceClaimTemplate,
        "resource.v1.ResourceSlice" => resource::v1::ResourceSlice,
        "scheduling.v1.PriorityClass" => scheduling::v1::PriorityClass,
        "storage.v1.CSIDriver" => storage::v1::CSIDriver,
        "storage.v1.CSINode" => storage::v1::CSINode,
        "storage.v1.CSIStorageCapacity" => storage::v1::CSIStorageCapacity,
        "storage.v1.StorageClass" => storage::v1::StorageClass,
        "storage.v1.VolumeAttachment" => storage::v1::VolumeAttachment,
        "storage.v1.VolumeAttributesClass" => storage::v1::VolumeAttributesClass,
    }
}

#[test]
fn sparse_messages_are_the_same_objects() {
    let codec = builtin::codec();
    let pod = core::v1::Pod {
        metadata: Some(meta::v1::ObjectMeta { name: Some("p".to_owned()), ..Default::default() }),
        spec: Some(core::v1::PodSpec {
            containers: vec![core::v1::Container {
                name: Some("c".to_owned()),
                ports: vec![core::v1::ContainerPort { container_port: Some(80), ..Default::default() }],
                ..Default::default()
            }],
            host_network: Some(false),
            automount_service_account_token: Some(false),
            ..Default::default()
        }),
        ..Default::default()
    };
    let id = builtin::kind("v1", "Pod").unwrap();
    let decoded = codec.decode(id, &pod.encode_to_vec()).unwrap();
    let expected = json!({
        "metadata": {"name": "p"},
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [{"name": "c", "ports": [{"containerPort": 80}], "resources": {}}],
        },
        "status": {},
    });
    assert_eq!(Value::Object(decoded.object), expected);
}

#[test]
fn envelopes_and_frames_are_the_published_ones() {
    use k8s_pb::apimachinery::pkg::runtime::{TypeMeta, Unknown};
    let unknown = Unknown {
        type_meta: Some(TypeMeta { api_version: Some("v1".to_owned()), kind: Some("Pod".to_owned()) }),
        raw: Some(vec![1; 300]),
        content_encoding: Some(String::new()),
        content_type: Some(String::new()),
    };
    let sealed = seal("v1", "Pod", &[1; 300]);
    assert_eq!(sealed.strip_prefix(b"k8s\0"), Some(&*unknown.encode_to_vec()));
    assert_eq!(open(&sealed).unwrap().raw, [1; 300]);

    let mut stream = Vec::new();
    frame("MODIFIED", &sealed, &mut stream).unwrap();
    let event = meta::v1::WatchEvent::decode(&stream[4..]).unwrap();
    assert_eq!(event.r#type.as_deref(), Some("MODIFIED"));
    assert_eq!(event.object.unwrap().raw, Some(sealed));
}
