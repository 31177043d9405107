"""Records calls whose gradients a dump may hold in several ways, computed by torch on the CPU: two folders with dump.json and
dump_tensor_data/*.pt of the same calls.

    gradients.py FOLDER

FOLDER/arguments holds the gradients of the tensors of the positional arguments, in their order. FOLDER/nodes holds what msProbe's
dumper records: the gradients that the autograd node of the call's first result gives to the nodes before it. Needs torch (1.13, whose
compositions it records). record() is one long list of calls, because each of them takes the next numbers of one generator."""

import json
import pathlib
import sys

import torch

from oracle import Category, Lcg, flattened, numbers, resolved

EINSUMS = [("ij,jk->ik", [2, 3], [3, 4]), ("ij,jk->ki", [2, 3], [3, 4]), ("ij,ij->ij", [2, 3], [2, 3]), ("ij,ji->ij", [3, 3], [3, 3]),
           ("i,i->", [5], [5]), ("ij,ij->", [2, 3], [2, 3]), ("ii->i", [3, 3]), ("ij->ji", [2, 3]), ("ij->i", [2, 3]), ("ij->", [2, 3]),
           ("bij,bkj->bik", [2, 3, 4], [2, 5, 4]), ("bhid,bhjd->bhij", [2, 2, 3, 4], [2, 2, 3, 4]), ("i,j->ij", [2], [3]),
           ("ij,ik->ijk", [2, 3], [2, 4]), ("ij,jk,kl->il", [2, 3], [3, 4], [4, 5]), ("i,i,i->i", [3], [3], [3])]
PRODUCTS = [([3], [3]), ([2, 3], [3]), ([3], [3, 4]), ([2, 3], [3, 4]), ([3, 3], [3, 3]), ([4, 2, 3], [3, 4]), ([4, 2, 3], [4, 3, 4]),
            ([2, 2, 2, 3], [2, 2, 3, 4]), ([4, 2, 3], [3]), ([3], [4, 3, 4]), ([2, 3], [4, 3, 4]), ([1, 2, 3], [4, 3, 4])]
LAYERS = [([2, 3], [4, 3], [4]), ([2, 3], [4, 3]), ([5, 3], [3, 3], [3]), ([5, 3], [3, 3]), ([3, 3], [3, 3], [3]), ([2, 2, 3], [4, 3], [4]),
          ([2, 2, 3], [4, 3]), ([3], [4, 3], [4]), ([3], [4, 3]), ([2, 2, 2, 3], [4, 3], [4])]


class Recorded(Category):
    """A dump of calls whose floating arguments require gradients, but for those that are named constant."""

    def __init__(self, folder, of_nodes):
        super().__init__(folder)
        self.of_nodes = of_nodes

    def call(self, api, args, kwargs=None, constant=()):
        kwargs = kwargs or {}

        copies = {}

        def own(value, key):
            if isinstance(value, (list, tuple)):
                return [own(v, key) for v in value]
            if not isinstance(value, torch.Tensor):
                return value
            if id(value) not in copies:
                copies[id(value)] = value.detach().clone().requires_grad_(value.is_floating_point() and key not in constant)
            return copies[id(value)]

        args = [own(a, i) for i, a in enumerate(args)]
        kwargs = {k: own(v, k) for k, v in kwargs.items()}
        outputs = [o for o in flattened(resolved(api)(*args, **kwargs)) if isinstance(o, torch.Tensor)]
        rng = Lcg(7)
        given = [numbers(list(o.shape), "plain", o.dtype, rng) if o.requires_grad else None for o in outputs]
        of_node = []
        outputs[0].grad_fn.register_hook(lambda results, gradients: of_node.extend(results))
        leaves = [a for a in flattened(args) if isinstance(a, torch.Tensor)]
        wanted = [a for a in leaves if a.requires_grad]
        pairs = [(o, g) for o, g in zip(outputs, given) if g is not None]
        asked = wanted or [a for a in kwargs.values() if isinstance(a, torch.Tensor)]
        found = torch.autograd.grad([o for o, _ in pairs], asked, [g for _, g in pairs], allow_unused=True)
        by_leaf = {id(a): g for a, g in zip(wanted, found)}
        gradients = of_node if self.of_nodes else [by_leaf.get(id(a)) for a in leaves]
        number = self.counts.get(api, 0)
        self.counts[api] = number + 1
        key = f"{api}.{number}.forward"
        self.forward[key] = {"input_args": [self.described(a, f"{key}.input.{i}") for i, a in enumerate(args)],
                             "input_kwargs": {k: self.described(v, f"{key}.kwargs.{k}") for k, v in kwargs.items()},
                             "output": [self.described(o, f"{key}.output.{i}") for i, o in enumerate(outputs)]}
        key = f"{api}.{number}.backward"
        self.backward[key] = {"input": [self.described(g, f"{key}.input.{i}") for i, g in enumerate(given)],
                              "output": [self.described(g, f"{key}.output.{i}") for i, g in enumerate(gradients)]}


