// The client of the torch worker without a worker: frames, arenas, calls and replies as text, what a worker says of
// itself, and whom a dying one names.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/tensor/memory.h"
#include "runner/device/python/arena.h"
#include "runner/device/python/wire.h"
#include "runner/workers/frames.h"
#include "runner/workers/hello.h"
#include "runner/workers/probe.h"
#include "runner/workers/shared_forks.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Sockets {
  Sockets() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    here.reset(ends[0]);
    there.reset(ends[1]);
  }
  UniqueFd here;
  UniqueFd there;
};

TEST(TorchFrames, ComeAsTheyWereSent) {
  const Sockets sockets;
  std::string text;
  for (const std::string& sent : {std::string("{}"), std::string(100'000, 'x'), std::string()}) {
    ASSERT_TRUE(send_frame(sockets.there.get(), sent));
    ASSERT_TRUE(receive_frame(sockets.here.get(), text));
    EXPECT_EQ(text, sent);
  }
}

TEST(TorchFrames, EndWithTheStream) {
  Sockets sockets;
  ASSERT_EQ(write(sockets.there.get(), "\x08\0\0\0half", 8), 8);
  sockets.there.reset();
  std::string text;
  EXPECT_FALSE(receive_frame(sockets.here.get(), text));
  EXPECT_FALSE(receive_frame(sockets.here.get(), text));
  EXPECT_FALSE(send_frame(sockets.here.get(), "{}"));
}

TEST(TorchFrames, ThatAreTooLongAreRefused) {
  const Sockets sockets;
  ASSERT_EQ(write(sockets.there.get(), "\xff\xff\xff\xff", 4), 4);
  std::string text;
  EXPECT_THROW(receive_frame(sockets.here.get(), text), BadFrame);
}

TEST(TorchArena, GrowsOnBothSidesAndNeverShrinks) {
  Arena arena;
  const std::size_t before = arena.memory().size();
  std::memcpy(arena.memory().data(), "abc", 3);
  arena.reserve(before + 1);
  EXPECT_GT(arena.memory().size(), before);
  EXPECT_EQ(std::memcmp(arena.memory().data(), "abc", 3), 0);
  const std::size_t longer = 4 * arena.memory().size();
  ASSERT_EQ(ftruncate(arena.descriptor(), static_cast<off_t>(longer)), 0);
  arena.follow();
  EXPECT_EQ(arena.memory().size(), longer);
  EXPECT_NE(ftruncate(arena.descriptor(), 1), 0);
}

TEST(TorchArena, GivesBackWhatWasWritten) {
  Arena arena;
  std::memset(arena.memory().data(), 1, 16384);
  arena.touched(16384);
  arena.give_back(4096);
  EXPECT_EQ(arena.memory()[0], std::byte{1});
  EXPECT_EQ(arena.memory()[8192], std::byte{0});
}

MaterialisedCall call_of(List args, Dict kwargs = {}) {
  MaterialisedCall call;
  call.name = "Torch.linalg.norm.3";
  call.parts = *ApiName::parse(call.name);
  call.args = std::move(args);
  call.kwargs = std::move(kwargs);
  return call;
}

std::string encoded(const MaterialisedCall& call, Arena& arena) {
  return encode_call({call, "linalg_norm", ordinary_traits, std::nullopt}, 7, arena);
}

TEST(TorchWire, WritesValuesAsTheProtocolHasThem) {
  Arena arena;
  const std::string text =
      encoded(call_of({None{}, true, std::int64_t{-3}, 1.0, -0.5, std::numeric_limits<double>::quiet_NaN(),
                       -std::numeric_limits<double>::infinity(), std::string("a\"\n"), DType::float8_e4m3fn,
                       Slice{1, std::nullopt, 2}, Ellipsis{}, DeviceName{"npu:0"}, List{std::int64_t{1}, List{}}},
                      {{"dim", std::int64_t{1}}}),
              arena);
  EXPECT_EQ(text,
            R"({"id":7,"n":"Torch","f":"linalg.norm","op":"linalg_norm","a":[null,true,-3,1.0,-0.5,NaN,-Infinity,)"
            R"("a\"\u000a",{"d":"float8_e4m3fn"},{"s":[1,null,2]},{"e":1},{"v":"npu:0"},[1,[]]],"k":{"dim":1},)"
            R"("b":false,"only":null,"autocast":null,"gy":[],"o":0})");
}

