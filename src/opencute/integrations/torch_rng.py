# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Random numbers of the simulated CUDA device: a state of its own, beside the CPU's.

In: the torch module. Out: a `CudaRandom` whose `state()` block makes torch's default generator *be*
the device's one, and a `Generator` class that accepts ``device="cuda"``. So seeding the device does
not disturb CPU numbers and the other way round, as on a GPU::

    with random.active():
        torch.randn(3)       # drawn from the device's state
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["RANDOM_FUNCTIONS", "CudaRandom", "generator_class"]

RANDOM_FUNCTIONS = frozenset((
    "alpha_dropout", "bernoulli", "bernoulli_", "binomial", "cauchy_", "dropout", "dropout1d",
    "dropout2d", "dropout3d", "dropout_", "exponential_", "feature_alpha_dropout",
    "feature_dropout", "geometric_", "gumbel_softmax", "kaiming_normal_", "kaiming_uniform_",
    "log_normal_", "multinomial", "normal", "normal_", "poisson", "rand", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "random_", "randperm", "rrelu", "rrelu_",
    "scaled_dot_product_attention", "trunc_normal_", "uniform_", "xavier_normal_",
    "xavier_uniform_",
))  # fmt: skip


class CudaRandom:
    """The device's generator state.

    Args:
        torch: the torch module.
    """

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.lock = threading.RLock()
        self.generator = torch.Generator()
        self.generator.manual_seed(torch.initial_seed())

    @contextmanager
    def active(self) -> Generator[None, None, None]:
        """Draw from the device's state inside the block."""
        default = self.torch.default_generator
        with self.lock:
            before = default.get_state()
            default.set_state(self.generator.get_state())
            try:
                yield
            finally:
                self.generator.set_state(default.get_state())
                default.set_state(before)

    def manual_seed(self, seed: int) -> None:
        """Seed the device's generator."""
        self.generator.manual_seed(int(seed))


def generator_class(torch: Any, device_of: Any) -> type:
    """A `torch.Generator` that also accepts a CUDA device.

    Args:
        torch: the torch module.
        device_of: function from a device argument to a `torch.device` with an index.
    """
    real: Any = torch.Generator
    base_meta: Any = real.__class__

    class Meta(base_meta):
        def __instancecheck__(self, instance: Any) -> bool:
            return isinstance(instance, real)

    class Generator(real, metaclass=Meta):
        """CPU generator that answers cuda when it was made for cuda."""

        def __new__(cls, device: Any = "cpu") -> Any:
            wanted = device_of(device)
            if wanted.type != "cuda":
                return real(device)
            self: Any = real.__new__(cls, device="cpu")
            self._opencute_device = wanted
            return self

        def __init__(self, device: Any = "cpu") -> None:
            pass

        @property
        def device(self) -> Any:
            return self._opencute_device

    return Generator
