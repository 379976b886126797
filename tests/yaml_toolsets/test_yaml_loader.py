"""Toolset files: everything that is wrong comes at once as file:line, and costs only its own toolset."""

from __future__ import annotations

from pathlib import Path

import pytest

from holmes.core.errors import ConfigError
from holmes.core.yaml_marks import load, load_file
from holmes.tools.yaml_loader import ToolsetDefinition, load_toolsets

ENV = {"URL": "http://host", "EMPTY": ""}


def read(text: str, env: dict[str, str] = ENV) -> tuple[dict[str, ToolsetDefinition], list[str]]:
    found, problems = load_toolsets(load(text, "own.yaml"), env)
    return {each.name: each for each in found}, [
        f"{problem}{' (warning)' if problem.warning else ''}" for problem in problems
    ]


def one(text: str, env: dict[str, str] = ENV) -> tuple[ToolsetDefinition, list[str]]:
    found, problems = read(text, env)
    return next(iter(found.values())), problems


TROUBLE = """\
toolsets:
  fine:
    tools:
      - {name: fine_tool, description: d, command: date}
  one:
    enbled: true
    config:
      servers:
        - url: "{{ env.URL }}"
          keys: ["{{ env.EMPTY }}", "{{ env.UNSET_A }}"]
      deep: {er: {still: "x {{ env.UNSET_B }} y"}}
    tools:
      - {name: a, description: d, command: date}
      - name: a
        description: again
        command: date
  two:
    tags: core
    tools:
      - name: has space
        description: [d]
        comand: date
      - name: both
        description: d
        command: date
        script: date
      - name: nothing
        command: date
      - name: braces
        description: d
        command: docker ps --format '{{.Names}}'
      - name: code
        description: d
        command: sh -c '{{ x }}'
      - name: fine_tool
        description: d
        command: date
      - just text
  three:
    prerequisites:
      - {command: date, env: [A]}
      - {command: "kubectl get {{ kind }}"}
      - {env: HOME}
      - {comand: date}
    approval_required_tools: [delete_podz]
    llm_instructions: "{% if %}"
    transformers: [{name: llm_sumarize}]
    tools:
      - name: delete_pods
        description: d
        command: date
        parameters:
          kind: {type: strng, requird: true}
          limit: 5
  four: [a]
  five: {type: htp}
  six: {enabled: maybe}
"""


def test_everything_wrong_is_reported_at_once_with_its_line() -> None:
    found, problems = read(TROUBLE)
    assert problems == [
        "own.yaml:6: one: unknown key enbled; did you mean enabled? (warning)",
        "own.yaml:10: one: config: the environment variable UNSET_A is not set",
        "own.yaml:11: one: config: the environment variable UNSET_B is not set",
        "own.yaml:14: one.tools.1: name: this toolset has a tool a already",
        "own.yaml:17: two: fine (own.yaml:2) has a tool fine_tool already",
        'own.yaml:18: two: tags: expected a list of texts, found the text "core"',
        "own.yaml:20: two.tools.0: name: a tool's name has letters, digits, _ and -, 64 at most; found has space",
        "own.yaml:20: two.tools.0: a tool has one of command and script",
        "own.yaml:21: two.tools.0: description: expected text, found a list",
        "own.yaml:22: two.tools.0: unknown key comand; did you mean command? (warning)",
        "own.yaml:23: two.tools.1: a tool has command or script, not both",
        "own.yaml:27: two.tools.2: description is missing",
        "own.yaml:31: two.tools.3: command: no valid template: unexpected '.' "
        "(for braces that are no placeholder write {% raw %}...{% endraw %})",
        "own.yaml:34: two.tools.4: code: x stands in the program text of sh; such calls need approval (warning)",
        'own.yaml:38: two.tools.6: expected keys and values, found the text "just text"',
        "own.yaml:41: three.prerequisites.0: a prerequisite has one of command, env and enabled",
        "own.yaml:42: three.prerequisites.1: command: a prerequisite has no parameters, but it asks for kind",
        'own.yaml:43: three.prerequisites.2: env: expected a list of texts, found the text "HOME"',
        "own.yaml:44: three.prerequisites.3: unknown key comand; did you mean command? (warning)",
        "own.yaml:44: three.prerequisites.3: a prerequisite has one of command, env and enabled",
        "own.yaml:45: three: approval_required_tools: no tool is called delete_podz; did you mean delete_pods?",
        "own.yaml:46: three: llm_instructions: no valid template: Expected an expression, got 'end of statement block'",
        "own.yaml:47: three.transformers.0: there is no transformer llm_sumarize; did you mean llm_summarize?",
        "own.yaml:53: three.tools.0.parameters.kind: unknown key requird; did you mean required? (warning)",
        "own.yaml:53: three.tools.0.parameters.kind: type: expected one of string, integer, number, boolean, array, "
        "object, null, found strng",
        "own.yaml:54: three.tools.0.parameters.limit: expected keys and values, found the number 5",
        "own.yaml:55: four: expected keys and values, found a list",
        "own.yaml:56: five: type: expected one of custom, http, database, mongodb, mcp, found htp; did you mean http?",
        'own.yaml:57: six: enabled: expected true or false, found the text "maybe"',
    ]
    assert [name for name, each in found.items() if not each.problems] == ["fine"]
    assert [tool.name for tool in found["fine"].tools] == ["fine_tool"]
    for name, count in (("one", 3), ("four", 1), ("five", 1), ("six", 1)):
        assert len(found[name].problems) == count, name
        assert not any(problem.warning for problem in found[name].problems)