TEST(TorchWire, PutsTensorsIntoTheArena) {
  Arena arena;
  MaterialisedCall call =
      call_of({Tensor::full(DType::float32, Dims{2, 3}, 1).transpose(0, 1), Tensor::full(DType::bfloat16, Dims{5}, 2)},
              {{"weight", Tensor::full(DType::float32, Dims{0}, 1)}});
  call.requires_grad = {true, false, true};
  call.backward.run = true;
  call.gradients = {Tensor::full(DType::float32, Dims{}, 3), None{}};
  const std::string text = encoded(call, arena);
  EXPECT_THAT(text, HasSubstr(R"("a":[{"t":[0,24,"float32",[3,2],true]},{"t":[64,10,"bfloat16",[5],false]}])"));
  EXPECT_THAT(text, HasSubstr(R"("k":{"weight":{"t":[74,0,"float32",[0],true]}})"));
  EXPECT_THAT(text, HasSubstr(R"("gy":[{"t":[128,4,"float32",[],false]},null],"o":132)"));
  float third = 0;
  std::memcpy(&third, arena.memory().data() + 128, sizeof(third));
  EXPECT_EQ(third, 3);
}

// All lanes share torch's generator: what a call draws would depend on the calls before it.
TEST(TorchWire, SeedsWhatIsDrawn) {
  Arena arena;
  const MaterialisedCall call = call_of({});
  OperatorTraits dropout;
  dropout.random_zeros = true;
  const std::string once = encode_call({call, "linalg_norm", dropout, std::nullopt}, 7, arena);
  EXPECT_THAT(once, HasSubstr(R"("seed":)"));
  EXPECT_EQ(once, encode_call({call, "linalg_norm", dropout, std::nullopt}, 7, arena));
  EXPECT_THAT(encoded(call, arena), Not(HasSubstr("seed")));
}

TEST(TorchWire, WhatCannotBeSentIsASkip) {
  Arena arena;
  EXPECT_EQ(error_of<SkipError>([&] { encoded(call_of({Unsupported{"a generator"}}), arena); }), "a generator");
}

// Half is lowered to the dtype that the recorded output has.
TEST(TorchWire, AsksForTheAutocastOfTheRecording) {
  Arena arena;
  MaterialisedCall call =
      call_of({Tensor::full(DType::float32, Dims{2}, 1), Tensor::full(DType::bfloat16, Dims{2}, 1)});
  EXPECT_THAT(encoded(call, arena), HasSubstr(R"("autocast":"bfloat16")"));
  EXPECT_THAT(encoded(call, arena), Not(HasSubstr("casts")));
  const OperatorTraits lowered{.autocast = AutocastPolicy::lower};
  EXPECT_THAT(encode_call({call, "", lowered, std::nullopt}, 7, arena), HasSubstr(R"("casts":"bfloat16")"));
  const OperatorTraits raised{.autocast = AutocastPolicy::float32};
  EXPECT_THAT(encode_call({call, "", raised, std::nullopt}, 7, arena), HasSubstr(R"("casts":"float32")"));
  call.autocast = false;
  EXPECT_THAT(encoded(call, arena), HasSubstr(R"("autocast":null)"));
  EXPECT_THAT(encode_call({call, "", lowered, std::nullopt}, 7, arena), Not(HasSubstr("casts")));
}

Reply decoded(std::string_view text, Arena& arena) { return decode_reply(text, 7, arena); }

