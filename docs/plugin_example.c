/* A whole plugin: a "device" that runs relu and add on float32 tensors of one shape, on the host's processor.
 * docs/devices.md says how to build and try it. In a plugin of yours the two functions at "The device's work" call your
 * driver instead.
 */
#include <stdlib.h>
#include <string.h>

#include "msrun_plugin.h"

/* A result owns one block of memory for each tensor that it returns. */
typedef struct {
  msrun_value gradients[2];
  void* blocks[3];
  int block_count;
} answer;

/* The device's work: y = max(x, 0) and y = a + alpha * b, and their gradients. */
static void relu(float* y, const float* x, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}

static void add(float* y, const float* a, const float* b, float alpha, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) y[i] = a[i] + alpha * b[i];
}

static void relu_gradient(float* gradient, const float* upstream, const float* x, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) gradient[i] = x[i] > 0 ? upstream[i] : 0;
}

static void scale(float* gradient, const float* upstream, float factor, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) gradient[i] = factor * upstream[i];
}

static int same_shape(const msrun_tensor* a, const msrun_tensor* b) {
  return a->rank == b->rank && (a->rank == 0 || memcmp(a->sizes, b->sizes, (size_t)a->rank * sizeof(int64_t)) == 0);
}

/* The float32 tensor among the arguments at that place; null if it is something else. */
static const msrun_tensor* argument(const msrun_call* call, uint64_t place) {
  if (place >= call->args.count || call->args.items[place].kind != MSRUN_TENSOR) return NULL;
  const msrun_tensor* tensor = &call->args.items[place].as.tensor;
  return tensor->dtype == MSRUN_FLOAT32 ? tensor : NULL;
}

/* Memory for a tensor like another one. Its sizes are the argument's, which is there until run returns and not longer,
 * so that they are copied behind the elements. Null if there is no memory. */
static float* make_tensor(answer* made, msrun_value* value, const msrun_tensor* like) {
  const uint64_t room = (like->bytes + 7) / 8 * 8;
  char* block = malloc(room + (size_t)like->rank * sizeof(int64_t) + 1);
  if (block == NULL) return NULL;
  made->blocks[made->block_count++] = block;
  int64_t* sizes = (int64_t*)(block + room);
  if (like->rank > 0) memcpy(sizes, like->sizes, (size_t)like->rank * sizeof(int64_t));
  value->kind = MSRUN_TENSOR;
  value->as.tensor.data = block;
  value->as.tensor.bytes = like->bytes;
  value->as.tensor.sizes = sizes;
  value->as.tensor.rank = like->rank;
  value->as.tensor.dtype = like->dtype;
  return (float*)block;
}

static msrun_status refuse(msrun_result* result, msrun_status status, const char* error) {
  result->error = error;
  return status;
}

/* The factor of the second operand; 0 if it cannot be told. */
static int find_alpha(const msrun_call* call, float* alpha) {
  *alpha = 1;
  for (uint64_t i = 0; i < call->kwargs.count; ++i) {
    const msrun_entry* entry = &call->kwargs.entries[i];
    if (strcmp(entry->key, "alpha") != 0) return 0;
    if (entry->value.kind == MSRUN_INTEGER) {
      *alpha = (float)entry->value.as.integer;
    } else if (entry->value.kind == MSRUN_REAL) {
      *alpha = (float)entry->value.as.real;
    } else {
      return 0;
    }
  }
  return 1;
}

