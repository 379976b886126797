"""Which objects a question names: misspelt, plural, half a name, in any language around them.

The question becomes words; each run of words is tried as a name, first exactly, then as a variant (plural, other
dashes, a pod that is gone), then as parts of a name, then misspelt, last as a misspelt or shortened part. Longer runs
come before shorter ones, and a word that has found its object is not used again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from holmes.core.findings import ObjectRef

EXACT, VARIANT, PART, NEAR, GUESS = 1.0, 0.95, 0.85, 0.75, 0.6  # scores of a mention

_LONGEST = 4  # words that may make one name
_MOST = 300  # words of a question that are looked at
_TYPED = 60  # words; a longer text was pasted, and programs make no typing errors

# Kind words in the singular, with the short names of kubectl and a few of other languages.
_KINDS = {
    word: kind
    for kind, words in {
        "Pod": "pod po container replica contenedor ポッド コンテナ 容器 实例",
        "Deployment": "deployment deploy despliegue デプロイメント 部署",
        "StatefulSet": "statefulset sts",
        "DaemonSet": "daemonset ds",
        "Service": "service svc servicio dienst サービス 服务",
        "Job": "job ジョブ 任务",
        "CronJob": "cronjob cj 定时任务",
        "Node": "node nodo knoten ノード 节点",
        "Namespace": "namespace ns namensraum 名前空間 命名空间",
        "PersistentVolumeClaim": "pvc claim 存储卷",
        "Ingress": "ingress ing",
        "HorizontalPodAutoscaler": "hpa autoscaler",
        "ConfigMap": "configmap cm",
    }.items()
    for word in words.split()
}
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "Pod")
_ORDER = (*_WORKLOADS, "Service", "Ingress", "HorizontalPodAutoscaler", "PersistentVolumeClaim", "Node", "ConfigMap")

# Words of ordinary questions: a name only when it is written exactly so, beside a kind or in quotes.
_COMMON = frozenset(
    "a about after again all also always an and another any anything app application apps are as at available back be "
    "because been before behind being between both broken but by call called can cannot cant cause caused chart check "
    "cluster config configuration connect connection connections could cpu crash crashed crashes crashing current "
    "currently default deployed did disk do does doesnt doing dont down during each error errors even every "
    "everything exit fail failed failing fails failure failures few find fine first fix for from get gets getting "
    "give given go going gone good had happen happened happening happens has have health healthy help here high host "
    "hour hours how i if image in into is issue issues it its just keep keeps kill killed killing kubernetes last "
    "later latest left like limit limits list little local log logging logs long look lot low made make makes many "
    "maybe me memory minute minutes missing more most much my name named network never new next no nobody none not "
    "nothing now of off ok old on one only open or other our out over own pending people please possible problem "
    "problems pull pulling rather reach reached ready really reason restart restarted restarting restarts root run "
    "running runs same see seems send server servers show showing shows since slow so some something soon start "
    "started starting state status still stop stopped stuck such sudden suddenly sure system take tell test than that "
    "the their them then there these they thing things think this those time timeout timeouts times to today too "
    "traffic tried try trying two until up us use used using version very volume want was we were what whats when "
    "where whether which while who whole whose why will with without wont work working works would wrong yes "
    "yesterday yet you your".split()
)
_FILLERS = frozenset("a an the my our of for in on named called apps von del el la der die das 的".split())
_LATIN = "A-Za-z0-9\u00c0-\u024f"
_TOKEN = re.compile(
    rf"[{_LATIN}](?:[{_LATIN}._-]*[{_LATIN}])?|"
    + "|".join(sorted((k for k in _KINDS if not k.isascii()), reverse=True))
)
_QUOTES = frozenset("`\"'“”‘’「」『』《》«»")
_BREAK = re.compile(r"[,;!?()，。；！？、\n]|\.\s")

# Random suffixes have no vowels and few digits: k8s.io/apimachinery, util/rand, "alphanums".
_RANDOM = frozenset("bcdfghjklmnpqrstvwxz2456789")


Group = Sequence[ObjectRef]  # objects of one title


@dataclass(frozen=True, slots=True)
class Mention:
    """An object that the question names, and how sure that is (1 = its exact name)."""

    object: ObjectRef
    score: float
    word: str


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a question names. ``namespaces`` without objects ask for the whole namespace."""

    objects: tuple[Mention, ...]
    namespaces: tuple[str, ...]


