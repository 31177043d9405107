/* The example plugin with a relu that misbehaves as MSRUN_TEST_PLUGIN says, for tests of what msrun makes of it. With
 * MSRUN_TEST_ONCE=FILE only the first call does, which then makes FILE; with MSRUN_TEST_DEVICE=ID only those on that
 * device do. With MSRUN_TEST_LOG=FILE the functions that are called are written down, one a line.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define msrun_plugin_entry example_entry
#include "plugin_example.c"
#undef msrun_plugin_entry

static msrun_plugin functions;
static const msrun_plugin* example;
static int32_t device_of_process;

static int fault_is(const char* name) {
  const char* fault = getenv("MSRUN_TEST_PLUGIN");
  return fault != NULL && strcmp(fault, name) == 0;
}

static void note(const char* text) {
  const char* path = getenv("MSRUN_TEST_LOG");
  if (path == NULL) return;
  char line[256];
  const int length = snprintf(line, sizeof(line), "%d.%lx %s\n", (int)getpid(), (unsigned long)pthread_self(), text);
  const int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0644);
  if (write(file, line, (size_t)length) != length) abort();
  close(file);
}

/* Whether this call is the one that misbehaves. */
static int is_turn(void) {
  const char* device = getenv("MSRUN_TEST_DEVICE");
  if (device != NULL && atoi(device) != device_of_process) return 0;
  const char* mark = getenv("MSRUN_TEST_ONCE");
  if (mark == NULL) return 1;
  const int file = open(mark, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (file < 0) return 0;
  close(file);
  return 1;
}

static void* abort_elsewhere(void* nothing) {
  (void)nothing;
  abort();
}

static void misbehave(void) {
  if (fault_is("crash")) *(volatile int*)0 = 1; /* NOLINT */
  if (fault_is("crash_elsewhere")) {
    pthread_t thread;
    pthread_create(&thread, NULL, abort_elsewhere, NULL);
    pause();
  }
  if (fault_is("hang")) {
    for (;;) pause();
  }
  if (fault_is("leave")) _exit(5);
  if (fault_is("noise")) {
    puts("noise on standard output");
    fflush(stdout);
  }
}

/* Statuses instead of a result. */
static int answer_of(msrun_result* result, msrun_status* status) {
  static const struct {
    const char* fault;
    msrun_status status;
    const char* error;
  } answers[] = {{"fail", MSRUN_FAILED, "kernel launch failed for a reason of its own"},
                 {"unsupported", MSRUN_UNSUPPORTED, "no such kernel"},
                 {"out_of_memory", MSRUN_OUT_OF_MEMORY, "20 GiB asked for, 16 there"},
                 {"lose", MSRUN_LOST, "the card fell off the bus"},
                 {"silent", MSRUN_FAILED, NULL},
                 {"unknown_status", 77, "what"}};
  for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); ++i) {
    if (!fault_is(answers[i].fault)) continue;
    result->error = answers[i].error;
    *status = answers[i].status;
    return 1;
  }
  return 0;
}

/* Changes to a result that is sound. */
static void damage(msrun_result* result) {
  static int64_t other_sizes[2] = {8, 8};
  static msrun_value itself;
  msrun_tensor* output = &result->output.as.tensor;
  if (fault_is("wrong_value")) ((float*)output->data)[3] += 1;
  if (fault_is("wrong_shape")) {
    output->sizes = other_sizes;
    output->rank = 2;
  }
  if (fault_is("wrong_dtype")) output->dtype = MSRUN_INT32;
  if (fault_is("short")) output->bytes -= 4;
  if (fault_is("negative")) {
    other_sizes[0] = -8;
    output->sizes = other_sizes;
    output->rank = 2;
  }
  if (fault_is("huge")) {
    other_sizes[0] = other_sizes[1] = (int64_t)1 << 40;
    output->sizes = other_sizes;
    output->rank = 2;
    output->bytes = (uint64_t)1 << 62;
  }
  if (fault_is("rank")) output->rank = 17;
  if (fault_is("no_data")) output->data = NULL;
  if (fault_is("no_dtype")) output->dtype = 14;
  if (fault_is("no_kind")) result->output.kind = 12;
  if (fault_is("no_items")) {
    result->output.kind = MSRUN_LIST;
    result->output.as.list.items = NULL;
    result->output.as.list.count = 3;
  }
  if (fault_is("endless")) {
    itself.kind = MSRUN_LIST;
    itself.as.list.items = &itself;
    itself.as.list.count = 1;
    result->output = itself;
  }
  if (fault_is("gradients")) {
    result->gradients.items = &result->output;
    result->gradients.count = 3;
  }
}

