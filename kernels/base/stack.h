// The stacks of a program, which its users may have limited to less than it needs.
#pragma once

namespace msrun {

// Gives every thread that is started from now on 8 MiB, whatever the limit of the shell says, and the thread that calls
// the smaller of that and what the limit can be raised to. Throws UserError where that is less than the program needs.
// Called once, before there are threads.
void prepare_stacks();

}  // namespace msrun
