// Nodes that share a recording by leases in one folder and are killed, stopped and continued: nothing is lost, nothing
// is there twice, and the merged run is that of one machine.
//
// The seed is printed. MSRUN_STEAL_SEED repeats a run of the test, MSRUN_STEAL_ROUNDS makes more rounds of it (2 by
// default), MSRUN_STEAL_LOG names a file to which a line is appended for each.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "kernels/base/clock.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr double deadline = 120;  // seconds for a round, on a host that is busy with other things

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

// A node: msrun in a session of its own, that a signal reaches as a whole.
class Node {
 public:
  Node(const std::vector<std::string>& arguments, const fs::path& log) : log_(log) {
    const std::string program = fs::path(programs()) / "msrun";
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    const int result = posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (result != 0) throw std::runtime_error("cannot start " + program);
  }
  ~Node() {
    if (!running()) return;
    signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void signal(int number) const { ::kill(-pid_, number); }
  bool running() {
    int status = 0;
    if (code_ == -1 && waitpid(pid_, &status, WNOHANG) == pid_) {
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return code_ == -1;
  }
  int code() const { return code_; }
  pid_t pid() const { return pid_; }
  std::string log() const { return read_file(log_); }

 private:
  pid_t pid_ = -1;
  int code_ = -1;
  fs::path log_;
};

class Steal : public Untouched {
 protected:
  fs::path merged() const { return scratch_ / "merged"; }
  fs::path whole() const { return scratch_ / "whole"; }
  static std::string recording() { return dump("moe_bf16"); }

  std::vector<std::string> arguments() const {
    std::vector<std::string> words{"-api_info", recording(),       "-o", out(), "--steal", "--leases",
                                   "24",        "--lease-timeout", "1",  "-n",  "1"};
    words.insert(words.end(), faults_.begin(), faults_.end());
    return words;
  }
  std::unique_ptr<Node> start(const std::vector<std::string>& words) {
    return std::make_unique<Node>(words, scratch_ / ("node" + std::to_string(++started_)));
  }
  std::unique_ptr<Node> start() { return start(arguments()); }

  void check_whole() {
    std::vector<std::string> words{"-api_info", recording(), "-o", whole()};
    words.insert(words.end(), faults_.begin(), faults_.end());
    ASSERT_EQ(msrun(words, scratch_.path()).exit_code, 0);
  }
  void expect_merged_as_whole() {
    fs::remove_all(merged());
    const Finished finished = msrun({"merge", out(), "-o", merged()}, scratch_.path());
    ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    for (const char* prefix : {"accuracy_checking_result_", "accuracy_checking_details_"}) {
      EXPECT_EQ(read_file(only_file(merged(), prefix)), read_file(only_file(whole(), prefix))) << prefix;
    }
  }
  // The file names of the leases in this state. A node makes its folder under another name and moves it into place, so
  // that what was just listed may be gone.
  std::set<std::string> leases(const std::string& state) const {
    std::set<std::string> names;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(out(), error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.find("." + state) == 4) names.insert(name);
    }
    return names;
  }
  std::set<fs::path> journals() const {
    std::set<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator entry(out(), error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() == ".journal") found.insert(entry->path());
    }
    return found;
  }
  // Stops the only node once it has been at one lease for some time; false if it never is.
  bool stop_at_work(const Node& node) const {
    constexpr double some_time = 0.5;  // seconds
    std::set<std::string> seen;
    double since = steady_seconds();
    return eventually(deadline, [&] {
      const std::set<std::string> now = leases("held");
      if (now != seen || now.empty()) {
        seen = now;
        since = steady_seconds();
      }
      if (steady_seconds() - since < some_time) return false;
      node.signal(SIGSTOP);
      // It may have gone on just before the signal came, and be between two leases.
      if (leases("held") == seen) return true;
      node.signal(SIGCONT);
      return false;
    });
  }

  std::vector<std::string> faults_;
  int started_ = 0;
};

TEST_F(Steal, SharesTheCallsAmongThoseWhoCome) {
  check_whole();
  std::vector<std::unique_ptr<Node>> nodes;
  for (int i = 0; i < 3; ++i) nodes.push_back(start());
  for (const auto& node : nodes) {
    ASSERT_TRUE(eventually(deadline, [&] { return !node->running(); }));
    EXPECT_EQ(node->code(), 0) << node->log();
    EXPECT_THAT(node->log(), AllOf(HasSubstr("24 of them"), HasSubstr("merge " + out().string())));
  }
  EXPECT_EQ(leases("done").size(), 24U);
  expect_merged_as_whole();
  // Who comes late has nothing to do, and says so.
  const auto late = start();
  ASSERT_TRUE(eventually(deadline, [&] { return !late->running(); }));
  EXPECT_EQ(late->code(), 0) << late->log();
  EXPECT_THAT(late->log(), HasSubstr("0 of 113 calls"));
}