def find_mentions(question: str, inventory: Sequence[ObjectRef], limit: int = 4) -> Mentions:
    """The objects of ``inventory`` that the question names, surest first, and its namespaces.

    A workload stands for its pods. A word that fits more than ``limit`` names names none of them.
    """
    names = _Names(ref for ref in inventory if ref.kind != "Namespace")
    words = _words(question, names)
    namespaces, taken = _namespaces(words, {ref.name for ref in inventory if ref.kind == "Namespace"}, names)
    hits: list[_Hit] = []
    for score, meaning in names.meanings(typed=len(words) <= _TYPED):
        for start, end in _runs(words, taken, score):
            kinds = _kinds_beside(words, start, end)
            groups = _meant(meaning(words[start:end]), kinds, namespaces)
            if 0 < len(groups) <= limit:
                taken.update(range(start, end))
                hits.append(_Hit(score, start, _joined(words[start:end]), groups, kinds))
    sure = any(hit.score >= VARIANT for hit in hits)
    mentions: dict[ObjectRef, Mention] = {}
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.start)):
        if not sure or (len(hit.groups) == 1 and hit.score >= NEAR):  # "database" beside an exact name is no name
            for ref in _objects(hit.groups, hit.kinds):
                mentions.setdefault(ref, Mention(ref, hit.score, hit.word))
    return Mentions(tuple(mentions.values())[:limit], tuple(namespaces))


@dataclass(frozen=True, slots=True)
class _Hit:
    score: float
    start: int
    word: str
    groups: Sequence[Group]
    kinds: set[str]


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    before: str  # what stands between it and the word before
    quoted: bool
    kind: str  # the kind that it stands for
    plain: bool  # neither a kind nor a word of ordinary questions


def _words(question: str, names: _Names) -> list[_Word]:
    """The words in lower case. Dots inside a name stay, those of ``name.namespace.svc`` divide it."""
    text = unicodedata.normalize("NFKC", question)
    words: list[_Word] = []
    last = 0
    for match in _TOKEN.finditer(text):
        before, after = text[last : match.start()], text[match.end() : match.end() + 1]
        last = match.end()
        if match.group() in ("s", "S") and before in ("'", "’"):
            continue  # checkout's
        quoted = bool(_QUOTES.intersection(before[-1:]) and _QUOTES.intersection(after))
        whole = match.group().lower().replace("_", "-")
        first, *rest = [whole] if names.find(whole) else [piece for piece in whole.split(".") if piece]
        words.append(_word(first, before, quoted))
        words += [_word(piece, ".", quoted) for piece in rest]
    return words[:_MOST]


def _word(text: str, before: str, quoted: bool) -> _Word:
    kind = next((_KINDS[single] for single in _singulars(text) if single in _KINDS), "")
    return _Word(text, before, quoted, kind, not kind and text not in _COMMON)


