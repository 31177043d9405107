"""From recorded names to callables (which namespace stands for which part of MindSpore)."""

import functools

import mindspore
import mindspore.mint
import mindspore.mint.nn.functional
import mindspore.ops


class Unresolved(Exception):
    """This MindSpore has nothing of the recorded name. Its text is for the user."""


_NAMESPACES = {
    "Mint": ("mindspore.mint", mindspore.mint),
    "MintFunctional": ("mindspore.mint.nn.functional", mindspore.mint.nn.functional),
    "Tensor": ("mindspore.Tensor", mindspore.Tensor),
    "Functional": ("mindspore.ops", mindspore.ops),
}


@functools.lru_cache(maxsize=None)
def resolve(namespace, api):
    """The callable that the dumper calls `api` in `namespace`."""
    if namespace not in _NAMESPACES:
        raise Unresolved("MindSpore has no namespace for %s.%s." % (namespace, api))
    prefix, found = _NAMESPACES[namespace]
    for name in api.split("."):
        found = getattr(found, name, None)
    if not callable(found):
        raise Unresolved("mindspore %s has no %s.%s." % (mindspore.__version__, prefix, api))
    return found
