"""The gate: what the policy's verdict means for this run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from holmes.tools.tool import PERSON, Tool, ToolContext, Verdict

Mode = Literal["never", "ask", "always"]


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A call that waits for a person."""

    call_id: str
    tool_name: str
    args: Mapping[str, Any]
    show: str  # the exact command, or the call
    reason: str
    prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What the person said; ``note`` goes to the model when it was no."""

    approved: bool
    note: str = ""


Asker = Callable[[PendingApproval], Awaitable[Decision]]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call with verdict ask or deny that did not run."""

    tool_name: str
    show: str
    reason: str
    verdict: Literal["ask", "deny"]


@dataclass(slots=True)
class ApprovalGate:
    """Turns verdicts into allow or deny. Deny is never overruled; without somebody to ask, "ask" is refused."""

    mode: Mode = "never"
    asker: Asker | None = None
    refusals: list[Refusal] = field(default_factory=list)

    async def decide(self, tool: Tool, args: Mapping[str, Any], verdict: Verdict, ctx: ToolContext) -> Verdict:
        """Allow or deny, with the reason for the model."""
        if verdict.decision == "allow":
            return verdict
        if verdict.decision == "deny":
            return self._refuse(tool, verdict, verdict.reason)
        if self.mode == "always":
            return Verdict("allow", "approved for the whole run", "approve always", verdict.show)
        if self.mode == "never" or self.asker is None:
            return self._refuse(tool, verdict, f"{verdict.reason}, so a person would have to approve it")
        show = verdict.show or f"{tool.name} {dict(args)}"
        decision = await self.asker(
            PendingApproval(ctx.call_id, tool.name, args, show, verdict.reason, verdict.prefixes)
        )
        if decision.approved:
            return Verdict("allow", "approved by a person", PERSON, show)
        note = f"a person said no: {decision.note}" if decision.note else "a person said no"
        return self._refuse(tool, replace(verdict, rule=PERSON), note)

    def _refuse(self, tool: Tool, verdict: Verdict, reason: str) -> Verdict:
        kind: Literal["ask", "deny"] = "deny" if verdict.decision == "deny" else "ask"
        self.refusals.append(Refusal(tool.name, verdict.show, reason, kind))
        return Verdict("deny", reason, verdict.rule, verdict.show, verdict.prefixes)
