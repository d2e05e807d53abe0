//! The types of the crate `k8s-pb`, by the names that the schema has for them.

use k8s_pb::api::{
    admissionregistration, apidiscovery, apps, authentication, authorization, autoscaling, batch, certificates,
    coordination, core, discovery, events, flowcontrol, networking, node, policy, rbac, resource, scheduling, storage,
};
use k8s_pb::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_pb::apimachinery::pkg::apis::meta;
use k8s_pb::kube_aggregator::pkg::apis::apiregistration;
use prost::{DecodeError, Message};

/// Reads a message into a published type, and writes it again.
pub type Rewrite = fn(&[u8]) -> Result<Vec<u8>, DecodeError>;

pub fn rewrite<T: Message + Default>(message: &[u8]) -> Result<Vec<u8>, DecodeError> {
    Ok(T::decode(message)?.encode_to_vec())
}

macro_rules! published {
    ($($package:ident.$version:ident: $($kind:ident)*;)*) => {
        &[$($((
            concat!(stringify!($package), ".", stringify!($version), ".", stringify!($kind)),
            rewrite::<$package::$version::$kind>,
        ),)*)*]
    };
}

/// Objects, lists and what the API itself says.
pub const PUBLISHED: &[(&str, Rewrite)] = published! {
    core.v1: Binding ComponentStatus ComponentStatusList ConfigMap ConfigMapList Endpoints EndpointsList Event
        EventList LimitRange LimitRangeList Namespace NamespaceList Node NodeList PersistentVolume
        PersistentVolumeClaim PersistentVolumeClaimList PersistentVolumeList Pod PodList PodTemplate
        PodTemplateList ReplicationController ReplicationControllerList ResourceQuota ResourceQuotaList Secret
        SecretList Service ServiceAccount ServiceAccountList ServiceList;
    admissionregistration.v1: MutatingWebhookConfiguration MutatingWebhookConfigurationList
        ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingAdmissionPolicyBindingList
        ValidatingAdmissionPolicyList ValidatingWebhookConfiguration ValidatingWebhookConfigurationList;
    apidiscovery.v2: APIGroupDiscoveryList;
    apiextensions.v1: CustomResourceDefinition CustomResourceDefinitionList;
    apiregistration.v1: APIService APIServiceList;
    apps.v1: ControllerRevision ControllerRevisionList DaemonSet DaemonSetList Deployment DeploymentList
        ReplicaSet ReplicaSetList StatefulSet StatefulSetList;
    authentication.v1: SelfSubjectReview TokenRequest TokenReview;
    authorization.v1: LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview
        SubjectAccessReview;
    autoscaling.v1: HorizontalPodAutoscaler HorizontalPodAutoscalerList Scale;
    autoscaling.v2: HorizontalPodAutoscaler HorizontalPodAutoscalerList;
    batch.v1: CronJob CronJobList Job JobList;
    certificates.v1: CertificateSigningRequest CertificateSigningRequestList;
    coordination.v1: Lease LeaseList;
    discovery.v1: EndpointSlice EndpointSliceList;
    events.v1: Event EventList;
    flowcontrol.v1: FlowSchema FlowSchemaList PriorityLevelConfiguration PriorityLevelConfigurationList;
    meta.v1: APIGroup APIGroupList APIResourceList APIVersions CreateOptions DeleteOptions PartialObjectMetadata
        PartialObjectMetadataList PatchOptions Status UpdateOptions;
    networking.v1: IPAddress IPAddressList Ingress IngressClass IngressClassList IngressList NetworkPolicy
        NetworkPolicyList ServiceCIDR ServiceCIDRList;
    node.v1: RuntimeClass RuntimeClassList;
    policy.v1: Eviction PodDisruptionBudget PodDisruptionBudgetList;
    rbac.v1: ClusterRole ClusterRoleBinding ClusterRoleBindingList ClusterRoleList Role RoleBinding
        RoleBindingList RoleList;
    resource.v1: DeviceClass DeviceClassList ResourceClaim ResourceClaimList ResourceClaimTemplate
        ResourceClaimTemplateList ResourceSlice ResourceSliceList;
    scheduling.v1: PriorityClass PriorityClassList;
    storage.v1: CSIDriver CSIDriverList CSINode CSINodeList CSIStorageCapacity CSIStorageCapacityList
        StorageClass StorageClassList VolumeAttachment VolumeAttachmentList VolumeAttributesClass
        VolumeAttributesClassList;
};