static msrun_status backward(const msrun_call* call, msrun_result* result, answer* made, int is_relu, float alpha) {
  const uint64_t count = call->args.count;
  if (call->output_gradients.count != 1 || call->output_gradients.items[0].kind != MSRUN_TENSOR) {
    result->backward_problem = "the recording has no gradient of the output";
    return MSRUN_OK;
  }
  const msrun_tensor* upstream = &call->output_gradients.items[0].as.tensor;
  for (uint64_t i = 0; i < count; ++i) {
    const msrun_tensor* input = argument(call, i);
    if (!input->requires_grad) continue; /* made->gradients[i] stays MSRUN_NONE */
    if (upstream->dtype != MSRUN_FLOAT32 || upstream->bytes != input->bytes) {
      result->backward_problem = "the gradient of the output is not of its shape";
      return MSRUN_OK;
    }
    float* gradient = make_tensor(made, &made->gradients[i], input);
    if (gradient == NULL) return refuse(result, MSRUN_OUT_OF_MEMORY, "no memory for a gradient");
    if (is_relu) {
      relu_gradient(gradient, upstream->data, input->data, input->bytes / sizeof(float));
    } else {
      scale(gradient, upstream->data, i == 0 ? 1 : alpha, input->bytes / sizeof(float));
    }
  }
  result->gradients.items = made->gradients;
  result->gradients.count = count;
  return MSRUN_OK;
}

static msrun_status run(void* device, void* thread, const msrun_call* call, msrun_result* result) {
  (void)device;
  (void)thread;
  const int is_relu = strcmp(call->canonical, "relu") == 0;
  const int is_add = strcmp(call->canonical, "add") == 0;
  if (!is_relu && !is_add) return refuse(result, MSRUN_UNSUPPORTED, "only relu and add are there");
  const msrun_tensor* x = argument(call, 0);
  const msrun_tensor* other = is_add ? argument(call, 1) : x;
  float alpha = 1;
  if (x == NULL || other == NULL || !same_shape(x, other) || call->args.count != (is_add ? 2u : 1u)) {
    return refuse(result, MSRUN_ARGUMENTS, "float32 tensors of one shape are taken, nothing else");
  }
  if (is_add && !find_alpha(call, &alpha)) return refuse(result, MSRUN_ARGUMENTS, "of keywords only alpha is taken");

  answer* made = calloc(1, sizeof(answer));
  if (made == NULL) return refuse(result, MSRUN_OUT_OF_MEMORY, "no memory for a result");
  result->own = made;
  float* y = make_tensor(made, &result->output, x);
  if (y == NULL) return refuse(result, MSRUN_OUT_OF_MEMORY, "no memory for the output");
  if (is_relu) {
    relu(y, x->data, x->bytes / sizeof(float));
  } else {
    add(y, x->data, other->data, alpha, x->bytes / sizeof(float));
  }
  return call->backward ? backward(call, result, made, is_relu, alpha) : MSRUN_OK;
}

static void release(void* device, msrun_result* result) {
  (void)device;
  answer* made = result->own;
  if (made == NULL) return;
  for (int i = 0; i < made->block_count; ++i) free(made->blocks[i]);
  free(made);
}

static msrun_status describe(msrun_description* description, char* error, uint64_t error_size) {
  static const msrun_device_info devices[] = {{0, 0, 0, "the host's processor"}, {1, 0, 0, "the host's processor"}};
  static const msrun_setting settings[] = {{"rounding", "nearest"}};
  (void)error;
  (void)error_size;
  description->name = "example";
  description->version = "1.0";
  description->is_accelerator = 0;
  description->devices = devices;
  description->device_count = 2;
  description->settings = settings;
  description->setting_count = 1;
  return MSRUN_OK;
}

static msrun_status open_device(const msrun_seat* seat, void** device, char* error, uint64_t error_size) {
  (void)seat;
  (void)error;
  (void)error_size;
  *device = NULL; /* here: a context of the driver on seat->device_id */
  return MSRUN_OK;
}

const msrun_plugin* msrun_plugin_entry(uint32_t msrun_abi) {
  static const msrun_plugin functions = {
      .abi = MSRUN_PLUGIN_ABI, .describe = describe, .open = open_device, .run = run, .release = release};
  return msrun_abi == MSRUN_PLUGIN_ABI ? &functions : NULL;
}
