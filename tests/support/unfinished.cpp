#include "tests/support/unfinished.h"

#include <chrono>
#include <thread>

namespace msrun::testing {

std::unique_ptr<Process> Unfinished::busy_run(const std::vector<std::string>& more) {
  std::vector<std::string> words{"-api_info",   dump("llama_bf16"),     "-n", "4", "-d", "0", "1", "-o", out(),
                                 "--sim-fault", "Tensor.__mul__.0=hang"};
  words.insert(words.end(), more.begin(), more.end());
  auto run = std::make_unique<Process>(words, scratch_.path());
  EXPECT_TRUE(eventually(20, [&] { return fs::exists(out()) && finished_calls() >= 80; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return run;
}

fs::path Unfinished::killed_run(const std::vector<std::string>& more) {
  const auto run = busy_run(more);
  run->signal(SIGKILL);
  run->wait();
  return only_file(out(), "accuracy_checking_result_");
}

Finished Unfinished::resume(const fs::path& result, const std::vector<std::string>& more) const {
  std::vector<std::string> words{"-api_info", dump("llama_bf16"), "-csv_path", result};
  words.insert(words.end(), more.begin(), more.end());
  return msrun(words, scratch_.path());
}

std::size_t Unfinished::finished_calls() const {
  std::size_t rows = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(out())) {
    if (entry.path().filename().string().starts_with("accuracy_checking_result_") &&
        entry.path().extension() == ".csv") {
      const std::size_t all = read_csv(entry.path()).size();
      rows = all > 0 ? all - 1 : 0;
    }
  }
  return rows;
}

void Unfinished::expect_as_if_undisturbed(const std::vector<std::string>& more) {
  const fs::path whole = scratch_ / ("whole" + std::to_string(++undisturbed_));
  std::vector<std::string> words{"-api_info", dump("llama_bf16"), "-o", whole};
  words.insert(words.end(), more.begin(), more.end());
  ASSERT_EQ(msrun(words, scratch_.path()).exit_code, 0);
  for (const char* prefix : {"accuracy_checking_result_", "accuracy_checking_details_"}) {
    EXPECT_EQ(read_file(only_file(out(), prefix)), read_file(only_file(whole, prefix))) << prefix;
  }
}

}  // namespace msrun::testing