constexpr std::string_view whole_reply =
    R"({"id":7,"out":[{"t":[64,8,"float32",[2],false]},1,2.5,NaN,null,true,"text",{"m":{"a":{"v":"cpu"}}},{"d":"int8"}],)"
    R"("g":[null,{"t":[0,0,"float16",[0,3],false]}],"bp":"why not"})";

TEST(TorchWire, ReadsReplies) {
  Arena arena;
  const std::array<float, 2> values{1.5F, -2};
  std::memcpy(arena.memory().data() + 64, values.data(), sizeof(values));
  const MaterialisedCall call = call_of({});
  const Reply reply = decoded(whole_reply, arena);
  EXPECT_EQ(reply.status, ReplyStatus::done);
  const List& outputs = *reply.result.output.get<List>();
  ASSERT_EQ(outputs.size(), 9U);
  EXPECT_EQ(outputs[0].get<Tensor>()->data<float>()[1], -2);
  EXPECT_EQ(*outputs[1].get<std::int64_t>(), 1);
  EXPECT_EQ(*outputs[2].get<double>(), 2.5);
  EXPECT_TRUE(outputs[5].is<bool>());
  EXPECT_EQ(*outputs[8].get<DType>(), DType::int8);
  ASSERT_EQ(reply.result.gradients.size(), 2U);
  EXPECT_EQ(reply.result.gradients[1].get<Tensor>()->shape(), (Dims{0, 3}));
  EXPECT_EQ(reply.result.backward_problem, "why not");
  const Reply lost = decoded(R"({"id":7,"status":"lost","error":"507015"})", arena);
  EXPECT_EQ(lost.status, ReplyStatus::lost);
  EXPECT_EQ(lost.error, "507015");
}

TEST(TorchWire, RefusesWhatIsNoReply) {
  Arena arena;
  const MaterialisedCall call = call_of({});
  for (const char* text :
       {"", "{", "[]", "null", R"({"id":8,"out":null})", R"({"out":null})", R"({"id":7})", R"({"id":7,"out":null} 1)",
        R"({"id":7,"status":"fine"})", R"({"id":7,"out":{}})", R"({"id":7,"out":{"q":1}})",
        R"({"id":7,"out":{"t":[0,4,"float32",[1]]}})", R"({"id":7,"out":{"t":[0,4,"float31",[1],false]}})",
        R"({"id":7,"out":{"t":[0,5,"float32",[1],false]}})", R"({"id":7,"out":{"t":[-64,4,"float32",[1],false]}})",
        R"({"id":7,"out":{"t":[9223372036854775807,4,"float32",[1],false]}})",
        R"({"id":7,"out":{"t":[0,4611686018427387904,"float32",[1152921504606846976],false]}})",
        R"({"id":7,"out":{"t":[0,0,"float32",[-1],false]}})", R"({"id":7,"out":null,"g":{}})"}) {
    EXPECT_THROW(decoded(text, arena), BadFrame) << text;
  }
}

TEST(TorchWire, ALaneBeginsWithItsThread) {
  EXPECT_EQ(decode_lane(R"({"lane":0,"ident":140137})"), 140137U);
  for (const char* text : {"", "{]{]{", "[]", "7", R"({"lane":0})", R"({"ident":"x"})", R"({"ident":1} 2)"}) {
    EXPECT_THROW(decode_lane(text), BadFrame) << text;
  }
}

// Whatever bytes come, there is an answer.
TEST(TorchWire, MutatedRepliesAreReadOrRefused) {
  Arena arena;
  const MaterialisedCall call = call_of({});
  std::mt19937 random(20261122);
  const std::string alphabet = R"({}[]",:0123456789-.eNtufalsr")";
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text(whole_reply);
    for (std::size_t i = 1 + random() % 4; i > 0; --i) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        default:
          text[at] = alphabet[random() % alphabet.size()];
      }
      if (text.empty()) text = " ";
    }
    try {
      decoded(text, arena);
      ++read;
    } catch (const BadFrame&) {
    } catch (const SkipError&) {
    } catch (const NoTensorMemory&) {
    }
  }
  EXPECT_GT(read, 0);
}

