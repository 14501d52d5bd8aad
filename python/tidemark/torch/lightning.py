"""Measures GPU memory in Lightning: `Trainer(callbacks=[Memory(max_peak="70GiB")])`."""

from __future__ import annotations

from typing import Any

from tidemark.torch._training import TrainingMemory

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback


class Memory(TrainingMemory, Callback):  # type: ignore[misc]  # where Lightning isn't installed
    __doc__ = TrainingMemory.__doc__

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self.begin_training()

    def on_train_batch_start(self, *_given: Any, **_named: Any) -> None:
        self.begin_step()

    def on_train_batch_end(self, *_given: Any, **_named: Any) -> None:
        self.end_step()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        for name, value in self.figures().items():
            pl_module.log(name, value, sync_dist=True, reduce_fx="max")

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        for logger in trainer.loggers:
            logger.log_metrics(self.figures(), step=trainer.global_step)
        self.end_training()

    def on_exception(self, *_given: Any, **_named: Any) -> None:
        self.stop_recording()