def record(dump, rng):
    def plain(*shape, dtype=torch.float32):
        return numbers(list(shape), "plain", dtype, rng)

    def unit(*shape):
        return numbers(list(shape), "unit", torch.float32, rng)

    for equation, *shapes in EINSUMS:
        dump.call("Torch.einsum", [equation] + [plain(*shape) for shape in shapes])
    for shapes in PRODUCTS:
        dump.call("Torch.matmul", [plain(*shape) for shape in shapes])
    dump.call("Tensor.__matmul__", [plain(2, 2, 2, 3), plain(2, 2, 3, 4)])
    for shapes in LAYERS:
        dump.call("Functional.linear", [plain(*shape) for shape in shapes])
    dump.call("Functional.linear", [plain(4, 3).t(), plain(5, 4)], constant=[0])
    dump.call("Torch.outer", [plain(2), plain(3)])
    dump.call("Torch.inner", [plain(3, 3), plain(3, 3)])
    dump.call("Torch.kron", [plain(2, 3), plain(2, 2)])
    dump.call("Torch.tensordot", [plain(2, 4, 3), plain(4, 3, 4)], {"dims": 2})
    dump.call("Functional.bilinear", [plain(2, 5), plain(2, 3), plain(4, 5, 3), plain(4)])
    dump.call("Functional.bilinear", [plain(2, 5), plain(2, 3), plain(4, 5, 3)])
    for reduction in ("mean", "sum", "none"):
        kwargs = {"reduction": reduction}
        for shape in ([3, 5], [2, 5, 3], [2, 5, 3, 2], [2, 5, 2, 2, 2], [5]):
            target = torch.tensor(2) if len(shape) == 1 else torch.arange(shape[0] * numbers(shape, "equal", torch.float32, rng)[0, 0].numel()
                                                                          ).reshape([shape[0]] + shape[2:]) * 3 % 5
            dump.call("Functional.cross_entropy", [plain(*shape), target], kwargs)
            dump.call("Functional.nll_loss", [plain(*shape), target], kwargs)
        target = torch.tensor([0, 4, 2])
        dump.call("Functional.cross_entropy", [plain(3, 5), target, unit(5)], {**kwargs, "ignore_index": 4}, constant=[2])
        dump.call("Functional.cross_entropy", [plain(3, 5), target], {**kwargs, "label_smoothing": 0.1})
        dump.call("Functional.cross_entropy", [plain(3, 5), unit(3, 5)], kwargs)
        dump.call("Functional.cross_entropy", [plain(3, 5), unit(3, 5)], {**kwargs, "weight": unit(5)}, constant=["weight", 1])
        dump.call("Functional.l1_loss", [plain(3, 5), plain(3, 5)], kwargs)
        dump.call("Functional.kl_div", [plain(3, 5), unit(3, 5)], kwargs)
        dump.call("Functional.kl_div", [plain(3, 5), unit(3, 5)], kwargs, constant=[1])
        dump.call("Functional.kl_div", [plain(3, 5), plain(3, 5)], {**kwargs, "log_target": True})
        dump.call("Functional.poisson_nll_loss", [plain(3, 5), unit(3, 5)], kwargs, constant=[1])
        dump.call("Functional.poisson_nll_loss", [plain(3, 5), 3 * unit(3, 5)], {**kwargs, "full": True})
        dump.call("Functional.gaussian_nll_loss", [plain(3, 5), plain(3, 5), unit(3, 5)], kwargs)
        dump.call("Functional.gaussian_nll_loss", [plain(3, 5), plain(3, 5), unit(3, 5)], {**kwargs, "full": True})
        dump.call("Functional.multilabel_soft_margin_loss", [plain(3, 5), torch.ones(3, 5)], kwargs, constant=[1])
        sign = torch.tensor([1.0, -1.0, 1.0, 1.0])
        dump.call("Functional.margin_ranking_loss", [plain(4), plain(4), sign], {**kwargs, "margin": 0.1}, constant=[2])
        dump.call("Functional.hinge_embedding_loss", [plain(3, 4), sign], kwargs, constant=[1])
        dump.call("Functional.cosine_embedding_loss", [plain(4, 5), plain(4, 5), sign], kwargs, constant=[2])
        dump.call("Functional.triplet_margin_loss", [plain(3, 5), plain(3, 5), plain(3, 5)], kwargs)
        dump.call("Functional.ctc_loss", [plain(6, 2, 5).log_softmax(-1), torch.tensor([[1, 2, 2], [3, 1, 4]]), torch.tensor([6, 6]),
                                          torch.tensor([3, 2])], kwargs)
        for name in ("mse_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits"):
            dump.call(f"Functional.{name}", [plain(3, 5), unit(3, 5)], kwargs)
    dump.call("Functional.kl_div", [plain(3, 5), unit(3, 5)], {"reduction": "batchmean"}, constant=[1])
    for shape in ([3, 5], [2, 4, 6]):
        for name in ("softsign", "tanhshrink", "logsigmoid", "normalize"):
            dump.call(f"Functional.{name}", [plain(*shape)])
        dump.call("Functional.softmin", [plain(*shape)], {"dim": 1})
    dump.call("Functional.local_response_norm", [plain(2, 4, 6), 2], {"alpha": 0.3})
    dump.call("Functional.local_response_norm", [plain(2, 4, 3, 3), 3], {"alpha": 0.3})
    dump.call("Functional.instance_norm", [plain(2, 3, 8)])
    dump.call("Functional.max_pool1d", [plain(2, 3, 8), 2])
    dump.call("Functional.avg_pool1d", [plain(2, 3, 8), 2])
    dump.call("Functional.adaptive_max_pool1d", [plain(2, 3, 8), 2])
    dump.call("Functional.adaptive_avg_pool1d", [plain(2, 3, 8), 2])
    dump.call("Functional.lp_pool1d", [unit(2, 3, 8), 2.0, 2])
    dump.call("Functional.lp_pool2d", [unit(1, 2, 6, 6), 3.0, 2])
    dump.call("Functional.cosine_similarity", [plain(3, 5), plain(3, 5)])
    dump.call("Functional.pairwise_distance", [plain(3, 5), plain(3, 5)])
    dump.call("Functional.embedding_bag", [torch.tensor([[0, 3, 3], [2, 1, 0]]), plain(4, 5)], {"mode": "mean"})
    dump.call("Functional.embedding_bag", [torch.tensor([[0, 3, 3], [2, 1, 0]]), plain(4, 5)],
              {"mode": "sum", "per_sample_weights": plain(2, 3)}, constant=["per_sample_weights"])
    shared = plain(3, 3)
    dump.call("Torch.mul", [shared, shared])
    dump.call("Torch.matmul", [shared, shared])
    dump.call("Torch.mul", [plain(3, 4), plain(4)])
    for name in ("rdiv", "rtruediv", "rmatmul", "rsub", "rmul"):
        dump.call(f"Tensor.__{name}__", [unit(3, 3), unit(3, 3)])
    dump.call("Tensor.__rtruediv__", [unit(2, 3), 1.0])
    dump.call("Tensor.__rpow__", [unit(2, 3), 2.0])
    dump.call("Torch.ldexp", [plain(3, 3), plain(3, 3)])
    dump.call("Torch.cov", [plain(3, 3)])
    dump.call("Torch.matrix_power", [plain(3, 3), 2])
    dump.call("Torch.matrix_power", [plain(3, 3), 3])
    dump.call("Torch.linalg.vecdot", [plain(3, 3), plain(3, 3)])
    dump.call("Torch.combinations", [plain(4), 2])
    for name in ("tensor_split", "hsplit", "vsplit", "chunk"):
        dump.call(f"Torch.{name}", [plain(4, 4), 2])
    dump.call("Torch.where", [torch.tensor([True, False, True]), plain(2, 3), plain(3)])
    dump.call("Torch.addmm", [plain(4), plain(2, 3), plain(3, 4)], {"beta": 0.5})
    dump.call("Torch.cat", [[plain(2, 3), plain(2, 3), plain(2, 3)]], {"dim": 1})
    dump.call("Torch.lerp", [plain(2, 3), plain(2, 3), plain(2, 3)])
    dump.call("Functional.layer_norm", [plain(4, 5), [5], plain(5), plain(5)])
    dump.call("Functional.layer_norm", [plain(4, 5), [5]], {"bias": plain(5), "weight": plain(5)})
    dump.call("Functional.linear", [plain(2, 3)], {"weight": plain(4, 3), "bias": plain(4)})
    dump.call("Torch.addmm", [], {"input": plain(4), "mat1": plain(2, 3), "mat2": plain(3, 4)})
    dump.call("Functional.conv1d", [plain(2, 3, 8), plain(4, 3, 3), plain(4)])
    dump.call("Tensor.contiguous", [plain(3, 4).t()])
    dump.call("Torch.flatten", [plain(2, 3, 4), 1])
    dump.call("Tensor.float", [plain(2, 3, dtype=torch.bfloat16)])
    dump.call("Functional.cross_entropy", [plain(3, 5, dtype=torch.bfloat16), torch.tensor([0, 4, 2])])
    dump.call("Torch.matmul", [plain(4, 2, 8, dtype=torch.bfloat16), plain(4, 8, 4, dtype=torch.bfloat16)])
    dump.call("Torch.einsum", ["bij,bjk->bik", plain(4, 2, 8, dtype=torch.bfloat16), plain(4, 8, 4, dtype=torch.bfloat16)])
    dump.call("Functional.normalize", [plain(4, 8, dtype=torch.bfloat16)])
    dump.call("Functional.softsign", [plain(4, 8, dtype=torch.bfloat16)])
    dump.call("Functional.l1_loss", [plain(4, 8, dtype=torch.bfloat16), plain(4, 8, dtype=torch.bfloat16)])
    dump.call("Tensor.__rpow__", [plain(3, 4), unit(3, 4)])
    dump.call("Torch.linalg.matrix_power", [plain(2, 3, 3), 5])
    dump.call("Torch.lu_solve", [plain(2, 3, 3), plain(2, 3, 3) + 4 * torch.eye(3), torch.tensor([[1, 3, 3], [2, 2, 3]], dtype=torch.int32)])
    dump.call("Torch.softmax", [plain(4, 8), 1], {"dtype": torch.float64})
    dump.call("Torch.log_softmax", [plain(4, 8, dtype=torch.bfloat16), 1], {"dtype": torch.float64})
    dump.call("Torch.cummax", [numbers([4, 12], "ties", torch.bfloat16, rng), 1])


def main(folder):
    Category.keeps_exact = False
    torch.set_num_threads(1)
    for name, of_nodes in (("arguments", False), ("nodes", True)):
        dump = Recorded(pathlib.Path(folder) / name, of_nodes)
        record(dump, Lcg(1))
        dump.write()


if __name__ == "__main__":
    main(sys.argv[1])