// Whichever file of the run it is continued with, the leases are those of all nodes.
TEST_F(Steal, ARanksCsvLeadsToTheLeasesOfTheRun) {
  for (const char* rank : {"rank0", "rank1"}) {
    fs::create_directories(scratch_ / "job" / rank);
    fs::copy(dump("llama_fp32"), scratch_ / "job" / rank);
  }
  const Finished begun = msrun(
      {"-api_info", scratch_ / "job", "-o", out(), "--steal", "-n", "2", "--only", "Torch.matmul.*", "--leases", "2"},
      scratch_.path());
  ASSERT_EQ(begun.exit_code, 0) << begun.out << begun.err;
  const fs::path csv = only_file(out() / "rank1", "accuracy_checking_result_");
  const Finished continued = msrun({"-csv_path", csv}, scratch_.path());
  EXPECT_EQ(continued.exit_code, 0) << continued.out << continued.err;
  EXPECT_THAT(continued.out, HasSubstr("take leases in " + (out() / "leases_").string()));
  for (const auto& entry : fs::recursive_directory_iterator(out() / "rank1")) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("leases_")) << entry.path();
  }
}

// One call takes seconds: whoever has its lease is at it long enough to be stopped, wherever the node began.
TEST_F(Steal, TakesOverFromWhoIsStoppedAndTellsIt) {
  faults_ = {"--sim-fault", "Functional.layer_norm.0=hang", "--task-timeout", "3", "--retries", "0"};
  check_whole();
  const auto stopped = start();
  ASSERT_TRUE(stop_at_work(*stopped));
  const auto other = start();
  ASSERT_TRUE(eventually(deadline, [&] { return other->log().find("is taken over from") != std::string::npos; }));
  stopped->signal(SIGCONT);
  ASSERT_TRUE(eventually(deadline, [&] { return !stopped->running() && !other->running(); }));
  EXPECT_EQ(other->code(), 0) << other->log();
  EXPECT_EQ(stopped->code(), 0) << stopped->log();
  EXPECT_THAT(stopped->log(), HasSubstr("was taken over by another process"));
  expect_merged_as_whole();
}

TEST_F(Steal, MakesALeaseAnewWhoseFileIsLost) {
  check_whole();
  auto first = start();
  ASSERT_TRUE(eventually(deadline, [&] { return !first->running(); }));
  std::vector<fs::path> done;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(out())) {
    if (entry.path().filename().string().find(".done.") == 4) done.push_back(entry.path());
  }
  ASSERT_EQ(done.size(), 24U);
  // With it all results are lost, and the other leases are free again.
  fs::remove(done.back());
  done.pop_back();
  for (const fs::path& lease : done) {
    fs::rename(lease, lease.parent_path() / (lease.filename().string().substr(0, 4) + ".free"));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(out())) {
    if (entry.is_regular_file()) fs::remove(entry.path());
  }
  auto second = start();
  ASSERT_TRUE(eventually(deadline, [&] { return !second->running(); })) << second->log();
  EXPECT_EQ(second->code(), 0) << second->log();
  EXPECT_EQ(leases("done").size(), 24U);
  expect_merged_as_whole();
}

TEST_F(Steal, LeavesNothingWhereNoLeaseCanBeHad) {
  auto first = start();
  ASSERT_TRUE(eventually(deadline, [&] { return !first->running(); }));
  fs::path leases;
  for (const fs::directory_entry& entry : fs::directory_iterator(out())) {
    if (entry.is_directory()) leases = entry.path();
  }
  fs::remove_all(leases);
  write_file(leases, "in the way");
  const std::map<std::string, std::string> before = snapshot(out());
  const Finished refused = msrun(arguments(), scratch_.path());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("the leases in " + leases.string() + " cannot be made"));
  EXPECT_EQ(snapshot(out()), before);
}

// A run of another kind is refused before leases are made.
TEST_F(Steal, LeavesNothingWhereAPlainRunIsContinued) {
  ASSERT_EQ(msrun({"-api_info", dump("llama_bf16"), "-o", out()}, scratch_.path()).exit_code, 0);
  const std::map<std::string, std::string> before = snapshot(out());
  const Finished refused =
      msrun({"-csv_path", only_file(out(), "accuracy_checking_result_"), "--steal"}, scratch_.path());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("shard (\"all\" then, \"stolen\" now)"));
  EXPECT_EQ(snapshot(out()), before);
}

TEST_F(Steal, LeavesALeaseAtOnceWhenItIsTerminated) {
  std::vector<std::string> words = arguments();
  words.insert(words.end(), {"--sim-fault", "*=hang", "--task-timeout", "600"});
  const auto node = start(words);
  ASSERT_TRUE(eventually(deadline, [&] { return leases("held").size() == 1; }));
  node->signal(SIGTERM);
  ASSERT_TRUE(eventually(deadline, [&] { return !node->running(); }));
  EXPECT_EQ(node->code(), 3) << node->log();
  EXPECT_EQ(leases("held").size(), 0U);
  EXPECT_EQ(leases("free").size(), 24U);
}

