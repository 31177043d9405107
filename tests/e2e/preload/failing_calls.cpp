// Loaded into a program with LD_PRELOAD: makes the nth call of a kind fail, wherever in the tree of processes it
// is made.
//
// MSRUN_FAULT_STATE names a file of the size of a FaultState (fault_state.h), which counts the calls of all processes.
// MSRUN_FAULT_KIND and MSRUN_FAULT_AT say which call fails (1 is the first; none if they are not set),
// MSRUN_FAULT_ERRNO with which errno. With MSRUN_FAULT_ALL all calls of the kind from that one on fail. With
// MSRUN_FAULT_TRACE the stack of a call that fails is printed.
#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "tests/e2e/preload/fault_state.h"
#include "tests/support/preload.h"

extern "C" {
// The allocator itself, past what is defined below.
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

using msrun::testing::fault_kinds;
using msrun::testing::FaultState;

enum Kind : std::size_t {
  open_call,
  close_call,
  read_call,
  fork_call,
  mmap_call,
  descriptor_call,
  thread_call,
  allocation_call
};

FaultState* state = nullptr;
std::size_t chosen = fault_kinds.size();
std::uint64_t failing_call = 0;
bool all_fail = false;  // from that one on
int failure = EIO;
// What a failing call does on its way out is not itself to fail.
thread_local bool is_failing __attribute__((tls_model("initial-exec"))) = false;

void print_stack() {
  void* frames[64];
  is_failing = true;
  const int depth = backtrace(frames, 64);
  backtrace_symbols_fd(frames, depth, 2);
  is_failing = false;
}

// True for the one call that is to fail; errno is then set.
bool fails(Kind kind) {
  if (state == nullptr || is_failing) return false;
  const std::uint64_t call = state->calls[kind].fetch_add(1) + 1;
  const bool is_meant = call == failing_call || (all_fail && failing_call > 0 && call > failing_call);
  if (kind != chosen || !is_meant) return false;
  state->failed.store(1);
  if (std::getenv("MSRUN_FAULT_TRACE") != nullptr) print_stack();
  errno = failure;
  return true;
}

__attribute__((constructor)) void begin() {
  const char* path = std::getenv("MSRUN_FAULT_STATE");
  if (path == nullptr) return;
  const long descriptor = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return;
  void* memory = reinterpret_cast<void*>(
      syscall(SYS_mmap, nullptr, sizeof(FaultState), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
  syscall(SYS_close, descriptor);
  if (memory == MAP_FAILED) return;
  const char* kind = std::getenv("MSRUN_FAULT_KIND");
  const char* at = std::getenv("MSRUN_FAULT_AT");
  const char* code = std::getenv("MSRUN_FAULT_ERRNO");
  for (std::size_t i = 0; kind != nullptr && i < fault_kinds.size(); ++i) {
    if (fault_kinds[i] == kind) chosen = i;
  }
  if (at != nullptr) failing_call = std::strtoull(at, nullptr, 10);
  all_fail = std::getenv("MSRUN_FAULT_ALL") != nullptr;
  if (code != nullptr) failure = static_cast<int>(std::strtol(code, nullptr, 10));
  state = static_cast<FaultState*>(memory);
}

bool is_regular(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return fails(open_call) ? -1 : next<int(const char*, int, mode_t)>("open")(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return fails(open_call) ? -1 : next<int(const char*, int, mode_t)>("open64")(path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return fails(open_call) ? -1 : next<int(int, const char*, int, mode_t)>("openat")(directory, path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
  return fails(open_call) ? nullptr : next<decltype(fopen)>("fopen")(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  return fails(open_call) ? nullptr : next<decltype(fopen)>("fopen64")(path, mode);
}

DIR* opendir(const char* path) { return fails(open_call) ? nullptr : next<decltype(opendir)>("opendir")(path); }

// The descriptor is closed all the same, as Linux does it.
int close(int descriptor) {
  const bool failing = fails(close_call);
  const int code = errno;
  const int result = next<decltype(close)>("close")(descriptor);
  if (!failing) return result;
  errno = code;
  return -1;
}

// What files say; pipes and counters of the kernel have nothing that could be damaged.
ssize_t read(int descriptor, void* bytes, size_t count) {
  if (is_regular(descriptor) && fails(read_call)) return -1;
  return next<decltype(read)>("read")(descriptor, bytes, count);
}

ssize_t pread(int descriptor, void* bytes, size_t count, off_t offset) {
  return fails(read_call) ? -1 : next<decltype(pread)>("pread")(descriptor, bytes, count, offset);
}

ssize_t pread64(int descriptor, void* bytes, size_t count, off64_t offset) {
  return fails(read_call) ? -1 : next<decltype(pread64)>("pread64")(descriptor, bytes, count, offset);
}

pid_t fork() { return fails(fork_call) ? -1 : next<decltype(fork)>("fork")(); }

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const argv[], char* const env[]) {
  if (fails(fork_call)) return errno;
  return next<decltype(posix_spawn)>("posix_spawn")(pid, path, actions, attributes, argv, env);
}

void* mmap(void* address, size_t length, int protection, int flags, int descriptor, off_t offset) {
  if (fails(mmap_call)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, descriptor, offset));
}

void* mmap64(void* address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
  if (fails(mmap_call)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, descriptor, offset));
}

int pipe2(int ends[2], int flags) { return fails(descriptor_call) ? -1 : next<decltype(pipe2)>("pipe2")(ends, flags); }

int eventfd(unsigned int value, int flags) {
  return fails(descriptor_call) ? -1 : next<decltype(eventfd)>("eventfd")(value, flags);
}

int epoll_create1(int flags) {
  return fails(descriptor_call) ? -1 : next<decltype(epoll_create1)>("epoll_create1")(flags);
}

int signalfd(int descriptor, const sigset_t* signals, int flags) {
  return fails(descriptor_call) ? -1 : next<decltype(signalfd)>("signalfd")(descriptor, signals, flags);
}

int timerfd_create(clockid_t clock, int flags) {
  return fails(descriptor_call) ? -1 : next<decltype(timerfd_create)>("timerfd_create")(clock, flags);
}

int memfd_create(const char* name, unsigned int flags) {
  return fails(descriptor_call) ? -1 : next<decltype(memfd_create)>("memfd_create")(name, flags);
}

// pidfd_open has no function of its own in older C libraries.
long syscall(long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  long values[6];
  for (long& value : values) value = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_pidfd_open && fails(descriptor_call)) return -1;
  return next<long(long, ...)>("syscall")(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  if (fails(thread_call)) return errno;
  return next<decltype(pthread_create)>("pthread_create")(thread, attributes, body, argument);
}

void* malloc(size_t size) { return fails(allocation_call) ? nullptr : __libc_malloc(size); }

void* calloc(size_t count, size_t size) { return fails(allocation_call) ? nullptr : __libc_calloc(count, size); }

void* realloc(void* memory, size_t size) { return fails(allocation_call) ? nullptr : __libc_realloc(memory, size); }

void* aligned_alloc(size_t alignment, size_t size) {
  return fails(allocation_call) ? nullptr : __libc_memalign(alignment, size);
}

void* memalign(size_t alignment, size_t size) {
  return fails(allocation_call) ? nullptr : __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (fails(allocation_call)) return errno;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

}  // extern "C"
