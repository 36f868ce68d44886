# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated torch device answers as a CUDA device does."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from opencute.integrations import torch_sim

pytestmark = pytest.mark.t0

torch: Any = pytest.importorskip("torch")
CUDA = "cuda:0"


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    with torch_sim.simulated_cuda():
        yield
    assert not torch_sim.installed()


def where(tensor: Any) -> str:
    return str(tensor.device)


@pytest.mark.parametrize("spelling", ["cuda", "cuda:0", 0, torch.device("cuda")])
def test_spellings_of_the_device(spelling: Any) -> None:
    t = torch.ones(2, device=spelling)
    assert (where(t), t.is_cuda, t.is_cpu, t.get_device()) == (CUDA, True, False, 0)
    assert where(torch.ones(2).to(spelling)) == CUDA
    assert where(torch.ones(2).to(device=spelling)) == CUDA
    assert where(torch.ones(2).cuda(spelling)) == CUDA


FACTORIES = {
    "zeros": lambda d: torch.zeros(2, 3, device=d),
    "ones": lambda d: torch.ones(2, device=d),
    "empty": lambda d: torch.empty(2, device=d),
    "empty_strided": lambda d: torch.empty_strided((2, 2), (1, 2), device=d),
    "full": lambda d: torch.full((2,), 3.0, device=d),
    "randn": lambda d: torch.randn(2, device=d),
    "rand": lambda d: torch.rand((2,), device=d),
    "randint": lambda d: torch.randint(0, 5, (2,), device=d),
    "randperm": lambda d: torch.randperm(4, device=d),
    "arange": lambda d: torch.arange(4, device=d),
    "linspace": lambda d: torch.linspace(0, 1, 4, device=d),
    "eye": lambda d: torch.eye(2, device=d),
    "tensor": lambda d: torch.tensor([1, 2], device=d),
    "as_tensor": lambda d: torch.as_tensor([1, 2], device=d),
    "tril_indices": lambda d: torch.tril_indices(2, 2, device=d),
    "new_zeros": lambda d: torch.ones(1).new_zeros(2, device=d),
    "zeros_like": lambda d: torch.zeros_like(torch.ones(2), device=d),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name: str) -> None:
    assert where(FACTORIES[name]("cuda")) == CUDA
    assert where(FACTORIES[name]("cpu")) == "cpu"
    assert where(FACTORIES[name](None)) == "cpu"


def test_results_follow_their_inputs() -> None:
    x = torch.randn(4, 4, device="cuda")
    results = [
        x + 1, 1 + x, x @ x, x.T, x[0], x[:, None], x.view(-1), x.half(), x.to(torch.float64),
        x.detach(), x.clone(), x.data, torch.relu(x), x.sum(), x.contiguous(), torch.empty_like(x),
        torch.randn_like(x), x.new_empty(3), torch.cat([x, x]), torch.stack((x, x)), x.max(0)[1],
        x.topk(2).values, *x.split(2), *torch.unbind(x), torch.where(x > 0, x, 0.0),
        torch.nn.functional.softmax(x, -1), torch.einsum("ij,kj->ik", x, x), x.expand(2, 4, 4),
        x.to(x), torch.ones(2).to(x), torch.tensor(x.tolist(), device=x.device), copy.deepcopy(x),
        torch.nn.functional.linear(x, x), x.bernoulli(0.5), x.float().type(torch.int32), ~(x > 0),
    ]  # fmt: skip
    assert {where(r) for r in results} == {CUDA}
    x += 1
    x[0] = 0
    x.mul_(2)
    assert where(x) == CUDA
    assert where(x.cpu()) == where(x.to("cpu")) == where(torch.ones(2) + 1) == "cpu"


def test_moving_copies_and_staying_does_not() -> None:
    host = torch.ones(3)
    on_device = host.cuda()
    on_device += 1
    assert host.tolist() == [1, 1, 1]
    assert on_device.cuda() is on_device
    assert on_device.to("cuda").data_ptr() == on_device.data_ptr()
    assert on_device.to("cuda", copy=True).data_ptr() != on_device.data_ptr()
    back = on_device.cpu()
    back += 1
    assert on_device.tolist() == [2, 2, 2]
    assert on_device.to("cpu", torch.float16, True).dtype == torch.float16
    assert host.to(torch.device("cuda"), dtype=torch.int32).dtype == torch.int32


