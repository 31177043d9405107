"""Fused operators that only torch_npu has, put together of torch's. Those of which an NPU has one kernel with sums and
exponentials inside compute in float32 and round once; the others round each step to the dtype of their arguments."""

import torch


def npu_swiglu(x, dim=-1):
    gate, value = torch.chunk(x, 2, dim)
    return torch.nn.functional.silu(gate) * value


def npu_rms_norm(x, gamma, epsilon=1e-6):
    rstd = torch.rsqrt(torch.mean(x * x, -1, keepdim=True) + epsilon)
    return x * rstd * gamma, rstd


def npu_rotary_mul(x, r1, r2):
    first, second = torch.chunk(x, 2, -1)
    return x * r1 + torch.cat((-second, first), -1) * r2


def npu_fast_gelu(x):
    return x * torch.sigmoid(1.702 * x)


def npu_mish(x):
    return torch.nn.functional.mish(x)


def npu_linear(x, weight, bias=None):
    return torch.nn.functional.linear(x, weight, bias)


def npu_scaled_masked_softmax(x, mask, scale=1.0, fixed_triu_mask=False):
    if fixed_triu_mask:
        mask = torch.triu(torch.ones(mask.shape[-2:], device=x.device), diagonal=1).bool()
    return torch.softmax((x * scale).masked_fill(mask, -10000.0), -1)


def npu_confusion_transpose(x, perm, shape, transpose_first):
    return x.permute(*perm).reshape(*shape) if transpose_first else x.reshape(*shape).permute(*perm)


def npu_layer_norm_eval(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    return torch.nn.functional.layer_norm(x, normalized_shape, weight, bias, eps)


def npu_group_norm_silu(x, weight, bias, group, eps=1e-5):
    wide = x.float()
    groups = wide.reshape(x.shape[0], group, -1)
    mean = groups.mean(-1)
    rstd = torch.rsqrt(groups.var(-1, unbiased=False) + eps)
    result = torch.nn.functional.silu(torch.nn.functional.group_norm(wide, group, weight.float(), bias.float(), eps))
    return result.to(x.dtype), mean.to(x.dtype), rstd.to(x.dtype)


def npu_sort_v2(x, dim=-1, descending=False):
    return torch.sort(x, dim, descending)[0]


def npu_moe_gating_top_k_softmax(x, finished=None, k=1):
    values, experts = torch.topk(torch.softmax(x.float(), -1), k, -1)
    rows = torch.arange(x.shape[0] * k, device=x.device).reshape(k, -1).transpose(0, 1)
    if finished is not None:
        experts = experts.masked_fill(finished.unsqueeze(-1), x.shape[-1])
    return values.to(x.dtype), experts.int(), rows.int()


def _heads(x, layout, heads):
    """As (batch, heads, sequence, dimension)."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout == "SBH":
        x = x.transpose(0, 1)
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)


def _from_heads(x, layout):
    if layout == "BNSD":
        return x
    x = x.transpose(1, 2)
    if layout == "BSND":
        return x
    x = x.reshape(*x.shape[:2], -1)
    return x.transpose(0, 1) if layout == "SBH" else x


def npu_fusion_attention(query, key, value, head_num, input_layout, *, atten_mask=None, scale=1.0, keep_prob=1.0,
                         pre_tockens=2147483647, next_tockens=2147483647, sparse_mode=0):
    dtype = query.dtype
    query, key, value = (_heads(x.float(), input_layout, head_num) for x in (query, key, value))
    scores = torch.matmul(query, key.transpose(-2, -1)) * scale
    if sparse_mode == 2:
        # The causal mask, whatever the given one of 2048 x 2048 holds.
        atten_mask = torch.ones(scores.shape[-2:], device=scores.device).triu(1).bool()
    if atten_mask is not None:
        scores = scores.masked_fill(atten_mask.bool(), torch.finfo(scores.dtype).min)
    largest = scores.max(-1, keepdim=True)[0]
    exponentials = torch.exp(scores - largest)
    total = exponentials.sum(-1, keepdim=True)
    result = _from_heads(torch.matmul(exponentials / total, value), input_layout)
    return result.to(dtype), largest.expand(*largest.shape[:-1], 8), total.expand(*total.shape[:-1], 8), scores.new_empty(0), 0, 0, 0