WorkerOptions npu() {
  WorkerOptions options;
  options.kind = "npu";
  options.python = "/opt/python3";
  return options;
}

TEST(TorchHello, TellsVersionsSettingsAndDevices) {
  const Hello hello = parse_hello(
      R"({"v":1,"torch":"2.6.0","torch_npu":"2.6.0","cann":null,"python":"3.10","settings":{"conv.allow_hf32":true,)"
      R"("threads":1},"devices":[{"id":0,"name":"Ascend910B","memory":68719476736},{"id":3,"name":"Ascend910B"}]})",
      npu());
  ASSERT_EQ(hello.versions.size(), 2U);
  EXPECT_EQ(hello.versions[1].first, "torch_npu");
  EXPECT_EQ(hello.settings[0], (std::pair<std::string, std::string>("conv.allow_hf32", "true")));
  ASSERT_EQ(hello.devices.size(), 2U);
  EXPECT_EQ(hello.devices[0].memory, std::uint64_t{64} << 30);
  EXPECT_NO_THROW(require_devices(hello, npu(), {0, 3}));
  EXPECT_THAT(error_of<UserError>([&] {
                require_devices(hello, npu(), {0, 1});
              }),
              HasSubstr("there is no device 1 of torch:npu; its ids are 0, 3"));
}

TEST(TorchHello, SaysWhatToDo) {
  const auto refusal = [](const char* text) { return error_of<UserError>([&] { parse_hello(text, npu()); }); };
  EXPECT_THAT(refusal(R"({"v":2})"), HasSubstr("speaks version 2 of the protocol, msrun version 1"));
  EXPECT_THAT(refusal(R"({"v":1,"error":"No module named 'torch'","cause":"import","missing":"torch"})"),
              HasSubstr("/opt/python3 cannot import torch (No module named 'torch'): name a Python that has torch"));
  EXPECT_THAT(refusal(R"({"v":1,"error":"libhccl.so","cause":"import","missing":"torch_npu"})"),
              HasSubstr("set_env.sh"));
  EXPECT_THAT(refusal(R"({"v":1,"error":"torch_npu finds no NPU","cause":"device"})"),
              HasSubstr("--backend torch:npu: torch_npu finds no NPU"));
  for (const char* text : {"", "7", "{", "[1]"}) EXPECT_THROW(parse_hello(text, npu()), UserError) << text;
}

