// Workflow commands of GitHub Actions, by which it shows what a run found beside the change that is tested.
#pragma once

#include <memory>
#include <string>

#include "orchestrator/view/progress_view.h"

namespace msrun {

// A line for each call that is suspicious or failed to run (error) or cannot be checked (warning), and one for the
// whole run at its end (error if it is not complete, else notice); everything is passed on to other.
std::unique_ptr<ProgressView> make_github_view(Console& console, std::unique_ptr<ProgressView> other);

// "::error title=Torch.matmul.0::forward.output.0: ...": one line, whatever the texts hold.
std::string github_command(const std::string& kind, const std::string& title, const std::string& message);

}  // namespace msrun