class _Names:
    """The names of an inventory, and what words can mean among them: each meaning is the objects of one title.

    The title of a pod or of a job of a schedule is its name without what was generated.
    """

    def __init__(self, refs: Iterable[ObjectRef]) -> None:
        self.titles: dict[str, list[ObjectRef]] = {}
        self.generated: dict[str, list[ObjectRef]] = {}
        self._readings: dict[str, list[str]] = {}
        for ref in refs:
            title = _title(ref.name, ref.kind)
            self.titles.setdefault(title, []).append(ref)
            if title != ref.name:
                self.generated.setdefault(ref.name, []).append(ref)

    def find(self, name: str) -> list[ObjectRef]:
        """The objects of that name or title."""
        return self.titles.get(name) or self.generated.get(name) or []

    def meanings(self, *, typed: bool) -> Iterator[tuple[float, Callable[[Sequence[_Word]], Sequence[Group]]]]:
        """Ways to read words as a name, surest first; misspellings only in what a person typed."""
        yield from ((EXACT, self.exact), (VARIANT, self.variants), (PART, self.parts))
        if typed:
            yield from ((NEAR, self.near), (GUESS, self.guesses))

    def exact(self, words: Sequence[_Word]) -> list[Group]:
        """The name itself."""
        return [refs for refs in [self.find(_joined(words))] if refs]

    def variants(self, words: Sequence[_Word]) -> list[Group]:
        """A pod that is gone, the name with its kind, a plural, other dashes: the first of these."""
        name = _joined(words)
        tries = [_title(name, "Pod"), *_singulars(name)]
        if len(words) == 1:
            tries.append("-".join(piece for piece in name.split("-") if piece not in _KINDS))
        squashed = name.replace("-", "")
        if len(squashed) >= 5:
            tries += [self._squashed[each] for each in _singulars(squashed) if each in self._squashed]
        return next(([self.titles[each]] for each in tries if each in self.titles), [])

    def parts(self, words: Sequence[_Word]) -> list[Group]:
        """Names that have all these words between their dashes."""
        return self._with_parts(words, lambda piece: [each for each in _singulars(piece) if each in self._index])

    def near(self, words: Sequence[_Word]) -> list[Group]:
        """The name, misspelt."""
        return self._with_parts(words, self._like, whole=True)

    def guesses(self, words: Sequence[_Word]) -> list[Group]:
        """Names that have all these words between their dashes, shortened or misspelt."""
        return self._with_parts(words, self._like)

    def _with_parts(
        self, words: Sequence[_Word], meaning: Callable[[str], list[str]], *, whole: bool = False
    ) -> list[Group]:
        pieces = _pieces(_joined(words))
        readings = [(piece, meaning(piece)) for piece in pieces]
        wanted = [options for piece, options in readings if options or len(words) > 1 or piece not in _KINDS]
        if not all(wanted):
            wanted = [meaning("".join(pieces))] if len(words) > 1 else []
        having = [set[str]().union(*(self._index[part] for part in options)) for options in wanted]
        found = set.intersection(*having) if having else set()
        return [self.titles[title] for title in sorted(found) if not whole or len(_pieces(title)) == len(wanted)]

    def _like(self, piece: str) -> list[str]:
        if piece in self._index:
            return [piece]
        if piece not in self._readings:
            known = self._by_letter.get(piece[0], ()) if len(piece) >= 5 and piece.isalpha() else ()
            self._readings[piece] = [each for each in known if each.startswith(piece) or _alike(piece, each)]
        return self._readings[piece]

    @cached_property
    def _index(self) -> dict[str, set[str]]:
        """The titles that have a part, by part."""
        index: dict[str, set[str]] = {}
        for title in self.titles:
            for piece in _pieces(title):
                index.setdefault(piece, set()).add(title)
        return index

    @cached_property
    def _by_letter(self) -> dict[str, list[str]]:
        letters: dict[str, list[str]] = {}
        for piece in self._index:
            letters.setdefault(piece[0], []).append(piece)
        return letters

    @cached_property
    def _squashed(self) -> dict[str, str]:
        return {title.replace("-", ""): title for title in self.titles}


def _namespaces(words: Sequence[_Word], spaces: AbstractSet[str], names: _Names) -> tuple[list[str], set[int]]:
    """Namespaces that are named, and the words that can mean nothing else."""
    found: dict[str, None] = {}
    taken: set[int] = set()
    for index, word in enumerate(words):
        left = next((each for each in reversed(words[:index]) if each.text not in ("the", "el")), None)
        right = words[index + 1] if index + 1 < len(words) else None
        beside = "Namespace" in (left and left.kind, right and not _BREAK.search(right.before) and right.kind)
        certain = beside or word.before == "." or bool(right and right.before == "/") or bool(left and left.text == "n")
        if word.text in spaces:
            space = word.text if certain or word.plain or (left and left.text == "in") else ""
        else:
            inside = beside or bool(left and left.text == "in")
            space = _only_like(word.text, spaces) if inside and word.plain and not names.find(word.text) else ""
        if space:
            found[space] = None
            if certain or not names.find(word.text):
                taken.add(index)
    return list(found), taken


def _only_like(word: str, spaces: AbstractSet[str]) -> str:
    """The one namespace that a word shortens, is a part of, or misspells; "" when there are none or several."""
    like = [each for each in spaces if (len(word) > 2 and each.startswith(word)) or word in _pieces(each)]
    like = like or [each for each in spaces if _misspelt(_pieces(word), _pieces(each))]
    return like[0] if len(like) == 1 else ""


def _misspelt(word: Sequence[str], name: Sequence[str]) -> bool:
    return len(word) == len(name) and all(a == b or _alike(a, b) for a, b in zip(word, name, strict=True))


def _runs(words: Sequence[_Word], taken: AbstractSet[int], score: float) -> Iterator[tuple[int, int]]:
    """Words side by side that may be a name at this score, longest runs first; ``taken`` may grow meanwhile."""
    for size in range(_LONGEST, 0, -1):
        for start in range(len(words) - size + 1):
            run, end = words[start : start + size], start + size
            if taken.isdisjoint(range(start, end)) and not any(word.before.strip() for word in run[1:]):
                marked = run[0].quoted or bool(_kinds_beside(words, start, end))
                if _may_be_name(run, score, marked=marked):
                    yield start, end


