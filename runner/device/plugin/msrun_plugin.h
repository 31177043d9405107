/* The C interface between msrun and a device that no Python reaches: a shared library that runs recorded calls.
 *
 *     msrun -api_info dump.json -o out --backend plugin:./libmydevice.so
 *
 * The library exports one function, msrun_plugin_entry. docs/plugin_example.c is a whole plugin, docs/devices.md says
 * how to build and try one. This header needs nothing but a C99 or C++ compiler.
 *
 * Processes. The library is loaded in every process that runs calls, after that process was forked, and in one more
 * that only calls describe. Nothing may happen when it is loaded but what describe and open ask for. Standard output of
 * these processes leads to standard error. When a function crashes or never returns, its process is replaced, the call
 * that the thread was at is to blame and is tried again; so do not catch SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT.
 *
 * Threads. describe, open and close are called by one thread, while nothing else of the plugin runs. attach_thread, run
 * and release are called by several threads at once; trim by any of them while none of the others is in run.
 *
 * Memory. What msrun passes in belongs to msrun and is valid until the function returns; it is only to be read, but for
 * the structures that are there to be filled in. A call whose tensors, arguments or output gradients, are not as they
 * were when run returns has failed to run: the benchmark is computed from the same memory. What the plugin passes out
 * belongs to the plugin and stays valid as long as is said at each place. Tensors are in the memory of the host, on
 * both ways.
 *
 * Errors. Functions return a status, one of those below, and no function may let a C++ exception out.
 *
 * Versions. MSRUN_PLUGIN_ABI grows when this interface changes so that older plugins no longer work. Structures may get
 * further members at their ends without that: those that msrun passes say in `size` how long they are.
 */
#ifndef MSRUN_PLUGIN_H
#define MSRUN_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): C has no using. */
#define MSRUN_PLUGIN_ABI 1

typedef int32_t msrun_status;
enum {
  MSRUN_OK = 0,
  /* The next three are a SKIP of this one call, with the plugin's text. */
  MSRUN_UNSUPPORTED = 1, /* the device does not have this call */
  MSRUN_ARGUMENTS = 2,   /* it does not take these arguments */
  MSRUN_FAILED = 3,      /* it ran, and failed */
  /* trim is called once no other call runs, then the call runs again; after that it counts as failed to run. */
  MSRUN_OUT_OF_MEMORY = 4,
  /* The device is of no more use to this process, which is ended and replaced. Every call under way may be to blame. */
  MSRUN_LOST = 5
};

typedef int32_t msrun_dtype;
enum {
  MSRUN_BOOL = 0, /* one byte, 0 or 1 */
  MSRUN_UINT8 = 1,
  MSRUN_INT8 = 2,
  MSRUN_INT16 = 3,
  MSRUN_INT32 = 4,
  MSRUN_INT64 = 5,
  MSRUN_FLOAT16 = 6,
  MSRUN_BFLOAT16 = 7, /* the upper half of a float32 */
  MSRUN_FLOAT32 = 8,
  MSRUN_FLOAT64 = 9,
  MSRUN_FLOAT8_E4M3FN = 10,
  MSRUN_FLOAT8_E5M2 = 11,
  MSRUN_COMPLEX64 = 12, /* real and imaginary part, each a float32 */
  MSRUN_COMPLEX128 = 13
};

/* What a value is, and which member of msrun_value.as then holds it. */
typedef int32_t msrun_kind;
enum {
  MSRUN_NONE = 0,     /* Python's None; no member */
  MSRUN_FLAG = 1,     /* bool: integer, 0 or 1 */
  MSRUN_INTEGER = 2,  /* int: integer */
  MSRUN_REAL = 3,     /* float: real */
  MSRUN_TEXT = 4,     /* str: text */
  MSRUN_DTYPE = 5,    /* torch.dtype: integer, an msrun_dtype */
  MSRUN_SLICE = 6,    /* slice: slice */
  MSRUN_ELLIPSIS = 7, /* Ellipsis; no member */
  MSRUN_DEVICE = 8,   /* torch.device: text, as recorded ("npu:0"); the device that open was given is meant */
  MSRUN_TENSOR = 9,   /* tensor */
  MSRUN_LIST = 10,    /* list, tuple, torch.Size: list */
  MSRUN_DICT = 11     /* dict */
};

