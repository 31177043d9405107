#include "tests/structure/operator_name_exceptions.h"

#include <array>

namespace msrun::testing {
namespace {

constexpr auto exceptions = std::to_array<OperatorNameException>({
    {"kernels/io/dump/mindspore_dump.cpp",
     "add add_ addmm_ all allclose ceil clamp clamp_ clone contiguous copy_ cos cumprod expand_as fill_ "
     "flash_attention_score flatten floor_ is_contiguous isnan item log log2 masked_fill max mean min numel "
     "numpy repeat_interleave reshape round select sin size split sqrt square sub swapaxes to tolist topk "
     "transpose trunc type_as unsqueeze view view_as zero_",
     "the pre-check's documented list of what it checks of MindSpore"},
    {"kernels/io/dump/pytorch_dump.cpp", "__getitem__",
     "an index that is recorded in a form which does not tell a list from a tuple"},
    {"kernels/numeric/decompositions.cpp", "cholesky det inverse solve", "algorithms, in error messages"},
    {"orchestrator/command/sharing_options.cpp", "all", "which part of a run is checked"},
    {"orchestrator/command/tool_commands.cpp", "diff", "a command"},
    {"orchestrator/merge/merge_report.cpp", "empty", "a key of JSON"},
    {"orchestrator/merge/part_journal.cpp", "all", "which part of a run is checked"},
    {"orchestrator/plan/call_filter.cpp", "matmul", "an example in a help"},
    {"orchestrator/session/host_slowness.cpp", "add matmul", "the calls by which a host's speed is measured"},
    {"orchestrator/session/run_identity.cpp", "all", "which part of a run is checked"},
    {"runner/judge/altered_calls.cpp", "amax amin bilinear floor linear mean prod sum tanh trunc zeros",
     "what parameters take, by the names of the parameters"},
    {"runner/device/python/msrun_torch_worker/forms.py",
     "__eq__ __ne__ __setitem__ _fused_adamw_ cond contiguous eig gru is_contiguous lstm lstsq matrix_rank norm qr "
     "rnn_relu rnn_tanh solve svd tensor_split",
     "what torch wants called otherwise than it was recorded"},
    {"runner/device/python/msrun_torch_worker/names.py", "__imatmul__ __matmul__",
     "a method that Python writes by another one where a class lacks it"},
    {"runner/device/python/msrun_torch_worker/removed.py", "istft stft symeig",
     "functions, or forms of them, that torch took away"},
    {"runner/device/python/msrun_worker/values.py", "__getitem__ __setitem__", "how Python writes an index"},
    {"runner/dialects/att.cpp", "dropout", "a documented rule about names"},
    {"runner/dialects/mindspore.cpp", "flash_attention_score numpy",
     "documented rules of MindSpore's pre-check about its benchmark and its results"},
    {"runner/dialects/pytorch.cpp", "to empty empty_like empty_strided new_empty new_empty_strided",
     "the pre-check's documented list of what it never runs"},
    {"runner/report/call_rows.cpp", "index", "a key of JSON"},
    {"tools/api_precision_compare/comparison.cpp", "topk", "a documented rule of that command"},
    {"tools/dump_compare/difference_analysis.cpp", "npu_fusion_attention", "a documented rule about names"},
    {"tools/dump_compare/difference_search.cpp", "gather scatter", "communications, by documented names"},
    {"tools/dump_compare/difference_search.cpp", "__setitem__", "a call that the documented search leaves out"},
    {"tools/dump_compare/divergence_report.cpp", "stack", "a key of the report"},
    {"tools/dump_compare/mapping.cpp",
     "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d affine_grid conv1d conv2d conv3d "
     "cosine_embedding_loss cosine_similarity cross_entropy ctc_loss gumbel_softmax hardsigmoid hardtanh "
     "hinge_embedding_loss l1_loss margin_ranking_loss max_pool3d max_unpool1d max_unpool2d max_unpool3d "
     "mse_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss pdist "
     "pixel_shuffle pixel_unshuffle relu sigmoid smooth_l1_loss soft_margin_loss tanh tanhshrink unfold",
     "names that MindSpore and PyTorch share, a documented table"},
    {"tools/dump_compare/mapping.cpp",
     "bilinear cauchy cauchy_ dense eq equal fill_diagonal_ gather linear numpy swapaxes transpose",
     "names that differ between MindSpore and PyTorch, a documented table"},
    {"tools/dump_compare/random_calls.cpp",
     "bernoulli dropout exponential_ gumbel_softmax multinomial normal_ npu_fusion_attention "
     "rand randperm rrelu uniform_",
     "random numbers, as the search for a divergence is specified"},
    {"tools/dump_compare/rank_divergence.cpp", "clone contiguous reshape to view",
     "copies, as the search for a divergence is specified"},
    {"tools/dump_compare/rows.cpp", "complex", "names of dtypes"},
    {"tools/graph/communication.cpp", "gather scatter", "communications, by documented names"},
    {"tools/graph/options.cpp", "all", "which files are written"},
    {"tools/graph/overflow.cpp", "empty empty_like empty_strided masked_fill_",
     "calls whose tensors the documented rule of that command leaves out"},
    {"tools/graph/verdict.cpp", "all", "a mode"},
    {"tools/html/table.cpp", "sort", "how a table is sorted"},
    {"tools/op_generate/templates/torch_script.py", "__getitem__ __imatmul__ __setitem__",
     "what Python wants called otherwise than it was recorded, in a script that must stand alone"},
    {"tools/op_generate/templates/torch_script.py", "complex", "a kind of values"},
    {"tools/recordings/alignment.cpp", "add bmm div divide matmul mul multiply reshape sub subtract true_divide view",
     "aliases of calls, as their alignment is specified"},
    {"tools/recordings/call_rules.cpp",
     "__setitem__ empty empty_like empty_strided gather new_empty new_empty_strided numpy scatter to",
     "calls that the documented rules leave out, and calls between ranks"},
    {"tools/recordings/communication.cpp", "gather scatter", "calls between ranks"},
    {"tools/recordings/written_inputs.cpp",
     "bernoulli_ copy_ exponential_ fill_ gather normal_ random_ scatter uniform_ zero_",
     "calls that write an argument without reading it"},
    {"tools/recordings/written_inputs.cpp", "empty fill", "calls that fill on purpose, and memory before anybody has"},
    {"tools/run_diff/options.cpp", "all", "an option"},
    {"tools/torchair_compare/html_report.cpp", "cosine_similarity", "a column of metrics"},
    {"tools/torchair_compare/reported_row.cpp", "max min", "statistics that are compared"},
    {"tools/torchair_compare/row.cpp", "cosine_similarity", "a column of metrics"},
});

}  // namespace

std::span<const OperatorNameException> operator_name_exceptions() { return exceptions; }

}  // namespace msrun::testing
