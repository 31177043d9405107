"""From recorded names to callables (which namespace stands for which part of torch)."""

import functools

import torch

from msrun_torch_worker import forms, removed
from msrun_worker.answers import Unresolved


# Where a name is looked for that is not directly in torch.
_BELOW_TORCH = ("linalg", "special", "fft", "_VF", "_C._VariableFunctions")


# Python itself writes these as x = x.form(y) where a class has no method of that name.
_TENSOR_FORMS = {} if hasattr(torch.Tensor, "__imatmul__") else {"__imatmul__": "__matmul__"}


def _attribute(root, path):
    value = root
    for name in path.split("."):
        value = getattr(value, name, None)
        if value is None:
            return None
    return value


def _torch(api, operator, keywords):
    if forms.is_of_linalg(api, keywords):
        found = _attribute(torch, "linalg." + api)
        if callable(found):
            return found
    found = _attribute(torch, api)
    # Recordings shorten torch.linalg.norm to norm; msrun knows which of two operators is meant.
    if found is None or not callable(found):
        for place in _BELOW_TORCH:
            family = place + "_"
            short = operator[len(family):] if operator.startswith(family) else api
            for name in (api, short):
                found = _attribute(torch, place + "." + name)
                if callable(found):
                    return found
    return found


def _property(descriptor):
    def get(tensor):
        return descriptor.__get__(tensor)
    return get


def _tensor(api, operator, keywords):
    found = _attribute(torch.Tensor, _TENSOR_FORMS.get(api, api))
    if found is not None and not callable(found) and hasattr(found, "__get__"):
        return _property(found)
    return found


def _functional(api, operator, keywords):
    return _attribute(torch.nn.functional, api)


def _packet(library, api):
    try:
        return getattr(library, api)
    except (AttributeError, RuntimeError):
        return None


def _aten(api, operator, keywords):
    return _packet(torch.ops.aten, api)


def _atb(api, operator, keywords):
    return _packet(torch.ops.atb, api)


def _npu(api, operator, keywords):
    try:
        import torch_npu
    except ImportError:
        return None
    found = _packet(torch.ops.npu, api)
    if found is None:
        found = _attribute(torch_npu, api)
    if found is None:
        found = _attribute(torch_npu, "_C._VariableFunctionsClass." + api)
    return found


def _vf(api, operator, keywords):
    return _attribute(torch, "_VF." + api)


_NAMESPACES = {
    "Functional": (_functional, "torch.nn.functional."),
    "Tensor": (_tensor, "torch.Tensor."),
    "Torch": (_torch, "torch."),
    "Aten": (_aten, "torch.ops.aten."),
    "VF": (_vf, "torch._VF."),
    "NPU": (_npu, "torch_npu."),
    "ATB": (_atb, "torch.ops.atb."),
    "atb": (_atb, "torch.ops.atb."),
}


@functools.lru_cache(maxsize=None)
def resolve(namespace, api, operator, keywords=frozenset()):
    """The callable that the dumper calls `api` in `namespace`; operator is msrun's name for what it computes, keywords
    those of the call."""
    if namespace not in _NAMESPACES:
        raise Unresolved("torch has no namespace for %s.%s." % (namespace, api))
    if namespace in ("Torch", "Tensor") and api in removed.FORMS:
        return removed.FORMS[api]
    find, prefix = _NAMESPACES[namespace]
    found = find(api, operator, keywords)
    if found is None or not callable(found):
        raise Unresolved("torch %s has no %s%s." % (torch.__version__, prefix, api))
    return found
