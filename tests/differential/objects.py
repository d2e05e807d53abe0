"""An object of every kind: what corpus.py makes its requests of.

A line of KINDS is a resource: its path, whether it lives in a namespace, its kind, an object that is taken as it is, a merge
patch that changes it, and a status where there is one.
"""

POD = {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "name": "http"}],
                       "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "64Mi"}}}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
SELECTOR = {"matchLabels": {"a": "b"}}
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
CONDITION = {"type": "T", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2020-01-01T00:00:00Z"}
CLIENT = {"url": "https://192.0.2.7/x"}
WEBHOOK = {"name": "h.example.com", "clientConfig": CLIENT, "sideEffects": "None", "admissionReviewVersions": ["v1"],
           "rules": [{"apiGroups": ["g.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}]}
MATCH = {"resourceRules": [{"apiGroups": ["g.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}]}
# A request for CN=x, made once with an elliptic curve key that was thrown away.
REQUEST = ("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIR01HNENBUUF3RERFS01BZ0dBMVVFQXd3QmVEQlpNQk1HQnlxR1NNNDlBZ0"
           "VHQ0NxR1NNNDlBd0VIQTBJQQpCTUVOOHVjL1ZVMG5MM0F2UVF4WURidTNBMlFuYk1Walg3dXMxRVNCSW1abXgreUVWZU43VE82V3RGWlduS3BF"
           "ClYwc3I4bW9aeExFOTNTNXFwbm1PQWs2Z0FEQUtCZ2dxaGtqT1BRUURBZ05JQURCRkFpQVpmeGtxcTdGRUYyS2gKOFBuQkc1YkdrcndrWVVPME"
           "grNi9wcW8zNnRlQVp3SWhBUEJ4RVJOMm01ZEpmVUdiNkZyeEhHQmdrb2NuWlM1MAp5dVhHb1hFaXZUM0YKLS0tLS1FTkQgQ0VSVElGSUNBVEUg"
           "UkVRVUVTVC0tLS0tCg==")
REFERENCE = {"kind": "ConfigMap", "namespace": "default", "name": "r", "apiVersion": "v1"}
DEVICES = {"requests": [{"name": "r", "exactly": {"deviceClassName": "d.example.com"}}]}


class Kind:
    def __init__(self, group, kind, plural, namespaced, body, patch, status=None):
        self.group_version, self.kind, self.plural, self.namespaced = group, kind, plural, namespaced
        self.body, self.patch, self.status = body, patch, status
        again = {"events.k8s.io/v1": "events.k8s.io", "autoscaling/v1": "v1"}.get(group)
        self.id = f"{plural}.{again}" if again else plural
        self.space = "d-" + self.id.replace(".", "-")

    def path(self, namespace=None):
        root = "/api/" if "/" not in self.group_version else "/apis/"
        space = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}{self.group_version}{space}/{self.plural}"

    def object(self, name):
        return {"apiVersion": self.group_version, "kind": self.kind, "metadata": {"name": name, "labels": {"d": "1"}}, **self.body}


def core(*rest):
    return Kind("v1", *rest)


LABEL = {"metadata": {"labels": {"p": "1"}}}
NET, RBAC, STORE = "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1", "storage.k8s.io/v1"
ADMIT, FLOW, DRA = "admissionregistration.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1", "resource.k8s.io/v1"

# What upstream changes by itself once it is there: these are only asked for as dry runs.
DRY = [
    Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False, {"spec": {"group": "g.example.com", "scope": "Namespaced",
         "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList", "shortNames": ["th"], "categories": ["all"]},
         "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
          "properties": {"x": {"type": "integer", "minimum": 1}}}}}}, "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.x", "statusReplicasPath": ".status.x"}},
          "additionalPrinterColumns": [{"name": "X", "type": "integer", "jsonPath": ".spec.x"}], "selectableFields": [{"jsonPath": ".spec.x"}]}]}}, LABEL),
    Kind("apiregistration.k8s.io/v1", "APIService", "apiservices", False, {"spec": {"group": "g.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
         "service": {"name": "s", "namespace": "default", "port": 443}, "insecureSkipTLSVerify": True}}, LABEL),
]