def test_an_unset_variable_is_not_an_empty_one() -> None:
    definition, problems = one('a: {config: {x: ["{{ env.EMPTY }}", {y: "{{env.URL}}/p"}]}}')
    assert problems == []
    assert definition.config == {"x": ["", {"y": "http://host/p"}]}
    definition, problems = one('a: {config: {x: "{{ env.UNSET }}"}}')
    assert problems == ["own.yaml:1: a: config: the environment variable UNSET is not set"]


def test_variables_in_commands_are_looked_for_when_loading_and_never_written_into_them() -> None:
    text = "a: {tools: [{name: t, description: d, command: 'curl {{ env.URL }} {{ env.B | default(1) }}'}]}"
    definition, problems = one(text)
    assert problems == []
    assert "http://host" not in definition.tools[0].template.source
    _, problems = one(text.replace("URL", "UNSET"))
    assert problems == ["own.yaml:1: a.tools.0: command: the environment variable UNSET is not set"]
    _, problems = one(text.replace("URL", "OPENAI_API_KEY"), {"OPENAI_API_KEY": "sk-1"})
    assert problems == [
        "own.yaml:1: a.tools.0: command: OPENAI_API_KEY is a language model's key; no tool gets it (warning)"
    ]


def test_a_secret_does_not_show_in_a_complaint() -> None:
    _, problems = one('a: {tags: "{{ env.SECRET }}"}', {"SECRET": "hunter2"})
    assert problems == ['own.yaml:1: a: tags: expected a list of texts, found the text "{{ env.SECRET }}"']


