"""torch's own samples of its operators, as `op_db`; ImportError where this torch has none that can be imported."""

import sys
import types
import warnings

warnings.simplefilter("ignore")

# torch's samples import a package that they do not use.
expecttest = types.ModuleType("expecttest")
expecttest.TestCase = type("TestCase", (), {})
expecttest.assert_expected_inline = None
expecttest.ACCEPT = False
sys.modules.setdefault("expecttest", expecttest)

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402, F401