// What is told of progress is that of the run, whose leases do not begin it anew.
TEST_F(Steal, TellsTheProgressOfAllLeases) {
  std::vector<std::string> words = arguments();
  words.insert(words.end(), {"--message-format", "json", "--sim-fault", "*=slow=0.03"});
  const Finished finished = msrun(words, scratch_.path());
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  std::vector<Json> events;
  std::istringstream lines(finished.out);
  for (std::string line; std::getline(lines, line);) {
    Json event = Json::parse(line);
    if (event["type"] == "progress") events.push_back(std::move(event));
  }
  // The calls take more than two seconds, of which each has its line.
  ASSERT_GE(events.size(), 3U);
  double elapsed = -1;
  for (const Json& event : events) {
    EXPECT_EQ(event["total"], 113);
    EXPECT_GT(event["elapsed_seconds"].get<double>(), elapsed);
    elapsed = event["elapsed_seconds"].get<double>();
    if (elapsed > 1) {
      EXPECT_LE(event["calls_per_second"].get<double>(), 50);
    }
  }
}

TEST_F(Steal, StopsAfterSoManyFailuresInAllLeases) {
  std::vector<std::string> words = arguments();
  words.insert(words.end(), {"--max-failures", "20", "--sim-fault", "*=scale=2"});
  Finished finished = msrun(words, scratch_.path());
  EXPECT_EQ(finished.exit_code, 1) << finished.out << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("(--max-failures 20)"), HasSubstr("Continue it with: ")));
  EXPECT_EQ(leases("held").size(), 0U);
  EXPECT_GT(leases("done").size(), 0U);
  EXPECT_GT(leases("free").size(), 0U);
  // Who continues it gets further.
  const std::size_t done = leases("done").size();
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  finished = msrun({"-csv_path", result, "--steal", "--max-failures", "20"}, scratch_.path());
  EXPECT_GT(leases("done").size(), done) << finished.out;
}

// The last of so many failures may be that of the last call of a lease: no other is begun, and a run is complete if
// there is none.
TEST_F(Steal, BeginsNoLeaseAfterSoManyFailures) {
  const auto check = [&](const char* most) {
    fs::remove_all(out());
    return msrun({"-api_info", recording(), "-o", out(), "--steal", "--leases", "2", "-n", "1", "--only",
                  "Torch.matmul.0,Torch.matmul.1", "--sim-fault", "*=scale=2", "--max-failures", most},
                 scratch_.path());
  };
  EXPECT_EQ(check("1").exit_code, 1);
  EXPECT_EQ(leases("done").size(), 1U);
  EXPECT_EQ(check("2").exit_code, 1);
  EXPECT_EQ(leases("done").size(), 2U);
}

// The lock by which the writer of a journal is known is lost as soon as its process closes that file anywhere.
TEST_F(Steal, IsTheWriterOfItsJournalAfterItHasTakenALeaseOver) {
  const std::vector<std::string> words{"-api_info", recording(),       "-o", out(), "--steal", "--leases",
                                       "1",         "--lease-timeout", "1",  "-n",  "1",       "--sim-fault",
                                       "*=hang",    "--task-timeout",  "600"};
  const auto lost = start(words);
  ASSERT_TRUE(eventually(deadline, [&] { return leases("held").size() == 1; }));
  const fs::path journal_of_lost = only_journal(out());
  lost->signal(SIGKILL);
  const auto node = start(words);
  ASSERT_TRUE(eventually(deadline, [&] { return node->log().find("is taken over from") != std::string::npos; }));
  std::set<fs::path> of_node = journals();
  of_node.erase(journal_of_lost);
  ASSERT_EQ(of_node.size(), 1U);
  const Finished told = msrun({"journal", *of_node.begin()}, scratch_.path());
  EXPECT_THAT(told.out, HasSubstr("process " + std::to_string(node->pid())));
}

