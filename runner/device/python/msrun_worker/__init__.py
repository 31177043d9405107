"""What the workers of all frameworks have in common: the process beside a runner that calls recorded functions.

protocol: frames and what they mean; server: the process and its lanes; forks: the process that forks it; values: values
of calls and the memory that tensors cross in; answers: one call's reply, and what went wrong with it; host: what there
is of the host itself. A framework's own package has names (from recorded names to callables), tensors, devices and
calls, and is all that imports the framework.
"""
