"""Measures GPU memory in Hugging Face's trainer: `Trainer(callbacks=[Memory("run.tml")])`."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from tidemark.torch._training import TrainingMemory


class Memory(TrainingMemory, TrainerCallback):  # type: ignore[misc]  # where it isn't installed
    __doc__ = TrainingMemory.__doc__

    # If it is set, the figures go everywhere the trainer reports to. (A callback doesn't get its
    # trainer.) Without it, the figures are only in `state.log_history`.
    trainer: Any = None

    def on_train_begin(self, *_given: Any, **_named: Any) -> None:
        self.begin_training()

    def on_step_begin(self, *_given: Any, **_named: Any) -> None:
        self.begin_step()

    def on_step_end(self, *_given: Any, **_named: Any) -> None:
        self.end_step()

    def on_train_end(self, args: Any, state: Any, *_given: Any, **_named: Any) -> None:
        figures = self.figures()
        if figures and self.trainer is not None:
            self.trainer.log(figures)
        elif figures:
            state.log_history.append({**figures, "step": state.global_step})
        self.end_training()
