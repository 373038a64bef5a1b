"""Tensors of PyTorch on the host and on GPUs. Results are on the device of the arguments, and GPUs work on PyTorch's
current stream. The tests are skipped without PyTorch, and tests of GPUs without a GPU. This file can also be run alone,
with NumPy, pytest and the package:

    PYTHONPATH=build/python/package python tests/python/torch_test.py
"""

import numpy as np
import pytest

import smallbatch

torch = pytest.importorskip("torch")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(
    not (torch.cuda.is_available() and smallbatch.device_count()), reason="no GPU, or no GPU that the library uses"))]


@pytest.fixture(params=DEVICES)
def device(request):
    return torch.device(request.param, 0) if request.param == "cuda" else torch.device("cpu")


def systems(device, batch=(5,), n=12, nrhs=3, dtype=torch.float64, seed=1):
    generator = torch.Generator().manual_seed(seed)
    g = 2 * torch.rand((*batch, n, n), generator=generator, dtype=torch.float64) - 1
    a = g @ g.mT / n + torch.eye(n, dtype=torch.float64)
    a = ((a + a.mT) / 2).to(dtype).double()
    x = torch.rand((*batch, n, nrhs), generator=generator, dtype=torch.float64)
    return a.to(device, dtype), (a @ x).to(device, dtype), x.to(device, dtype)


def close(found, wanted, tolerance=1e-10):
    return (found - wanted).abs().max().item() < tolerance


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_solutions_are_where_the_systems_are(device, dtype):
    a, b, x = systems(device, dtype=dtype)
    found = smallbatch.solve(a, b, numbers=["backward_error", "rcond", "smallest_pivot", "log_determinant"])
    tolerance = 1e-10 if dtype == torch.float64 else 1e-4
    assert found.x.device == found.info.device == found.rcond.device == device and found.x.dtype == dtype
    assert bool(found.ok.all()) and found.raise_for_status() is found
    assert close(found.x, x, tolerance)
    assert close(found.log_determinant, torch.logdet(a.double()), 1e-4)
    assert close(smallbatch.inverse(a).x @ a, torch.eye(12, dtype=dtype, device=device), tolerance)
    assert close(smallbatch.log_determinant(a).log_determinant, torch.logdet(a.double()), 1e-4)
    factor = smallbatch.factor(a)
    assert close(factor.solve(b).x, x, tolerance) and close(factor.solve(b[..., 0]).x, x[..., 0], tolerance)


def test_layouts(device):
    a, b, x = systems(device)
    wide = torch.full((5, 12, 20), torch.nan, dtype=a.dtype, device=device)
    wide[..., :12] = a
    for of_a in (a, a.mT.contiguous().mT, wide[..., :12], a.permute(1, 2, 0).contiguous().permute(2, 0, 1)):
        for of_b in (b, b.mT.contiguous().mT, torch.stack([b, b], dim=-1)[..., 0]):
            assert close(smallbatch.solve(of_a, of_b).x, x)
    lower = torch.tril(a) + torch.triu(torch.full_like(a, torch.nan), 1)
    assert close(smallbatch.solve(lower, b, triangle="lower").x, x)
    assert close(smallbatch.solve(lower.mT, b, triangle="upper").x, x)
    rows, columns = torch.tril_indices(12, 12)
    triangles = a[:, rows, columns]
    assert close(smallbatch.solve(triangles, b, packed=True).x, x)
    assert close(smallbatch.solve(a[0], b[:1].expand(5, 12, 3)).x, x[:1].expand(5, 12, 3))
    assert close(smallbatch.solve(a.reshape(5, 1, 12, 12).expand(5, 4, 12, 12), b[:, None]).x, x[:, None])


def test_failures(device):
    a, b, x = systems(device)
    a[3, 4, 4] = -1
    found = smallbatch.solve(a, b)
    assert found.info.tolist() == [0, 0, 0, 5, 0]
    with pytest.raises(smallbatch.NumericalFailure, match="the first is 3: pivot 5"):
        found.raise_for_status()
    assert close(found.x[found.ok], x[found.ok])