// A driver may never answer whoever asks for its devices.
TEST(TorchHello, IsNotWaitedForWithoutEnd) {
  const testing::TemporaryDirectory folder;
  WorkerOptions options = npu();
  options.python = folder.write("python3", "#!/bin/sh\nexec sleep 600\n");
  ASSERT_EQ(chmod(options.python.c_str(), 0755), 0);
  WorkerProcess worker({.options = options, .inspect = true});
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(error_of<UserError>([&] { await_hello(worker, options, {.hello = 0.2}); }),
              HasSubstr("has not said within 0.2 s what torch and devices it has"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  EXPECT_THROW(await_hello(worker, options, {.hello = 0.3, .silent = 0.1}), UserError);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "--backend torch:npu: waiting for " + options.python +
                                                          " to say what torch and devices it has, for up to 0.3 s\n");
}

// What stands in the environment may be of another run, whose descriptors are closed or something else.
TEST(SharedForks, AreThoseOfTheSameWorkersAlone) {
  WorkerOptions options;
  options.kind = "cpu";
  options.python = "/opt/python3";
  const Sockets sockets;
  const std::string descriptor = std::to_string(sockets.there.get());
  const std::string number = descriptor + ":77";
  const auto told = [&](const std::string& text) {
    setenv("MSRUN_WORKER_FORKS", text.c_str(), 1);
    const std::optional<ForkServer> forks = shared_forks(options);
    unsetenv("MSRUN_WORKER_FORKS");
    return forks ? std::pair(forks->socket, forks->pid) : std::pair(-1, -1);
  };
  const std::pair nothing(-1, -1);
  EXPECT_FALSE(shared_forks(options));
  EXPECT_EQ(told(number + " torch:cpu /opt/python3"), std::pair(sockets.there.get(), 77));
  EXPECT_EQ(fcntl(sockets.there.get(), F_GETFD), FD_CLOEXEC);
  const UniqueFd file(open("/dev/null", O_RDONLY));
  const std::vector<std::string> others{"",
                                        number,
                                        number + " torch:cpu /opt/python",
                                        descriptor + " torch:cpu /opt/python3",
                                        descriptor + ":0 torch:cpu /opt/python3",
                                        number + " torch:cuda /opt/python3",
                                        "-1:77 torch:cpu /opt/python3",
                                        "x:77 torch:cpu /opt/python3",
                                        "1000000:77 torch:cpu /opt/python3",
                                        std::to_string(file.get()) + ":77 torch:cpu /opt/python3"};
  for (const std::string& text : others) {
    EXPECT_EQ(told(text), nothing) << text;
  }
  // torch_npu is no package to be forked with.
  options.kind = "npu";
  EXPECT_EQ(told(number + " torch:npu /opt/python3"), nothing);
}

// A process that says what it was asked, and in place of which Python is started where it has ended.
TEST(SharedForks, AreNotNeeded) {
  const testing::TemporaryDirectory folder;
  WorkerOptions options;
  options.kind = "cpu";
  options.python = folder.write("python3", "#!/bin/sh\nexit 7\n");
  ASSERT_EQ(chmod(options.python.c_str(), 0755), 0);
  const std::unique_ptr<SharedForks> forks = SharedForks::start(options, STDERR_FILENO);
  ASSERT_NE(forks, nullptr);
  std::string variable = forks->variable();
  setenv("MSRUN_WORKER_FORKS", variable.substr(variable.find('=') + 1).c_str(), 1);
  WorkerProbe probe(options, 0);
  EXPECT_THAT(error_of<UserError>([&] { probe.wait(); }), HasSubstr("ended with exit code 7 before torch was there"));
  unsetenv("MSRUN_WORKER_FORKS");
}

bool within(int seconds, const std::function<bool()>& condition) {
  for (int tenths = 10 * seconds; tenths > 0 && !condition(); --tenths) usleep(100'000);
  return condition();
}

// A child that nobody has waited for keeps its number.
bool has_ended(pid_t child) {
  std::ifstream file("/proc/" + std::to_string(child) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.find(") Z ") != std::string::npos;
}

// A program that writes down that it was started.
std::string noted_program(const testing::TemporaryDirectory& folder) {
  std::string path = folder.write("python3", "#!/bin/sh\necho $$ >> " + folder.file("started") + "\nexec sleep 600\n");
  EXPECT_EQ(chmod(path.c_str(), 0755), 0);
  return path;
}

std::vector<pid_t> started(const testing::TemporaryDirectory& folder, std::size_t at_least) {
  std::vector<pid_t> pids;
  within(60, [&] {
    std::ifstream file(folder.file("started"));
    pids.clear();
    for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
    return pids.size() >= at_least;
  });
  return pids;
}

TEST(WorkerForks, ThatAreStoppedAreKilledAndPythonIsStartedInTheirPlace) {
  const testing::TemporaryDirectory folder;
  WorkerOptions options;
  options.kind = "cpu";
  options.python = noted_program(folder);
  const WorkerProcess forks({.options = options, .inspect = true});
  ASSERT_EQ(started(folder, 1).size(), 1U);
  ASSERT_EQ(kill(forks.forks().pid, SIGSTOP), 0);
  const WorkerProcess worker({.options = options, .forks = forks.forks(), .silence = 1});
  EXPECT_EQ(started(folder, 2).size(), 2U);
  EXPECT_TRUE(within(10, [&] { return has_ended(forks.forks().pid); }));
}

TEST(WorkerForks, ThatAreOnlySilentAreLeftAlone) {
  const testing::TemporaryDirectory folder;
  WorkerOptions options;
  options.kind = "cpu";
  options.python = noted_program(folder);
  const WorkerProcess forks({.options = options, .inspect = true});
  ASSERT_EQ(started(folder, 1).size(), 1U);
  const WorkerProcess worker({.options = options, .forks = forks.forks(), .silence = 1});
  EXPECT_EQ(started(folder, 2).size(), 2U);
  EXPECT_FALSE(has_ended(forks.forks().pid));
}

TEST(WorkerProbe, ReplacesWhatStaysStopped) {
  const testing::TemporaryDirectory folder;
  WorkerOptions options;
  options.kind = "cpu";
  options.python = noted_program(folder);
  WorkerProbe probe(options, 0);
  std::thread stops([&] {
    for (std::size_t i = 1; i <= 3; ++i) {
      const std::vector<pid_t> pids = started(folder, i);
      if (pids.size() == i) kill(pids.back(), SIGSTOP);
    }
  });
  EXPECT_THAT(error_of<UserError>([&] { probe.wait(1); }),
              HasSubstr("was killed by signal 9 (SIGKILL) before torch was there"));
  stops.join();
  EXPECT_EQ(started(folder, 3).size(), 3U);
}

// What inspects the devices is forked by the process that is asked.
TEST(WorkerProbe, ReplacesWhatHasForkedAProcessThatStaysStopped) {
  const testing::TemporaryDirectory folder;
  WorkerOptions options;
  options.kind = "cpu";
  options.python =
      folder.write("python3", "#!/bin/sh\nsleep 600 &\necho $! >> " + folder.file("started") + "\nwait\nexit 3\n");
  ASSERT_EQ(chmod(options.python.c_str(), 0755), 0);
  WorkerProbe probe(options, 0);
  std::thread stops([&] {
    for (std::size_t i = 1; i <= 3; ++i) {
      const std::vector<pid_t> pids = started(folder, i);
      if (pids.size() == i) kill(pids.back(), SIGSTOP);
    }
  });
  EXPECT_THAT(error_of<UserError>([&] { probe.wait(1); }), HasSubstr("ended with exit code 3 before torch was there"));
  stops.join();
  EXPECT_EQ(started(folder, 3).size(), 3U);
}

TEST(TorchWorker, FaulthandlerNamesTheThread) {
  EXPECT_EQ(faulting_thread("Fatal Python error: Segmentation fault\n\nThread 0x00007f01 (most recent call first):\n\n"
                            "Current thread 0x00007fab5e7fc6c0 (most recent call first):\n  File"),
            std::uint64_t{0x7fab5e7fc6c0});
  EXPECT_EQ(faulting_thread("Fatal Python error: Aborted\n\nThread 0x00007f01 (most recent call first):\n"),
            std::nullopt);
  EXPECT_EQ(faulting_thread("Current thread 0x"), std::nullopt);
}

TEST(WorkerProbe, AcceleratorsAreToldByTheirDrivers) {
  const testing::TemporaryDirectory folder;
  EXPECT_EQ(accelerator_of_host(folder.path()), "");
  folder.write("nvidiactl", "");
  EXPECT_EQ(accelerator_of_host(folder.path()), "cuda");
  folder.write("davinci_manager", "");
  EXPECT_EQ(accelerator_of_host(folder.path()), "npu");
}

TEST(TorchWorker, InterpretersAreLookedFor) {
  EXPECT_THAT(error_of<UserError>([] { find_python("/nowhere/python", torch_framework); }),
              StartsWith("--python: /nowhere/python"));
  EXPECT_THAT(error_of<UserError>([] { find_python("no-such-python", torch_framework); }),
              HasSubstr("no-such-python in PATH"));
  EXPECT_THAT(find_python("sh", torch_framework), Not(StartsWith("sh")));
}

}  // namespace
}  // namespace msrun