def test_strides_and_alignment_are_those_of_real_memory() -> None:
    x = torch.randn(4, 6, device="cuda").T
    assert x.cpu().stride() == x.stride() == (1, 6)
    assert x.data_ptr() % 16 == 0


def test_devices_may_not_be_mixed() -> None:
    x, y = torch.ones(2, device="cuda"), torch.ones(2)
    for mix in (lambda: x + y, lambda: torch.cat([x, y]), lambda: torch.add(y, x)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            mix()
    assert where(x + torch.tensor(2.0)) == CUDA
    assert where(torch.where(x > 0, torch.tensor(1.2), x)) == CUDA
    y.copy_(x)
    x.copy_(y)
    x[:1] = torch.zeros(1)
    assert where(x[torch.tensor([0])]) == CUDA
    assert (where(y), where(x)) == ("cpu", CUDA)


def test_numpy_needs_a_copy_on_the_host() -> None:
    import numpy as np

    x = torch.ones(2, device="cuda")
    for convert in (lambda: x.numpy(), lambda: np.asarray(x)):
        with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
            convert()
    assert x.cpu().numpy().tolist() == [1, 1]
    assert torch.from_numpy(np.ones(2)).is_cuda is False


def test_assert_close_looks_at_the_device() -> None:
    x = torch.ones(2, device="cuda")
    torch.testing.assert_close(x, x.clone())
    with pytest.raises(AssertionError, match="device"):
        torch.testing.assert_close(x, x.cpu())
    with pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_close(x, x + 1)


def test_texts() -> None:
    x = torch.tensor([1.0, 2.0], device="cuda")
    assert repr(x) == f"{x}" == "tensor([1., 2.], device='cuda:0')"
    assert repr(x.half()) == "tensor([1., 2.], device='cuda:0', dtype=torch.float16)"
    assert repr(x[0]) == "tensor(1., device='cuda:0')"
    assert repr(x[0].half()) == "tensor(1., device='cuda:0', dtype=torch.float16)"
    assert f"{x[0]:.2f}" == "1.00"
    assert (x.type(), x.cpu().type()) == ("torch.cuda.FloatTensor", "torch.FloatTensor")


def test_a_device_that_does_not_exist() -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(1, device="cuda:1")
    with pytest.raises(RuntimeError, match="must be cuda"):
        torch.ones(1).cuda("cpu")


def test_modules_and_optimizers() -> None:
    layer = torch.nn.Linear(3, 2).cuda()
    other = torch.nn.Linear(3, 2, device="cuda")
    assert {where(p) for m in (layer, other) for p in m.parameters()} == {CUDA}
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.ones(1, 3, device="cuda")).sum().backward()
    optimizer.step()
    assert where(layer.weight.grad) == CUDA
    assert where(layer.to("cpu").weight) == "cpu"