typedef struct msrun_value msrun_value;
typedef struct msrun_entry msrun_entry;

/* Elements follow each other row by row without gaps, in the byte order of the host. */
typedef struct msrun_tensor {
  const void* data;     /* the first element; may be null if there is none */
  uint64_t bytes;       /* the product of all sizes and of the bytes of one element */
  const int64_t* sizes; /* rank of them, none negative; may be null if rank is 0 */
  int32_t rank;         /* 0 to 16 */
  msrun_dtype dtype;
  int32_t requires_grad; /* of an argument: its gradient is asked for. Not read of a result. */
  int32_t reserved;      /* 0 */
} msrun_tensor;

typedef struct msrun_list {
  const msrun_value* items;
  uint64_t count;
} msrun_list;

typedef struct msrun_dict {
  const msrun_entry* entries;
  uint64_t count;
} msrun_dict;

typedef struct msrun_slice {
  int64_t start, stop, step;
  int32_t has_start, has_stop, has_step; /* 0: None, and the number above means nothing */
  int32_t reserved;                      /* 0 */
} msrun_slice;

struct msrun_value {
  msrun_kind kind;
  int32_t reserved; /* 0 */
  union {
    int64_t integer;
    double real;
    const char* text; /* UTF-8, ends with a zero byte */
    msrun_tensor tensor;
    msrun_list list;
    msrun_dict dict;
    msrun_slice slice;
  } as;
};

struct msrun_entry {
  const char* key;
  msrun_value value;
};

/* A device of this host. */
typedef struct msrun_device_info {
  int32_t id;       /* what -d names */
  int32_t reserved; /* 0 */
  uint64_t memory;  /* bytes, for the user to read; 0: unknown */
  const char* name; /* of the model, for the user to read */
} msrun_device_info;

/* Something that changes results: "driver" and "24.1", "allow_hf32" and "1". */
typedef struct msrun_setting {
  const char* name;
  const char* value;
} msrun_setting;

/* What kernels of the device round to the half type of a call, float16 or bfloat16, beside their results. */
typedef int32_t msrun_half_rounding;
enum {
  MSRUN_ROUNDS_RESULTS = 0, /* nothing: they compute in float32 and round once */
  /* What one kernel, or one step of a fused one, passes on to the next, such as the probabilities of attention, the sum
   * that is normalised afterwards, a product before its bias; and sums to which several threads add. Products are
   * summed in float32. */
  MSRUN_ROUNDS_BETWEEN_KERNELS = 1,
  MSRUN_ROUNDS_EVERY_STEP = 2 /* every addition and every step of a formula, as kernels of processors do */
};

/* What the device makes of the float32 operands of products before it multiplies them. */
typedef int32_t msrun_operand_rounding;
enum {
  MSRUN_OPERANDS_EXACT = 0,
  MSRUN_OPERANDS_TF32 = 1, /* 10 fraction bits, cut or rounded */
  MSRUN_OPERANDS_HF32 = 2  /* 11 fraction bits */
};

/* What a plugin says of itself. Texts and arrays stay valid until the process ends. */
typedef struct msrun_description {
  uint64_t size;          /* of this structure; set by msrun */
  const char* name;       /* of the plugin: letters, digits, '.', '_' and '-' */
  const char* version;    /* of the plugin */
  int32_t is_accelerator; /* 0: calls run on the host's processor */
  int32_t reserved;       /* 0 */
  const msrun_device_info* devices;
  uint64_t device_count;
  /* They stand in the run's journal beside name and version. A run is only continued with the same ones. */
  const msrun_setting* settings;
  uint64_t setting_count;
  /* What sound arithmetic of the device may do. A result that errs by more is suspicious, so say no more than is true;
   * all zero is float32, rounded once. These stand among the settings in the journal. To be left alone if `size` says
   * that they are not there. */
  msrun_half_rounding half_rounding;
  msrun_operand_rounding product_operands;
  msrun_operand_rounding convolution_operands;
  msrun_operand_rounding recurrence_operands; /* of lstm, gru and their like */
  int32_t stores_float16_parts;  /* 1: a product of float16 may be summed in parts that are stored in float16 */
  int32_t stores_bfloat16_parts; /* the same of bfloat16 */
} msrun_description;