def test_potentials(device):
    generator = torch.Generator().manual_seed(2)
    position = (torch.rand((3, 50, 3), generator=generator, dtype=torch.float64) * 10).to(device)
    charge = (torch.rand((3, 50), generator=generator, dtype=torch.float64) - 0.5).to(device)
    points = position[:, :7] + 0.3
    away = points[:, :, None] - position[:, None]
    r = away.norm(dim=-1)
    v = (charge[:, None] / r).sum(dim=-1)
    e = (charge[:, None, :, None] * away / r[..., None] ** 3).sum(dim=-2)
    found = smallbatch.field(position, charge, points=points, unit="e/angstrom", precision="float64")
    assert found.potential.device == found.field.device == found.info.device == device
    assert close(found.potential, v) and close(found.field, e)
    together = torch.cat([position, charge[..., None]], dim=-1).float()
    assert close(smallbatch.potential(together, points=points, unit="e/angstrom").potential, v.float(), 1e-3)
    lattice = smallbatch.Lattice((-1.0, -1.0, -1.0), 0.5, (5, 4, 3))
    on_host = smallbatch.potential(position.cpu(), charge.cpu(), lattice=lattice)
    on_lattice = smallbatch.potential(position, charge, lattice=lattice)
    assert tuple(on_lattice.potential.shape) == (3, 3, 4, 5) and on_lattice.potential.device == device
    assert close(on_lattice.potential.cpu(), on_host.potential, 1e-3)
    offsets = torch.tensor([0, 20, 150], device=device)
    ragged = smallbatch.pair_energy(position.reshape(-1, 3), charge.reshape(-1), offsets=offsets, unit="e/angstrom",
                                    per_charge=True, precision="float64")
    for begin, end, energy in zip([0, 20], [20, 150], ragged.energy.tolist()):
        p, q = position.reshape(-1, 3)[begin:end], charge.reshape(-1)[begin:end]
        pairs = (q[:, None] * q / (p[:, None] - p).norm(dim=-1).fill_diagonal_(torch.inf)).sum().item() / 2
        assert energy == pytest.approx(pairs, rel=1e-9)
    assert ragged.per_charge.sum().item() == pytest.approx(ragged.energy.sum().item(), rel=1e-9)


def test_correlation(device):
    signal = torch.randn((2, 64, 6), generator=torch.Generator().manual_seed(3), dtype=torch.complex64).to(device)
    found = smallbatch.correlate(signal, integrate=16)
    rows, columns = torch.tril_indices(6, 6)
    products = signal[..., rows] * signal[..., columns].conj()
    wanted = products.reshape(2, 4, 16, 21).sum(dim=2).transpose(0, 1)
    assert found.visibility.device == device and bool((found.weight == 16).all())
    assert (found.visibility - wanted).abs().max().item() < 1e-3


def test_gradients_are_refused_in_a_sentence(device):
    a, b = torch.eye(3, device=device), torch.ones(3, device=device)
    for leaf in (a.clone().requires_grad_(), torch.nn.Parameter(a), a.clone().requires_grad_() * 2):
        with pytest.raises(TypeError, match=r"A requires a gradient .*A\.detach\(\)"):
            smallbatch.solve(leaf, b)
        with torch.no_grad():
            assert bool(smallbatch.solve(leaf, b).ok)
    with torch.autograd.forward_ad.dual_level():
        with pytest.raises(TypeError, match="b has a forward derivative"):
            smallbatch.solve(a, torch.autograd.forward_ad.make_dual(b, b))


class Mine(torch.Tensor):
    pass


def test_results_of_subclasses_are_tensors(device):
    a, b, x = systems(device)
    for left, right in ((a.as_subclass(Mine), b), (a, b.as_subclass(Mine)), (a.as_subclass(Mine), b.as_subclass(Mine))):
        found = smallbatch.solve(left, right, numbers="rcond")
        assert type(found.x) is type(found.info) is type(found.rcond) is torch.Tensor
        assert found.x.device == device and close(found.x, x)


def test_conjugates_and_negatives_are_computed(device):
    signal = torch.randn((2, 64, 6), generator=torch.Generator().manual_seed(3), dtype=torch.complex64).to(device)
    expected = smallbatch.correlate(signal.conj().resolve_conj()).visibility
    assert signal.conj().is_conj() and torch.equal(smallbatch.correlate(signal.conj()).visibility, expected)
    b = (1j * torch.arange(1, 4, device=device)).to(torch.complex64).conj().imag
    assert b.is_neg() and smallbatch.solve(torch.eye(3, device=device), b).x.tolist() == [-1, -2, -3]