@pytest.mark.parametrize("how", ["backward", "autograd.backward", "grad"])
def test_a_users_autograd_function(how: str) -> None:
    seen: list[str] = []

    class Relu(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return torch.relu(x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            seen.extend(map(where, (x, grad, torch.empty_like(grad))))
            return grad * (x > 0)

    x = torch.randn(3, device="cuda", requires_grad=True)
    loss = Relu.apply(x).sum()
    if how == "backward":
        loss.backward()
        grad = x.grad
    elif how == "autograd.backward":
        torch.autograd.backward([loss])
        grad = x.grad
    else:
        (grad,) = torch.autograd.grad(loss, x)
    assert seen == [CUDA] * 3
    assert where(grad) == CUDA


def test_default_devices() -> None:
    torch.set_default_device("cuda")
    try:
        assert where(torch.ones(1)) == CUDA
        assert where(torch.ones(1, device="cpu")) == "cpu"
        assert where(torch.nn.Linear(1, 1).weight) == CUDA
    finally:
        torch.set_default_device(None)
    with torch.device("cuda"):
        assert where(torch.ones(1)) == CUDA
    assert where(torch.ones(1)) == "cpu"


def test_meta_tensors_are_left_alone() -> None:
    t = torch.empty(3, device="meta")
    assert (where(t), t.is_cuda) == ("meta", False)
    assert where(torch.ones(2, device="cuda").to("meta")) == "meta"


def test_all_threads() -> None:
    seen: list[str] = []
    thread = threading.Thread(target=lambda: seen.append(where(torch.ones(1, device="cuda"))))
    thread.start()
    thread.join()
    with ThreadPoolExecutor(2) as pool:
        seen += pool.map(lambda _: where(torch.ones(1, device="cuda") * 2), range(4))
    assert seen == [CUDA] * 5


def test_pinned_memory_and_streams_of_tensors() -> None:
    assert torch.empty(2, pin_memory=True).is_pinned()
    assert torch.ones(2).pin_memory().is_pinned()
    assert not torch.ones(2).is_pinned()
    torch.ones(2, device="cuda").record_stream(torch.cuda.current_stream())


def test_dlpack_shares_memory() -> None:
    import numpy as np

    x = torch.ones(2, device="cuda")
    y = torch.utils.dlpack.from_dlpack(x)
    y += 1
    assert (x.tolist(), where(y)) == ([2, 2], CUDA)
    assert np.from_dlpack(x).ctypes.data == x.data_ptr()
    assert x.__dlpack__(stream=1) is not None


def test_uninitialized_memory_is_known() -> None:
    seen: list[Any] = []
    torch_sim.on_empty.append(seen.append)
    try:
        x = torch.empty(4, device="cuda")
        y = torch.empty_like(x)
        z = x.new_empty(2)
    finally:
        torch_sim.on_empty.clear()
    assert [t.data_ptr() for t in seen] == [x.data_ptr(), y.data_ptr(), z.data_ptr()]
    assert all(map(torch_sim.is_uninitialized, (x, y, z, x[1:], x.view(2, 2))))
    assert not torch_sim.is_uninitialized(torch.zeros(1, device="cuda"))
    x.requires_grad_(False)
    assert torch_sim.is_uninitialized(x)
    x[0] = 1
    y.copy_(x)
    torch.add(torch.ones(2, device="cuda"), 1, out=z)
    assert not any(map(torch_sim.is_uninitialized, (x, y, z)))
    w = torch.empty(2)
    torch_sim.mark_initialized(w)
    assert not torch_sim.is_uninitialized(w)
    layer = torch.nn.Linear(2, 2, device="cuda")
    assert not torch_sim.is_uninitialized(layer.weight)


def test_uninstall_restores_everything() -> None:
    x = torch.ones(2, device="cuda")
    torch_sim.uninstall()
    assert not torch_sim.installed()
    assert where(x) == "cpu"
    assert torch.Generator.__name__ == "Generator"
    assert isinstance(torch.Generator(), torch.Generator)
    if not torch.backends.cuda.is_built():
        assert not torch.cuda.is_available()
        with pytest.raises((RuntimeError, AssertionError)):
            torch.ones(1, device="cuda")
    torch_sim.uninstall()
    torch_sim.install()
    torch_sim.install()
    assert torch.cuda.is_available()


def test_memory_of_the_device_is_aligned_as_a_gpu_s() -> None:
    sizes = range(1, 30)
    kept = [torch.empty(n, 3, dtype=torch.uint8, device=CUDA) for n in sizes]
    made = [torch.arange(n, device=CUDA) for n in sizes] + [torch.arange(n).cuda() for n in sizes]
    kept += made + [torch.zeros_like(t) + 1 for t in made]
    assert not any(t.data_ptr() % 256 for t in kept)
    assert all((t.cpu() == torch.arange(len(t))).all() for t in made)
    leaf = torch.ones(3, 5, device=CUDA, requires_grad=True)
    (leaf * 2).sum().backward()
    assert where(leaf.grad) == CUDA and bool((leaf.grad == 2).all())
    assert leaf[1:].data_ptr() == leaf.data_ptr() + 20
