"""The resource types that every current cluster has, so that a plain question needs no discovery request.

Source: https://kubernetes.io/docs/reference/kubernetes-api/ (v1.34). A cluster that serves another version of one of
them is found out by the 404, and discovery is asked then.
"""

from __future__ import annotations

from holmes.kube.cluster import Kind, Kinds

# kind, plural, short names; cluster-wide kinds have a "*" in front
_TABLE = {
    "v1": (
        "Pod pods po",
        "Service services svc",
        "Event events ev",
        "*Node nodes no",
        "*Namespace namespaces ns",
        "ConfigMap configmaps cm",
        "Secret secrets",
        "PersistentVolumeClaim persistentvolumeclaims pvc",
        "*PersistentVolume persistentvolumes pv",
        "Endpoints endpoints ep",
        "ServiceAccount serviceaccounts sa",
        "ResourceQuota resourcequotas quota",
        "LimitRange limitranges limits",
        "ReplicationController replicationcontrollers rc",
        "PodTemplate podtemplates",
    ),
    "apps/v1": (
        "Deployment deployments deploy",
        "ReplicaSet replicasets rs",
        "StatefulSet statefulsets sts",
        "DaemonSet daemonsets ds",
        "ControllerRevision controllerrevisions",
    ),
    "batch/v1": ("Job jobs", "CronJob cronjobs cj"),
    "autoscaling/v2": ("HorizontalPodAutoscaler horizontalpodautoscalers hpa",),
    "networking.k8s.io/v1": (
        "Ingress ingresses ing",
        "*IngressClass ingressclasses",
        "NetworkPolicy networkpolicies netpol",
    ),
    "discovery.k8s.io/v1": ("EndpointSlice endpointslices",),
    "policy/v1": ("PodDisruptionBudget poddisruptionbudgets pdb",),
    "rbac.authorization.k8s.io/v1": (
        "Role roles",
        "RoleBinding rolebindings",
        "*ClusterRole clusterroles",
        "*ClusterRoleBinding clusterrolebindings",
    ),
    "storage.k8s.io/v1": (
        "*StorageClass storageclasses sc",
        "*VolumeAttachment volumeattachments",
        "*CSIDriver csidrivers",
        "*CSINode csinodes",
        "CSIStorageCapacity csistoragecapacities",
    ),
    "scheduling.k8s.io/v1": ("*PriorityClass priorityclasses pc",),
    "coordination.k8s.io/v1": ("Lease leases",),
    "node.k8s.io/v1": ("*RuntimeClass runtimeclasses",),
    "apiextensions.k8s.io/v1": ("*CustomResourceDefinition customresourcedefinitions crd crds",),
    "apiregistration.k8s.io/v1": ("*APIService apiservices",),
    "admissionregistration.k8s.io/v1": (
        "*MutatingWebhookConfiguration mutatingwebhookconfigurations",
        "*ValidatingWebhookConfiguration validatingwebhookconfigurations",
    ),
    "certificates.k8s.io/v1": ("*CertificateSigningRequest certificatesigningrequests csr",),
}


def builtin_kinds() -> Kinds:
    """The table as ``Kinds``."""
    return Kinds(tuple(_kind(api_version, line) for api_version, lines in _TABLE.items() for line in lines))


def _kind(api_version: str, line: str) -> Kind:
    name, plural, *short_names = line.split()
    group, _, version = api_version.rpartition("/")
    kind = name.removeprefix("*")
    return Kind(kind, plural, kind.lower(), tuple(short_names), group, version, namespaced=kind == name)