def masked(a):
    return torch.masked.masked_tensor(a, a > 0)


def fake(a):
    with torch._subclasses.fake_tensor.FakeTensorMode():
        return torch.eye(3, device=a.device)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [
    lambda a: a.to_sparse(), lambda a: a.to_sparse_csr(), lambda a: torch.quantize_per_tensor(a, 0.1, 0, torch.qint8),
    lambda a: a.bfloat16(), lambda a: a.half(), lambda a: a.to("meta"), lambda a: a.bool(), masked, fake,
    lambda a: torch.nested.nested_tensor([a, a], layout=torch.jagged)],
    ids=["sparse", "CSR", "quantized", "bfloat16", "float16", "meta", "bool", "masked", "fake", "nested"])
def test_tensors_that_are_not_their_numbers_are_refused(device, make):
    try:
        a = make(torch.eye(3, device=device))
    except (NotImplementedError, RuntimeError):
        pytest.skip("no such tensor of this PyTorch, or on this device")
    for call in (lambda: smallbatch.inverse(a), lambda: smallbatch.solve(torch.eye(3, device=device), a),
                 lambda: smallbatch.potential(a, torch.ones(3, device=device))):
        with pytest.raises(TypeError, match=r"\. (Give|Convert) "):
            call()


def test_functions_that_are_mapped_are_refused():
    with pytest.raises(TypeError, match="cannot be read"):
        torch.func.vmap(lambda a: smallbatch.inverse(a).x)(torch.eye(3).expand(2, 3, 3))


def test_devices_are_not_mixed(device):
    if device.type == "cpu":
        with pytest.raises(TypeError, match="PyTorch.*NumPy"):
            smallbatch.solve(torch.eye(3), np.ones(3, np.float32))
    else:
        with pytest.raises(ValueError, match="A lies on cuda:0 and b on the host"):
            smallbatch.solve(torch.eye(3, device=device), torch.ones(3))
        with pytest.raises(ValueError, match="backend='cpu'"):
            smallbatch.solve(torch.eye(3, device=device), torch.ones(3, device=device), backend="cpu")


@pytest.mark.parametrize("device", DEVICES[1:])
def test_calls_run_on_the_current_stream_in_its_order(device):
    """The call is enqueued behind slow work that makes its arguments on the same stream. The call does not wait for
    this work."""
    a, b, x = systems(device, (1000,), 32)
    smallbatch.solve(a, b)  # loads the kernels
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        late_a, late_b = torch.zeros_like(a), torch.zeros_like(b)
        torch.cuda._sleep(1_000_000_000)
        late_a.copy_(a)
        late_b.copy_(b)
        found = smallbatch.solve(late_a, late_b)
        assert not stream.query()  # the call has not waited
        twice = found.x * 2
        del late_a, late_b
    stream.synchronize()
    assert close(twice, 2 * x) and bool(found.ok.all())


@pytest.mark.parametrize("device", DEVICES[1:])
def test_a_cuda_graph_is_captured(device):
    a, b, x = systems(device, (100,), 16)
    smallbatch.solve(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = smallbatch.solve(a, b)
    b *= 3
    graph.replay()
    torch.cuda.synchronize()
    assert close(found.x, 3 * x)


@pytest.mark.parametrize("device", DEVICES[1:])
def test_a_handle_waits_for_its_stream(device):
    stream = torch.cuda.Stream()
    handle = smallbatch._core.Handle(smallbatch._core.Backend["cuda"], 0)
    handle.set_stream(stream.cuda_stream)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(1_000_000_000)
    assert not stream.query()
    handle.synchronize()
    assert stream.query()


@pytest.mark.parametrize("device", DEVICES[1:])
def test_host_and_device_agree(device):
    a, b, x = systems("cpu", (50,), 24)
    assert close(smallbatch.solve(a, b, backend="cuda").x, smallbatch.solve(a.cuda(), b.cuda()).x.cpu(), 1e-12)


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