// Calls that were in flight when this run died, and when another node did, are run when nothing else runs any more.
TEST_F(Steal, SuspectsWhatItsOwnJournalAndThatOfAnotherSay) {
  const std::vector<std::string> calls{
      "-api_info",        recording(), "-n", "1", "--only", "Functional.silu.0,Functional.silu.1,Functional.silu.2",
      "--message-format", "json"};
  const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const auto order_of = [](const std::string& events) {
    std::vector<std::string> order;
    std::istringstream lines(events);
    for (std::string line; std::getline(lines, line);) {
      const Json event = Json::parse(line, nullptr, false);
      if (event.is_object() && event["type"] == "api_result") order.push_back(event["name"]);
    }
    return order;
  };
  const std::vector<std::string> usual = order_of(msrun(with(calls, {"-o", whole()}), scratch_.path()).out);
  ASSERT_EQ(usual.size(), 3U);
  const std::vector<std::string> shared =
      with(calls, {"-o", out(), "--steal", "--leases", "1", "--lease-timeout", "1", "--sim-fault", "*=hang"});
  fs::path own_result;
  for (int death = 0; death < 2; ++death) {
    const auto node = start(with(shared, {"--task-timeout", "600"}));
    // In the journal of each node: that it begins, what it takes first, and this with what it takes next.
    ASSERT_TRUE(eventually(deadline, [&] {
      int at_work = 0;
      for (const fs::path& journal : journals()) {
        const Finished told = msrun({"journal", journal, "--json"}, scratch_.path());
        const Json contents = Json::parse(told.out, nullptr, false);
        if (contents.is_object() && contents.value("attempt_notes", 0) >= 3) ++at_work;
      }
      return at_work == death + 1;
    })) << node->log();
    if (death == 0) own_result = only_file(out(), "accuracy_checking_result_");
    node->signal(SIGKILL);
    ASSERT_TRUE(eventually(deadline, [&] { return !node->running(); }));
  }
  const Finished finished =
      msrun(with(shared, {"-csv_path", own_result, "--task-timeout", "1", "--retries", "0"}), scratch_.path());
  const std::vector<std::string> order = order_of(finished.out);
  ASSERT_EQ(order.size(), 3U) << finished.err;
  EXPECT_EQ(order.front(), usual.back());
}

TEST_F(Steal, EndsWithTheRunOfOneMachineWhateverBecomesOfTheNodes) {
  const std::uint64_t seed = number_from("MSRUN_STEAL_SEED", std::random_device{}());
  const std::uint64_t rounds = number_from("MSRUN_STEAL_ROUNDS", 2);
  const char* log_name = std::getenv("MSRUN_STEAL_LOG");
  std::ofstream log(log_name == nullptr ? "" : log_name, std::ios::app);
  const auto say = [&](const std::string& line) {
    log << line << '\n' << std::flush;
    std::cout << line << '\n' << std::flush;
  };
  say("MSRUN_STEAL_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto up_to = [&](double most) { return std::uniform_real_distribution<>(0, most)(random); };
  check_whole();
  int all_kills = 0;
  int all_stops = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(seed));
    fs::remove_all(out());
    std::vector<std::unique_ptr<Node>> nodes;
    for (int i = 0; i < 3; ++i) nodes.push_back(start());
    int kills = 0;
    int stops = 0;
    std::vector<Node*> stopped;
    for (std::uint64_t more = 2 + random() % 8; more > 0; --more) {
      std::this_thread::sleep_for(std::chrono::duration<double>(up_to(0.1)));
      Node& victim = *nodes[random() % nodes.size()];
      if (!victim.running()) continue;
      const double what = up_to(1);
      if (what < 0.4) {
        victim.signal(SIGKILL);
        ++kills;
        if (up_to(1) < 0.7) nodes.push_back(start());
      } else if (what < 0.8) {
        victim.signal(SIGSTOP);
        stopped.push_back(&victim);
        ++stops;
      } else {
        for (Node* node : stopped) node->signal(SIGCONT);
        stopped.clear();
      }
    }
    // Those that are stopped lose their leases to one that is left in peace, or go on in its middle.
    const auto peaceful = start();
    std::this_thread::sleep_for(std::chrono::duration<double>(up_to(2)));
    for (Node* node : stopped) node->signal(SIGCONT);
    ASSERT_TRUE(eventually(deadline, [&] { return !peaceful->running(); })) << peaceful->log();
    EXPECT_EQ(peaceful->code(), 0) << peaceful->log();
    for (const auto& node : nodes) {
      ASSERT_TRUE(eventually(deadline, [&] { return !node->running(); })) << node->log();
      EXPECT_THAT(node->code(), ::testing::AnyOf(0, 128 + SIGKILL)) << node->log();
    }
    EXPECT_EQ(leases("done").size(), 24U);
    expect_merged_as_whole();
    all_kills += kills;
    all_stops += stops;
    say((HasFailure() ? "FAILED round " : "round ") + std::to_string(round) + ": " + std::to_string(kills) +
        " killed, " + std::to_string(stops) + " stopped");
    if (HasFailure()) return;
    for (int i = 1; i <= started_; ++i) fs::remove(scratch_ / ("node" + std::to_string(i)));
  }
  say(std::to_string(rounds) + " rounds, all byte-identical: " + std::to_string(all_kills) + " nodes killed, " +
      std::to_string(all_stops) + " stopped");
}

}  // namespace
}  // namespace msrun::testing