def test_tabs_byte_order_marks_and_files_that_are_no_yaml(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_bytes("\ufefftoolsets:\n  a: {tools: [{name: t, description: d, command: date}]}\n".encode())
    found, problems = load_toolsets(load_file(file), ENV)
    assert (found[0].name, found[0].where, problems) == ("a", f"{file}:2", [])
    file.write_text("toolsets:\n\ta: 1\n")
    with pytest.raises(ConfigError, match=r"own\.yaml:2: .*tabs"):
        load_file(file)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_file(tmp_path / "absent.yaml")


def test_names_written_twice() -> None:
    _, problems = read("toolsets:\n  a: {enabled: false}\n  a: {enabled: true}\n")
    assert problems == ["own.yaml:3: the key a stands here twice; the last one counts (warning)"]


def test_documents_without_toolsets() -> None:
    assert read("") == ({}, [])
    assert read("toolsets:\nmcp_servers:\n") == ({}, [])
    assert read("- a\n")[1] == ["own.yaml:1: expected names of toolsets, each with its settings below it, found a list"]
    assert read("toolsets: [a]\n")[1] == ["own.yaml:1: toolsets: expected keys and values, found a list"]


def test_both_forms_of_a_file_and_other_keys_beside_them() -> None:
    tool = "{tools: [{name: t, description: d, command: date}]}"
    for text in (f"a: {tool}", f"toolsets: {{a: {tool}}}", f"model: gpt-4o\ntoolsets: {{a: {tool}}}"):
        definition, problems = one(text)
        assert (definition.name, len(definition.tools), problems) == ("a", 1, [])
    found, problems = read("toolsets: {on: true, off: false, unsaid: null, 7: {description: seven}}")
    assert [(each.name, each.enabled) for each in found.values()][2:] == [("unsaid", True), ("7", True)]


FULL = """
full:
  enabled: "true"
  description: A toolset
  docs_url: http://docs
  icon_url: http://icon
  installation_instructions: install it
  experimental: true
  expose_remotely: true
  subtype: coralogix
  type: custom
  status_refresh_interval_seconds: 30
  tags: [core, cli]
  approval_required_tools: ["del*"]
  llm_instructions: "Use {{ tool_names }}"
  transformers: [{name: log_dedupe, config: {min_lines: 10}}]
  config: {a: 1}
  prerequisites:
    - command: kubectl version --client
      expected_output: Client
    - env: [URL, OTHER]
    - enabled: false
      disabled_reason: not here
  tools:
    - name: delete_it
      description: Deletes
      user_description: "deleting {{ name }}"
      icon_url: http://icon2
      parameters:
        kind: {type: string, description: A kind, enum: [pod, job]}
        limit: {type: integer, required: false, minimum: 1}
        any: {any_of: [{type: integer}, {type: string}], required: false}
        list: {type: array, items: {type: string}, required: false}
        object:
          type: object
          required: false
          properties: {a: {type: integer}, b: {type: string, required: false}}
        plain:
      script: |
        kubectl delete {{ kind }} {{ name }}
"""


def test_every_key_of_the_schema() -> None:
    definition, problems = one(FULL)
    assert problems == []
    assert (definition.enabled, definition.experimental, definition.expose_remotely) == (True, True, True)
    assert (definition.description, definition.docs_url, definition.icon_url) == (
        "A toolset",
        "http://docs",
        "http://icon",
    )
    assert (definition.installation_instructions, definition.subtype) == ("install it", "coralogix")
    assert (definition.status_refresh_interval_seconds, definition.tags) == (30.0, ("core", "cli"))
    assert definition.prerequisites.env == ("URL", "OTHER")
    assert (definition.prerequisites.enabled, definition.prerequisites.disabled_reason) == (False, "not here")
    assert [each.expected_output for each in definition.prerequisites.commands] == ["Client"]
    (tool,) = definition.tools
    assert tool.icon_url == "http://icon2"
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "description": "A kind", "enum": ["pod", "job"]},
            "limit": {"type": "integer", "minimum": 1},
            "any": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "list": {"type": "array", "items": {"type": "string"}},
            "object": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
                "required": ["a"],
            },
            "plain": {"type": "string"},
            "name": {"type": "string"},
        },
        "required": ["kind", "plain", "name"],
        "additionalProperties": False,
    }


def test_placeholders_nobody_declared_are_required_texts() -> None:
    source = "{% set own = 1 %}{% for x in names %}{{ x }}{{ own }}{% endfor %}{{ namespace }} {{ env.URL }}"
    source += " {{ request_context.headers.user }} {# {{ comment }} #} {% raw %}{{ raw }}{% endraw %}"
    definition, problems = one(
        f"a:\n  tools:\n    - name: t\n      description: d\n      command: |\n        ls {source}\n"
    )
    assert problems == []
    assert definition.tools[0].parameters["required"] == ["names", "namespace"]


def test_old_names_and_keys() -> None:
    found, problems = read("""
toolsets:
  coralogix/logs: {config: {a: 1}}
  kubectl-run: {enabled: true}
  a: {restricted_tools: [x]}
""")
    assert list(found) == ["coralogix", "a"]
    assert problems == [
        "own.yaml:3: coralogix/logs: coralogix/logs is now called coralogix (warning)",
        "own.yaml:4: kubectl-run: kubectl-run does not exist any more; it is ignored (warning)",
        "own.yaml:5: a: restricted_tools is no longer read; use approval_required_tools (warning)",
    ]


def test_other_types_pass_through_whole() -> None:
    found, problems = read("""
toolsets:
  api: {type: http, endpoints: [{hosts: ["{{ env.URL }}"]}], config: {timeout: 5}}
  db: {type: database, config: {connection_url: "{{ env.URL }}"}}
mcp_servers:
  github: {url: "{{ env.URL }}/mcp", extra_headers: {X: "{{ request_context.headers['x'] }}"}}
""")
    assert problems == []
    assert [(each.name, each.type) for each in found.values()] == [
        ("api", "http"),
        ("db", "database"),
        ("github", "mcp"),
    ]
    assert found["api"].settings["endpoints"] == [{"hosts": ["http://host"]}]
    assert found["github"].settings == {
        "url": "http://host/mcp",
        "extra_headers": {"X": "{{ request_context.headers['x'] }}"},
    }
    assert found["db"].written == {"type", "config"}