def _may_be_name(run: Sequence[_Word], score: float, *, marked: bool) -> bool:
    """Whether words may be a name at this score; ``marked`` words stand in quotes or beside a kind."""
    if len(run) > 1:
        ordinary = any(word.text in _COMMON for word in run)
        return score >= VARIANT or (any(word.plain for word in run) and not ordinary)
    return (run[0].plain and (marked or len(run[0].text) > 2)) or (marked and score == EXACT)


def _kinds_beside(words: Sequence[_Word], start: int, end: int) -> set[str]:
    """The kinds that stand before or after words start to end: "pods of checkout", "checkout deployment"."""
    before = start - 1
    while before >= 0 and words[before].text in _FILLERS:
        before -= 1
    kinds = {words[before].kind} if before >= 0 and not _broken(words[before + 1 : start + 1]) else set()
    if end < len(words) and not _broken(words[end : end + 1]):
        kinds.add(words[end].kind)
    return kinds - {"", "Namespace"}


def _broken(words: Iterable[_Word]) -> bool:
    return any(_BREAK.search(word.before) for word in words)


def _meant(groups: Sequence[Group], kinds: set[str], namespaces: Sequence[str]) -> Sequence[Group]:
    """Of several groups those in the named namespaces and with the named kinds, if there are such."""
    inside = [[ref for ref in refs if ref.namespace in namespaces] for refs in groups]
    groups = [refs for refs in inside if refs] or groups
    return [refs for refs in groups if any(ref.kind in kinds for ref in refs)] or groups


def _objects(groups: Iterable[Group], kinds: set[str]) -> Iterator[ObjectRef]:
    for refs in groups:
        spaces = {ref.namespace for ref in refs if ref.kind in kinds} or {ref.namespace for ref in refs}
        for space in sorted(spaces):
            yield from _of_kind([ref for ref in refs if ref.namespace == space], kinds)


def _of_kind(refs: Group, kinds: set[str]) -> list[ObjectRef]:
    """Objects of one name and namespace: those of the kinds, with the workload behind a service or a claim."""
    own = {ref.kind for ref in refs}
    main = min(own, key=_rank)
    made = {"Pod", "Job"} if main == "CronJob" else {"Pod"}  # by the workload, which is meant
    wanted = (kinds - made) & own
    if not wanted.intersection(_WORKLOADS):
        wanted = wanted | {main}
    return sorted((ref for ref in refs if ref.kind in wanted), key=lambda ref: (ref.kind not in kinds, _rank(ref.kind)))


def _rank(kind: str) -> int:
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def _title(name: str, kind: str) -> str:
    """A name without what was generated: of a pod the hashes or the ordinal, of a job the time of its schedule."""
    if kind == "Node":
        return name.partition(".")[0]
    if kind == "Job":
        return _without(name, lambda end: end.isdigit() and len(end) >= 8)
    if kind == "Pod":
        head = _without(name, lambda end: len(end) == 5 and _RANDOM.issuperset(end))
        if head == name:
            return _without(name, str.isdigit)
        return _without(head, lambda end: 6 <= len(end) <= 10 and (end.isdigit() or _RANDOM.issuperset(end)))
    return name


def _without(name: str, generated: Callable[[str], bool]) -> str:
    head, _, end = name.rpartition("-")
    return head if head and generated(end) else name


def _joined(words: Iterable[_Word]) -> str:
    return "-".join(word.text for word in words)


def _pieces(name: str) -> list[str]:
    return [piece for piece in name.replace(".", "-").split("-") if piece]


def _singulars(word: str) -> list[str]:
    """The word, and what it may be the plural or the possessive of; the plural too, for names that are one."""
    ends = {"ies": "y", "es": "", "s": ""}
    return [word, *(word[: -len(end)] + more for end, more in ends.items() if word.endswith(end)), f"{word}s"]


def _alike(word: str, name: str) -> bool:
    """Whether one may be a slip of the keys for the other: long enough, same first letter, four fifths the same."""
    if min(len(word), len(name)) < 4 or abs(len(word) - len(name)) > 2 or word[0] != name[0]:
        return False
    if len(set(word).difference(name)) > len(word) // 5 or len(set(name).difference(word)) > len(name) // 5:
        return False  # quickly: a slip brings few other letters
    return SequenceMatcher(None, word, name, autojunk=False).ratio() >= 0.8