/* How a device is to be opened. */
typedef struct msrun_seat {
  uint64_t size;       /* of this structure */
  int32_t device_id;   /* one of those that describe listed */
  int32_t jit_compile; /* operators may be compiled (-j) */
  int32_t blocking;    /* wait for each kernel, so that an error is that of the call that caused it: a last attempt */
  int32_t reserved;    /* 0 */
  uint64_t memory;     /* bytes of the host that calls may take together; 0: as many as there are */
} msrun_seat;

/* A recorded call. Texts end with a zero byte. */
typedef struct msrun_call {
  uint64_t size;    /* of this structure */
  const char* name; /* in the recording: "Torch.linalg.norm.3" */
  const char* type; /* the namespace: "Functional", "Tensor", "Torch", "NPU", "Aten" ... */
  const char* api;  /* "linalg.norm" */
  const char*
      canonical; /* msrun's name for what is computed, one for all the names it is recorded under: "linalg_norm" */
  msrun_list args;
  msrun_dict kwargs;
  int32_t autocast; /* the msrun_dtype that autocast lowered to when the call was recorded; -1: none */
  int32_t backward; /* gradients are asked for */
  /* The gradient of each output, a tensor or MSRUN_NONE: of the whole if the call returns one tensor, else one per item
   * of the list it returns. */
  msrun_list output_gradients;
  int64_t only_output; /* the only output to be differentiated; -1: all that have a gradient */
  int32_t has_seed;    /* the call draws random numbers, and seed is what its generator is to begin with */
  int32_t reserved;    /* 0 */
  uint64_t seed;
} msrun_call;

/* What became of a call; all zero when run is called. Texts and arrays stay valid until release. */
typedef struct msrun_result {
  uint64_t size;     /* of this structure; set by msrun */
  const char* error; /* why, in one line, unless the status is MSRUN_OK */
  msrun_value output;
  /* One per tensor of args, then one per tensor of kwargs, depth first: a tensor, or MSRUN_NONE where no gradient was
   * asked for or the output does not depend on the tensor. Empty unless the call asks for backward. */
  msrun_list gradients;
  const char* backward_problem; /* why there are no gradients although they were asked for; null: there are */
  void* own;                    /* the plugin's, for release */
} msrun_result;

/* The plugin's functions. Those that are marked "may be null" have nothing to do then. `error` is a buffer of
 * `error_size` bytes for one line of text, which ends with a zero byte and is empty before. */
typedef struct msrun_plugin {
  uint32_t abi;      /* MSRUN_PLUGIN_ABI of the header that the plugin was compiled with */
  uint32_t reserved; /* 0 */

  /* Fills in the description. Anything but MSRUN_OK: there is no device, and the text says why. */
  msrun_status (*describe)(msrun_description* description, char* error, uint64_t error_size);

  /* Makes a device ready. *device is handed to all that follow; it may be null. */
  msrun_status (*open)(const msrun_seat* seat, void** device, char* error, uint64_t error_size);

  /* In each thread that runs calls, before its first one. *thread is handed to run; it may be null. May be null. */
  msrun_status (*attach_thread)(void* device, void** thread, char* error, uint64_t error_size);

  /* Runs the call, and returns once its results are complete in the host's memory. release follows in the same thread,
   * whatever the status. */
  msrun_status (*run)(void* device, void* thread, const msrun_call* call, msrun_result* result);

  /* msrun has copied what it needs. May be null. */
  void (*release)(void* device, msrun_result* result);

  /* Gives back memory that is kept for later calls. May be null. */
  void (*trim)(void* device);

  /* No call follows. Not called when the process is killed. May be null. */
  void (*close)(void* device);
} msrun_plugin;

/* The only function that the library must export. msrun_abi is the version that msrun speaks. Returns a structure that
 * stays valid until the process ends, or null if the plugin does not speak that version. */
const msrun_plugin* msrun_plugin_entry(uint32_t msrun_abi);
/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
