"""Programs inside commands: sed, awk, jq, and hosts."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from holmes.tools.policy.awk import judge_awk
from holmes.tools.policy.network import judge_url
from holmes.tools.policy.queries import judge_jq, judge_psql
from holmes.tools.policy.sed import judge_sed

TABLE = yaml.load((Path(__file__).parent / "languages.yaml").read_text(), Loader=yaml.CSafeLoader)


@pytest.mark.parametrize("program", TABLE["sed reads"])
def test_sed_that_only_edits_its_stream(program: str) -> None:
    assert judge_sed(program) is None


@pytest.mark.parametrize("program", TABLE["sed does more"])
def test_sed_that_does_more_or_is_odd(program: str) -> None:
    assert judge_sed(program) is not None


@pytest.mark.parametrize("program", TABLE["awk reads"])
def test_awk_that_only_reads(program: str) -> None:
    assert judge_awk(program) is None


@pytest.mark.parametrize("program", TABLE["awk does more"])
def test_awk_that_does_more_or_is_odd(program: str) -> None:
    assert judge_awk(program) is not None


@pytest.mark.parametrize("program", TABLE["jq reads"])
def test_jq_without_environment_and_modules(program: str) -> None:
    assert judge_jq(program) is None


@pytest.mark.parametrize("program", TABLE["jq does more"])
def test_jq_with_environment_or_modules(program: str) -> None:
    assert judge_jq(program) is not None


@pytest.mark.parametrize("text", TABLE["psql reads"])
def test_psql_commands_that_list(text: str) -> None:
    assert judge_psql(text, None) is None


@pytest.mark.parametrize("text", TABLE["psql does more"])
def test_psql_commands_that_do_more(text: str) -> None:
    assert judge_psql(text, lambda sql: True) is not None


@pytest.mark.parametrize(("url", "wanted"), [(url, kind) for kind, urls in TABLE["urls"].items() for url in urls])
def test_urls(url: str, wanted: str) -> None:
    ruling = judge_url(url, frozenset())
    assert (ruling.decision if ruling else "allow") == wanted
