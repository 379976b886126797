"""Questions as people on call write them, and the objects that they mean."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, product
from random import Random
from time import process_time

import pytest

from holmes.core.findings import ObjectRef
from holmes.kube.mentions import Mentions, find_mentions

CLUSTER = """
prod Deployment frontend checkout checkout-worker catalog cart payment-gateway api web recommendation email-sender
prod Deployment image-resizer
prod StatefulSet catalog-db kafka session-cache
prod CronJob nightly-report cart-cleanup
prod Job nightly-report-29935682 data-import
prod Service frontend checkout catalog cart payment-gateway api web catalog-db kafka
prod Ingress storefront
prod HorizontalPodAutoscaler checkout frontend
prod PersistentVolumeClaim data-catalog-db-0 data-kafka-0
prod ConfigMap checkout-config feature-flags
staging Deployment frontend checkout catalog web test service
staging Service frontend checkout catalog web test
payments Deployment payments ledger fraud-detector
payments Service payments ledger
payments StatefulSet ledger-db
monitoring Deployment grafana kube-state-metrics alert-router
monitoring StatefulSet prometheus
monitoring DaemonSet node-exporter
monitoring Service grafana prometheus
kube-system Deployment coredns metrics-server ingress-nginx-controller
kube-system DaemonSet kube-proxy
kube-system Service kube-dns metrics-server
default Deployment users-api orders-api
default Service kubernetes users-api orders-api
default Pod debug-shell
- Node node-1 node-2 worker-3 ip-10-0-3-17.eu-west-1.compute.internal
- Namespace prod staging payments monitoring kube-system default
"""
HASHES = ("6d4f7c9b5d", "78cf4757f4", "5b8d7bcf6b", "865446b4c9")


def inventory() -> list[ObjectRef]:
    refs = []
    for line in CLUSTER.strip().splitlines():
        space, kind, *names = line.split()
        refs += [ObjectRef(kind, name, space.strip("-")) for name in names]
    pods = [ObjectRef("Pod", name, ref.namespace) for ref in refs for name in pods_of(ref)]
    return refs + pods


def pods_of(ref: ObjectRef) -> list[str]:
    ends = {
        "Deployment": [f"{digest}-{end}" for digest, end in zip(HASHES[:2], ("x2k9z", "q7cfr"), strict=True)],
        "StatefulSet": ["0", "1", "2"],
        "DaemonSet": ["zn97s", "4s6jr"],
        "Job": ["2dfcj"],
    }
    return [f"{ref.name}-{end}" for end in ends.get(ref.kind, ())]


INVENTORY = inventory()
BOTH_CHECKOUTS = "Deployment prod/checkout, Deployment staging/checkout"
BOTH_FRONTENDS = "Deployment prod/frontend, Deployment staging/frontend"
BOTH_WEBS = "Deployment prod/web, Deployment staging/web"
BOTH_CATALOGS = "Deployment prod/catalog, Deployment staging/catalog"

# question | objects | namespaces
NAMED = f"""
why is checkout slow? | {BOTH_CHECKOUTS} |
checkout | {BOTH_CHECKOUTS} |
Why is CHECKOUT failing??? | {BOTH_CHECKOUTS} |
checkout's pods keep restarting | {BOTH_CHECKOUTS} |
is `cart` healthy? | Deployment prod/cart |
what's up with "payment-gateway"... | Deployment prod/payment-gateway |
payment gateway is timing out | Deployment prod/payment-gateway |
paymentgateway down | Deployment prod/payment-gateway |
payment_gateway returns 502 | Deployment prod/payment-gateway |
PaymentGateway high error rate | Deployment prod/payment-gateway |
the carts are empty | Deployment prod/cart |
why do the api pods crash | Deployment prod/api |
api is slow | Deployment prod/api |
The API returns 500s. | Deployment prod/api |
deployment catalog in prod has no replicas | Deployment prod/catalog | prod
the catalog deployment in staging | Deployment staging/catalog | staging
catalog deploy broken | {BOTH_CATALOGS} |
is the cart service reachable? | Service prod/cart, Deployment prod/cart |
svc/cart has no endpoints | Service prod/cart, Deployment prod/cart |
deploy/cart | Deployment prod/cart |
deployment.apps/cart is not progressing | Deployment prod/cart |
prod/checkout is down | Deployment prod/checkout | prod
staging/checkout vs prod/checkout | Deployment prod/checkout, Deployment staging/checkout | staging prod
checkout -n staging | Deployment staging/checkout | staging
checkout --namespace=prod: OOMKilled? | Deployment prod/checkout | prod
curl http://checkout.prod.svc.cluster.local:8080 refuses | Deployment prod/checkout | prod
prod checkout is failing | Deployment prod/checkout | prod
checkout in the prod namespace | Deployment prod/checkout | prod
checkout in namspace prod | Deployment prod/checkout | prod
checkout in stagin | Deployment staging/checkout | staging
errors in monitorin | | monitoring
checkout-worker is stuck | Deployment prod/checkout-worker |
checkout worker is stuck | Deployment prod/checkout-worker |
catalog-db will not start | StatefulSet prod/catalog-db |
is the catalog db full | StatefulSet prod/catalog-db |
chekout is broken | {BOTH_CHECKOUTS} |
check out page fails | {BOTH_CHECKOUTS} |
front end is down | {BOTH_FRONTENDS} |
frontned pods not ready | {BOTH_FRONTENDS} |
recomendation throws errors | Deployment prod/recommendation |
paymnet-gatway timeouts | Deployment prod/payment-gateway |
the recommend service eats memory | Deployment prod/recommendation |
promethues is not scraping | StatefulSet monitoring/prometheus |
grafana dashboards are empty | Deployment monitoring/grafana |
why did prometheus-0 restart? | Pod monitoring/prometheus-0 |
pod checkout-6d4f7c9b5d-x2k9z in prod was OOMKilled | Pod prod/checkout-6d4f7c9b5d-x2k9z | prod
ledger-6d4f7c9b5d-q9wzx was evicted | Deployment payments/ledger |
node-exporter missing on one node | DaemonSet monitoring/node-exporter |
node exporter is missing | DaemonSet monitoring/node-exporter |
node-1 is NotReady | Node node-1 |
node 2 has disk pressure | Node node-2 |
what runs on worker-3 | Node worker-3 |
ip-10-0-3-17.eu-west-1.compute.internal is gone | Node ip-10-0-3-17.eu-west-1.compute.internal |
nodes node-1 and node-2 | Node node-1, Node node-2 |
frontend cannot reach api | {BOTH_FRONTENDS}, Deployment prod/api |
why can't the cart reach kafka? | Deployment prod/cart, StatefulSet prod/kafka |
kafka: broker 1 lost | StatefulSet prod/kafka |
the nightly report did not run | CronJob prod/nightly-report |
cronjob nightly-reports failed last night | CronJob prod/nightly-report |
why is the nightly job failing? | CronJob prod/nightly-report |
job nightly-report-29935682 failed | Job prod/nightly-report-29935682 |
pvc data-kafka-0 is pending | PersistentVolumeClaim prod/data-kafka-0 |
hpa checkout does not scale | HorizontalPodAutoscaler prod/checkout, Deployment prod/checkout |
the storefront ingress gives 404 | Ingress prod/storefront |
is configmap feature-flags mounted | ConfigMap prod/feature-flags |
ingress controller restarts | Deployment kube-system/ingress-nginx-controller |
kube-dns / coredns issues | Service kube-system/kube-dns, Deployment kube-system/coredns |
users-api 503 | Deployment default/users-api |
the users service is down | Service default/users-api, Deployment default/users-api |
test deployment is broken | Deployment staging/test |
`service` in staging crashes | Deployment staging/service | staging
deployment service has no pods | Deployment staging/service |
web is down | {BOTH_WEBS} |
web in staging | Deployment staging/web | staging
payments is slow | Deployment payments/payments | payments
namespace payments: anything wrong? | | payments
what is wrong in the payments namespace | | payments
is everything ok in monitoring? | | monitoring
any failing pods in kube-system | | kube-system
list pods in default | | default
what crashed in the default namespace? | | default
fraud detection is failing in payments | Deployment payments/payments, Deployment payments/fraud-detector | payments
KubePodCrashLooping namespace=prod pod=cart-78cf4757f4-q7cfr | Pod prod/cart-78cf4757f4-q7cfr | prod
debug-shell pod stuck terminating | Pod default/debug-shell |
image-resizer cannot pull its image | Deployment prod/image-resizer |
checkout 为什么一直重启？ | {BOTH_CHECKOUTS} |
为什么prod的checkout服务无法访问 | Service prod/checkout, Deployment prod/checkout | prod
部署cart没有副本 | Deployment prod/cart |
节点 node-1 不可用 | Node node-1 |
「payment-gateway」が落ちています | Deployment prod/payment-gateway |
prodのcheckoutポッドが再起動を繰り返す | Deployment prod/checkout | prod
ｃａｒｔ が遅い | Deployment prod/cart |
¿Por qué falla el despliegue cart en staging? | Deployment prod/cart | staging
¿Está caído el servicio ledger? | Service payments/ledger, Deployment payments/ledger |
Warum startet der Dienst „kafka“ im Namespace prod nicht? | Service prod/kafka, StatefulSet prod/kafka | prod
Der Knoten node-2 läuft voll | Node node-2 |
pourquoi frontend redémarre-t-il sans arrêt en prod ? | Deployment prod/frontend | prod
"""
NONE_NAMED = """
is everything healthy?
why is the server slow
what is wrong with my cluster
why are pods restarting
are all nodes ready?
is the service down?
please test this
show me the default limits
there is a problem with the app, please help
the helm chart does not install
集群有什么问题？
なにかおかしい？
¿todo bien?
CrashLoopBackOff
???
"""


def told(mentions: Mentions) -> tuple[list[str], list[str]]:
    return [str(each.object) for each in mentions.objects], list(mentions.namespaces)


@pytest.mark.parametrize("line", NAMED.strip().splitlines())
def test_named(line: str) -> None:
    question, objects, namespaces = (part.strip() for part in f"{line} ".rsplit("|", 2))
    assert told(find_mentions(question, INVENTORY)) == (
        [each.strip() for each in objects.split(",") if each.strip()],
        namespaces.split(),
    )


@pytest.mark.parametrize("question", NONE_NAMED.strip().splitlines())
def test_none_named(question: str) -> None:
    assert told(find_mentions(question, INVENTORY)) == ([], [])


def test_the_exact_name_is_surer_than_a_part_and_a_part_than_a_misspelling() -> None:
    exact, plural, part, slip = (
        find_mentions(question, INVENTORY).objects[0].score for question in ("kafka", "kafkas", "fraud", "kafak")
    )
    assert 1.0 == exact > plural > part > slip


def test_a_word_that_many_names_share_names_none() -> None:
    many = [ObjectRef("Deployment", f"payment-{name}", "prod") for name in ("api", "db", "cron", "queue", "mail")]
    assert told(find_mentions("payment is slow", many)) == ([], [])
    assert len(find_mentions("payment is slow", many, limit=5).objects) == 5


def test_a_named_namespace_decides_between_equal_names_even_in_another_word_order() -> None:
    teams = [ObjectRef("Namespace", f"team-{n}") for n in range(5)]
    copies = [ObjectRef("Deployment", "checkout", team.name) for team in teams]
    assert told(find_mentions("in team-3 the checkout is broken", teams + copies)) == (
        ["Deployment team-3/checkout"],
        ["team-3"],
    )
    assert len(find_mentions("checkout is broken", teams + copies).objects) == 4


def test_pods_stand_for_themselves_where_the_workload_is_not_known() -> None:
    pods = [ref for ref in INVENTORY if ref.kind == "Pod"]
    names = [each.object.name for each in find_mentions("cart pods crash", pods).objects]
    assert names == ["cart-6d4f7c9b5d-x2k9z", "cart-78cf4757f4-q7cfr"]


def test_an_empty_inventory_has_nothing_to_name() -> None:
    assert told(find_mentions("why is checkout slow?", [])) == ([], [])


def test_a_pasted_alert_is_read_without_guessing() -> None:
    alert = '{"alertname": "KubePodNotReady", "namespace": "prod", "pod": "kafka-0", "chekout": 1} ' + "and so on " * 40
    assert told(find_mentions(alert, INVENTORY)) == (["Pod prod/kafka-0"], ["prod"])


def team_cluster() -> list[ObjectRef]:
    """20,000 objects as in a large cluster: workloads with a service and pods."""
    words = "order cart user stock price search mail ledger fraud media token quota event audit agent".split()
    digests = cycle(HASHES)
    refs = []
    for number in range(2500):
        name = f"{words[number % 15]}-{words[number // 15 % 15]}{chr(97 + number // 225)}-service"
        space = f"team-{number % 100}"
        refs += [ObjectRef("Deployment", name, space), ObjectRef("Service", name, space)]
        refs += [ObjectRef("Pod", f"{name}-{next(digests)}-x2k{end}z", space) for end in "245679"]
    return refs


def strange_cluster() -> list[ObjectRef]:
    """20,000 deployments that have no part of their names in common."""
    draw = Random(1)
    return [ObjectRef("Deployment", "-".join(draw.choices(LETTERS, k=2)), "default") for _ in range(20_000)]


LETTERS = ["".join(letters) for letters in product("abcdefgh", "aeiou", "klmnprst", "aeiou", "bdgkmnpst", "aeiou")]


@pytest.mark.parametrize("cluster", [team_cluster, strange_cluster])
@pytest.mark.parametrize(
    "question",
    [
        "is everything healthy?",
        "why is order-cart-service slow and paymnet-gatway timing out since the last recomendation rollout?",
        "KubePodCrashLooping " + "label=value some prose and more prose " * 20,
    ],
)
def test_twenty_thousand_names_take_less_than_150_ms(cluster: Callable[[], list[ObjectRef]], question: str) -> None:
    refs = cluster()
    assert len(refs) == 20_000
    seconds = []
    for _ in range(3):
        started = process_time()
        find_mentions(question, refs)
        seconds.append(process_time() - started)
    assert min(seconds) < 0.15