KINDS = [
    core("ConfigMap", "configmaps", True, {"data": {"a": "1"}, "binaryData": {"b": "AQI="}}, {"data": {"a": "2"}}),
    core("Secret", "secrets", True, {"data": {"a": "MQ=="}, "stringData": {"s": "x"}, "type": "Opaque"}, {"data": {"a": "Mg=="}}),
    core("Endpoints", "endpoints", True, {"subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80, "name": "h"}]}]},
         {"subsets": [{"addresses": [{"ip": "192.0.2.2"}], "ports": [{"port": 81}]}]}),
    core("Event", "events", True, {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "d-events"}, "reason": "R", "message": "m",
         "source": {"component": "c", "host": "h"}, "type": "Normal", "count": 1}, {"message": "n"}),
    core("LimitRange", "limitranges", True, {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1m"}}]}},
         {"spec": {"limits": [{"type": "Container", "max": {"cpu": "3"}}]}}),
    core("Namespace", "namespaces", False, {}, LABEL, {"phase": "Active", "conditions": [CONDITION]}),
    core("Node", "nodes", False, {"spec": {"podCIDR": "10.1.0.0/24", "providerID": "x://1", "taints": [{"key": "k", "effect": "NoSchedule"}]}},
         {"spec": {"unschedulable": True}}, {"capacity": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}], "addresses": [{"type": "Hostname", "address": "h"}]}),
    core("PersistentVolumeClaim", "persistentvolumeclaims", True, {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "s",
         "resources": {"requests": {"storage": "1Gi"}}}}, LABEL, {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}),
    core("PersistentVolume", "persistentvolumes", False, {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
         "hostPath": {"path": "/x"}, "storageClassName": "s"}}, {"spec": {"persistentVolumeReclaimPolicy": "Delete"}}, {"phase": "Available"}),
    core("Pod", "pods", True, {"spec": POD}, {"spec": {"activeDeadlineSeconds": 5}}, {"phase": "Running", "podIP": "192.0.2.5",
         "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [{"name": "c", "image": "i", "imageID": "x", "ready": True, "restartCount": 1}]}),
    core("PodTemplate", "podtemplates", True, {"template": TEMPLATE}, {"template": {"metadata": {"labels": {"c": "d"}}}}),
    core("ReplicationController", "replicationcontrollers", True, {"spec": {"replicas": 2, "selector": {"a": "b"}, "template": TEMPLATE}},
         {"spec": {"replicas": 3}}, {"replicas": 1, "readyReplicas": 1}),
    core("ResourceQuota", "resourcequotas", True, {"spec": {"hard": {"pods": "1k", "cpu": "5"}}}, {"spec": {"hard": {"pods": "2k"}}},
         {"hard": {"pods": "5"}, "used": {"pods": "1"}}),
    core("ServiceAccount", "serviceaccounts", True, {"secrets": [{"name": "s"}], "automountServiceAccountToken": False},
         {"automountServiceAccountToken": True}),
    core("Service", "services", True, {"spec": {"selector": {"a": "b"}, "ports": [{"port": 80, "name": "h", "targetPort": "http"}], "clusterIP": "None"}},
         {"spec": {"ports": [{"port": 81}]}}, {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}),
    Kind("apps/v1", "ControllerRevision", "controllerrevisions", True, {"revision": 1, "data": {"a": 1}}, {"revision": 2}),
    Kind("apps/v1", "DaemonSet", "daemonsets", True, {"spec": {"selector": SELECTOR, "template": TEMPLATE}}, {"spec": {"minReadySeconds": 3}},
         {"currentNumberScheduled": 1, "desiredNumberScheduled": 1, "numberMisscheduled": 0, "numberReady": 1, "observedGeneration": 1}),
    Kind("apps/v1", "Deployment", "deployments", True, {"spec": {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE,
         "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}, {"spec": {"replicas": 3}},
         {"replicas": 2, "readyReplicas": 1, "availableReplicas": 1, "conditions": [{"type": "Available", "status": "True"}]}),
    Kind("apps/v1", "ReplicaSet", "replicasets", True, {"spec": {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE}}, {"spec": {"replicas": 3}},
         {"replicas": 2, "observedGeneration": 1}),
    Kind("apps/v1", "StatefulSet", "statefulsets", True, {"spec": {"serviceName": "s", "selector": SELECTOR, "template": TEMPLATE,
         "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}},
         {"spec": {"replicas": 3}}, {"replicas": 1, "availableReplicas": 0}),
    Kind("events.k8s.io/v1", "Event", "events", True, {"eventTime": "2020-01-01T00:00:00.000001Z", "reportingController": "example.com/c", "reportingInstance": "i",
         "action": "A", "reason": "R", "type": "Normal", "note": "n", "regarding": {"kind": "Pod", "name": "p", "namespace": "d-events-events-k8s-io"}}, {"metadata": {"labels": {"p": "1"}}}),
    Kind("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", True, {"spec": {"maxReplicas": 5, "scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"},
         "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}]}},
         {"spec": {"maxReplicas": 6}}, {"currentReplicas": 1, "desiredReplicas": 2}),
    Kind("autoscaling/v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", True, {"spec": {"maxReplicas": 5, "scaleTargetRef": {"kind": "Deployment", "name": "x"},
         "targetCPUUtilizationPercentage": 60}}, {"spec": {"minReplicas": 2}}, {"currentReplicas": 1, "desiredReplicas": 2}),
    Kind("batch/v1", "CronJob", "cronjobs", True, {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}}}},
         {"spec": {"suspend": True}}, {"lastScheduleTime": "2020-01-01T00:00:00Z"}),
    Kind("batch/v1", "Job", "jobs", True, {"spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}, "parallelism": 2}}, {"spec": {"parallelism": 3}},
         {"active": 1, "startTime": "2020-01-01T00:00:00Z"}),
    Kind("certificates.k8s.io/v1", "CertificateSigningRequest", "certificatesigningrequests", False, {"spec": {"request": REQUEST,
         "signerName": "example.com/s", "usages": ["client auth"]}}, LABEL, {"certificate": ""}),
    Kind(NET, "IngressClass", "ingressclasses", False, {"spec": {"controller": "example.com/c"}}, LABEL),
    Kind(NET, "Ingress", "ingresses", True, {"spec": {"rules": [{"host": "h.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix",
         "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}}, {"spec": {"ingressClassName": "c"}}, {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}),
    Kind(NET, "IPAddress", "ipaddresses", False, {"spec": {"parentRef": {"resource": "services", "name": "s", "namespace": "default"}}}, LABEL),
    Kind(NET, "NetworkPolicy", "networkpolicies", True, {"spec": {"podSelector": {"matchLabels": {"a": "b"}}, "ingress": [{"ports": [{"port": 80}], "from": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]}]}},
         {"spec": {"egress": [{}]}}),
    Kind(NET, "ServiceCIDR", "servicecidrs", False, {"spec": {"cidrs": ["10.9.0.0/24"]}}, LABEL, {"conditions": [CONDITION]}),
    Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", True, {"spec": {"minAvailable": 1, "selector": SELECTOR}}, {"spec": {"minAvailable": "50%"}},
         {"disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 2, "observedGeneration": 1}),
    Kind(RBAC, "ClusterRoleBinding", "clusterrolebindings", False, {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
         "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "default"}]}, {"subjects": [{"kind": "Group", "name": "g"}]}),
    Kind(RBAC, "ClusterRole", "clusterroles", False, {"rules": RULES}, {"rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]}),
    Kind(RBAC, "RoleBinding", "rolebindings", True, {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
         "subjects": [{"kind": "User", "name": "u"}]}, {"subjects": [{"kind": "Group", "name": "g"}]}),
    Kind(RBAC, "Role", "roles", True, {"rules": RULES}, {"rules": []}),
    Kind(STORE, "CSIDriver", "csidrivers", False, {"spec": {"attachRequired": True, "volumeLifecycleModes": ["Ephemeral"]}}, {"spec": {"podInfoOnMount": True}}),
    Kind(STORE, "CSINode", "csinodes", False, {"spec": {"drivers": [{"name": "d.example.com", "nodeID": "n", "topologyKeys": ["k"]}]}},
         {"spec": {"drivers": [{"name": "d.example.com", "nodeID": "n", "topologyKeys": ["k"]}, {"name": "e.example.com", "nodeID": "n", "topologyKeys": []}]}}),
    Kind(STORE, "CSIStorageCapacity", "csistoragecapacities", True, {"storageClassName": "s", "capacity": "1Gi", "nodeTopology": SELECTOR}, {"capacity": "2Gi"}),
    Kind(STORE, "StorageClass", "storageclasses", False, {"provisioner": "example.com/p", "parameters": {"a": "b"}}, {"allowVolumeExpansion": True}),
    Kind(STORE, "VolumeAttachment", "volumeattachments", False, {"spec": {"attacher": "example.com", "nodeName": "n", "source": {"persistentVolumeName": "p"}}}, LABEL,
         {"attached": True}),
    Kind(STORE, "VolumeAttributesClass", "volumeattributesclasses", False, {"driverName": "d.example.com", "parameters": {"a": "b"}}, LABEL),
    Kind(ADMIT, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", False, {"spec": {"failurePolicy": "Ignore", "matchConstraints": MATCH,
         "validations": [{"expression": "object.spec.x > 1"}]}}, {"spec": {"validations": [{"expression": "true"}]}}, {"observedGeneration": 1, "conditions": [CONDITION]}),
    Kind(ADMIT, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", False, {"spec": {"policyName": "p.example.com", "validationActions": ["Deny"]}},
         {"spec": {"validationActions": ["Warn"]}}),
    Kind(ADMIT, "MutatingAdmissionPolicy", "mutatingadmissionpolicies", False, {"spec": {"matchConstraints": MATCH, "reinvocationPolicy": "Never",
         "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}]}}, {"spec": {"failurePolicy": "Ignore"}}),
    Kind(ADMIT, "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", False, {"spec": {"policyName": "p.example.com"}}, LABEL),
    Kind(ADMIT, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", False, {"webhooks": [WEBHOOK]}, LABEL),
    Kind(ADMIT, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False, {"webhooks": [WEBHOOK]}, LABEL),
    Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", False, {"value": 7, "description": "d"}, {"description": "e"}),
    Kind("coordination.k8s.io/v1", "Lease", "leases", True, {"spec": {"holderIdentity": "h", "leaseDurationSeconds": 10, "renewTime": "2020-01-01T00:00:00.000000Z"}},
         {"spec": {"holderIdentity": "i"}}),
    Kind("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", False, {"handler": "h", "overhead": {"podFixed": {"cpu": "1"}}}, LABEL),
    Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", True, {"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": True}}],
         "ports": [{"name": "h", "port": 80}]}, {"ports": [{"name": "i", "port": 81}]}),
    Kind(DRA, "DeviceClass", "deviceclasses", False, {"spec": {"selectors": [{"cel": {"expression": "device.driver == 'd.example.com'"}}]}}, LABEL),
    Kind(DRA, "ResourceClaim", "resourceclaims", True, {"spec": {"devices": DEVICES}}, LABEL, {"reservedFor": []}),
    Kind(DRA, "ResourceClaimTemplate", "resourceclaimtemplates", True, {"spec": {"spec": {"devices": DEVICES}}}, LABEL),
    Kind(DRA, "ResourceSlice", "resourceslices", False, {"spec": {"driver": "d.example.com", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
         "devices": [{"name": "x"}]}}, {"spec": {"devices": [{"name": "y"}]}}),
    Kind(FLOW, "FlowSchema", "flowschemas", False, {"spec": {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 9000,
         "rules": [{"subjects": [{"kind": "User", "user": {"name": "nobody"}}], "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}]}},
         {"spec": {"matchingPrecedence": 9001}}),
    Kind(FLOW, "PriorityLevelConfiguration", "prioritylevelconfigurations", False, {"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 5,
         "limitResponse": {"type": "Queue", "queuing": {"queues": 8, "handSize": 2, "queueLengthLimit": 5}}}}}, {"spec": {"limited": {"nominalConcurrencyShares": 6}}},
         {"conditions": [CONDITION]}),
]