/* Writes to what is only to be read. */
static void change(const msrun_list* tensors) {
  if (tensors->count > 0) ((float*)tensors->items[0].as.tensor.data)[1] += 1;
}

static msrun_status faulty_run(void* device, void* thread, const msrun_call* call, msrun_result* result) {
  note("run");
  const int turn = strcmp(call->api, "relu") == 0 && is_turn();
  msrun_status status = MSRUN_OK;
  if (turn) misbehave();
  if (turn && answer_of(result, &status)) return status;
  status = example->run(device, thread, call, result);
  if (turn && status == MSRUN_OK) damage(result);
  if (turn && fault_is("change_input")) change(&call->args);
  if (turn && fault_is("change_gradient")) change(&call->output_gradients);
  return status;
}

static void noted_release(void* device, msrun_result* result) {
  note("release");
  example->release(device, result);
}

static void noted_trim(void* device) {
  (void)device;
  note("trim");
}

static msrun_status noted_attach(void* device, void** thread, char* error, uint64_t error_size) {
  (void)device;
  (void)thread;
  note("attach");
  if (!fault_is("attach")) return MSRUN_OK;
  snprintf(error, error_size, "one thread is enough");
  return MSRUN_FAILED;
}

static msrun_status faulty_open(const msrun_seat* seat, void** device, char* error, uint64_t error_size) {
  char text[64];
  device_of_process = seat->device_id;
  snprintf(text, sizeof(text), "open %d blocking=%d jit=%d", (int)seat->device_id, (int)seat->blocking,
           (int)seat->jit_compile);
  note(text);
  /* The first device leaves the second the time to be asked for while there are calls. */
  if (fault_is("open_second") && seat->device_id == 0) usleep(100000);
  if (fault_is("open") || (fault_is("open_second") && seat->device_id == 1)) {
    snprintf(error, error_size, "the card is in use");
    return MSRUN_FAILED;
  }
  return example->open(seat, device, error, error_size);
}

static void noted_close(void* device) {
  (void)device;
  note("close");
}

static msrun_status faulty_describe(msrun_description* description, char* error, uint64_t error_size) {
  static msrun_setting setting = {"rounding", "nearest"};
  if (fault_is("describe_crash")) *(volatile int*)0 = 1; /* NOLINT */
  if (fault_is("describe_leave")) _exit(3);
  if (fault_is("describe")) {
    snprintf(error, error_size, "no card is plugged in");
    return MSRUN_FAILED;
  }
  const msrun_status status = example->describe(description, error, error_size);
  if (getenv("MSRUN_TEST_ROUNDING") != NULL) setting.value = getenv("MSRUN_TEST_ROUNDING");
  description->settings = &setting;
  if (*setting.value == 0) description->setting_count = 0;
  if (fault_is("no_name")) description->name = NULL;
  if (fault_is("accelerator")) description->is_accelerator = 1;
  if (fault_is("rounds_steps")) description->half_rounding = MSRUN_ROUNDS_EVERY_STEP;
  if (fault_is("rounds_otherwise")) description->half_rounding = 7;
  static msrun_device_info devices[2];
  if (fault_is("negative_id") || fault_is("same_id")) {
    for (int i = 0; i < 2; ++i) {
      devices[i] = description->devices[0];
      devices[i].id = fault_is("negative_id") ? i - 1 : 3;
    }
    description->devices = devices;
    description->device_count = 2;
  }
  return status;
}

const msrun_plugin* msrun_plugin_entry(uint32_t msrun_abi) {
  example = example_entry(msrun_abi);
  if (example == NULL || fault_is("refuse")) return NULL;
  functions = *example;
  functions.describe = faulty_describe;
  functions.open = faulty_open;
  functions.attach_thread = noted_attach;
  functions.run = faulty_run;
  functions.release = noted_release;
  functions.trim = noted_trim;
  functions.close = noted_close;
  if (fault_is("other_abi")) functions.abi = 99;
  if (fault_is("no_run")) functions.run = NULL;
  return &functions;
}
