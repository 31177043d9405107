"""From recorded names to callables (which namespace stands for which parts of MindSpore)."""

import functools

import mindspore
import mindspore.mint
import mindspore.mint.nn.functional
import mindspore.ops

from msrun_worker.answers import Unresolved

_MINT = ("mindspore.mint", mindspore.mint)
_FUNCTIONAL = ("mindspore.mint.nn.functional", mindspore.mint.nn.functional)
_OPS = ("mindspore.ops", mindspore.ops)
_TENSOR = ("mindspore.Tensor", mindspore.Tensor)
# In the order in which a name is looked for. Torch.* and Functional.relu and its like are names of MindTorch, whose
# functions those of mint are.
_NAMESPACES = {
    "Mint": (_MINT,),
    "MintFunctional": (_FUNCTIONAL,),
    "Tensor": (_TENSOR,),
    "Torch": (_MINT,),
    "Functional": (_FUNCTIONAL, _OPS),
}


def _attribute(root, path):
    for name in path.split("."):
        root = getattr(root, name, None)
    return root


@functools.lru_cache(maxsize=None)
def resolve(namespace, api):
    """The callable that the dumper calls `api` in `namespace`."""
    places = _NAMESPACES.get(namespace)
    if places is None:
        raise Unresolved("MindSpore has no namespace for %s.%s." % (namespace, api))
    for _, root in places:
        found = _attribute(root, api)
        if callable(found):
            return found
    raise Unresolved("mindspore %s has no %s." % (
        mindspore.__version__, " and no ".join(prefix + "." + api for prefix, _ in places)))
