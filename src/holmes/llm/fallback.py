"""Goes on when a model stays down: with the fallback models, and at the very end with the offline analysis."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from holmes.core.errors import ModelError, ModelRefused, ModelUnavailable
from holmes.core.messages import Turn
from holmes.llm.base import LLM, Dialect, OnDelta, Request


class FallbackLLM:
    """Implements LLM with the first of its models that works; what took over stays.

    A model that is down (ModelUnavailable, after its own retries) is replaced by the next. When none is left, the
    last resort concludes from what was found; a refusal (wrong key, unknown model) comes to it only when there is
    something to conclude from. ``degraded`` then says why, and the answer counts as cut short.
    """

    def __init__(self, models: Sequence[LLM], last_resort: Callable[[], LLM]) -> None:
        self._models = list(models)
        self._last_resort = last_resort
        self.degraded = ""

    @property
    def name(self) -> str:
        """The model that is in use."""
        return self._models[0].name

    @property
    def window(self) -> int:
        """Its window in tokens."""
        return self._models[0].window

    @property
    def max_output(self) -> int:
        """Its output cap in tokens."""
        return self._models[0].max_output

    @property
    def dialect(self) -> Dialect:
        """What its provider refuses."""
        return self._models[0].dialect

    async def complete(self, request: Request, on_delta: OnDelta | None = None, deadline: float | None = None) -> Turn:
        """Ask the model in use, then the others. Raises the first one's error when nobody can go on."""
        notes: list[str] = []
        while True:
            try:
                turn = await self._models[0].complete(request, on_delta, self._share(deadline))
                return replace(turn, notes=(*notes, *turn.notes)) if notes else turn
            except ModelUnavailable as error:
                if len(self._models) == 1:
                    return await self._conclude(error, request, notes)
                notes.append(f"{self.name} is down ({error.message}); {self._models[1].name} goes on")
                await self._models.pop(0).close()
            except ModelRefused as error:
                if not _has_results(request):
                    raise
                return await self._conclude(error, request, notes)

    async def close(self) -> None:
        """Close all models."""
        for model in self._models:
            await model.close()

    def _share(self, deadline: float | None) -> float | None:
        """A silent model may use up its part of the time, not that of the models behind it."""
        if deadline is None:
            return None
        now = time.monotonic()
        return now + (deadline - now) / len(self._models)

    async def _conclude(self, error: ModelError, request: Request, notes: list[str]) -> Turn:
        if self.degraded:
            raise error
        resort = self._last_resort()
        try:
            turn = await resort.complete(request)
        except ModelError:
            raise error from None
        self.degraded = error.message
        notes.append(f"{self.name} cannot go on ({error.message}); the offline analysis does")
        self._models = [resort]
        return replace(turn, notes=(*notes, *turn.notes))


def _has_results(request: Request) -> bool:
    return any(message.role == "tool" or message.evidence for message in request.messages)
