// The whole C contract of libdrey: everything a host may call, and who owns what.
//
// A handle is one native operator of one parallel subtask. Calls on one handle are never concurrent; calls on different
// handles are independent. No call blocks on I/O. Every function returns a status; on any status but DREY_OK it stores a
// malloc'ed, NUL-terminated message in *message (if message is not NULL) which the caller frees with drey_free.
//
// Batches are Arrow struct arrays (Arrow C data interface). Column 0 is `kind`, int8, Flink's RowKind byte
// (0 +I, 1 -U, 2 +U, 3 -D). The remaining columns are in one of two forms, declared once by the schema at drey_open:
//   row form       column 1 is `row`, binary ("z"): one Flink BinaryRowData per row, starting at its header byte. The
//                  field's metadata has drey.form=row and flink.fields=[{"name":..,"type":..},..] where type is
//                  LogicalType.asSerializableString(). Output batches have a third column `source`, int32: the index, in
//                  the last pushed batch, of the row that caused this one, or -1 (timers, bundles). A batch of rows of both
//                  inputs has a third column, too, `input`, int8: 0 or 1.
//   joined form    output only, for operators whose rows consist of two (Flink's JoinedRowData): the columns are kind, `left`,
//                  `right` and `source`. left and right are binary views ("vz"), each value one BinaryRowData, over the one
//                  data buffer that both share; a value that many rows have is there once. The null bits of a row without
//                  fields are all it has, 8 bytes, which stand in the view itself, as all values up to 12 bytes do. The kind
//                  is in the column alone: the header bytes of both rows say nothing. left has metadata drey.form=joined
//                  and flink.fields, right has flink.fields.
//   columnar form  one column per field, each with metadata flink.type.
#ifndef DREY_ABI_H
#define DREY_ABI_H
#include <stdint.h>

#define DREY_ABI_VERSION 4

// cgo knows no const; the exports written in Go spell it with these names, so that the compiler can hold them against the
// prototypes below.
typedef const char drey_text;
typedef const uint8_t drey_bytes;

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};
#endif

// Part of a batch or a bundle may have been processed when an operator that had stopped (see drey_push) fails, and part of a key
// group restored when drey_restore does. The status is the error's own then, but state has changed, and the handle is poisoned.
enum drey_status {
  DREY_OK = 0,
  DREY_INVALID = 1,      // bad specification or argument; nothing happened
  DREY_UNSUPPORTED = 2,  // well-formed, but this library can't run it
  DREY_CORRUPT = 3,      // malformed batch or snapshot; state is unchanged
  DREY_BUDGET = 4,       // the memory budget does not allow the growth asked for; state is unchanged
  DREY_CLOSED = 5,       // stale, closed or never issued handle
  DREY_POISONED = 6,     // an earlier call failed and may have left state half changed; the message is that first failure
  DREY_INTERNAL = 7,     // a panic in this call; the message carries the Go stack, the handle is now poisoned
  DREY_HOST = 8,         // a function of drey_host failed in this call; the handle is now poisoned
  DREY_QUERY = 9,        // the query fails on these rows, as it does in Flink; the handle is now poisoned
};

enum drey_input {
  DREY_MIXED = -1,  // rows of both inputs, in the order they came, which are in row form both
};

enum drey_event {
  DREY_WATERMARK = 0,        // event time has reached value (epoch milliseconds)
  DREY_PROCESSING_TIME = 1,  // the host's clock shows value (epoch milliseconds)
};

// What a host offers to an operator. Its functions are called within a call on the handle, on the thread of that call, and
// must not call the library.
struct drey_host {
  void *context;

  // The condition of a join: sets matches[i] to whether (not 0) or not (0) row i of the left side matches row i of the right
  // side, for n pairs. Row i is at offsets[i] up to offsets[i + 1] of its side's bytes, a BinaryRowData of that input. All
  // pointers are borrowed for the call. Anything but 0 is a failure. NULL: the host has no condition.
  int32_t (*condition)(void *context, const uint8_t *left, const uint32_t *left_offsets, const uint8_t *right,
                       const uint32_t *right_offsets, int32_t n, uint8_t *matches);

  // Called exactly once, by drey_close, or by drey_open if that fails. NULL is fine.
  void (*release)(void *context);
};

// Version of this contract; a host refuses a library whose version differs from its own.
int32_t drey_abi_version(void);

// Frees a message or string that this library returned. NULL is fine.
void drey_free(char *message);

// Creates an operator. `spec` is strict JSON (native/spec), `spec_len` bytes. `inputs` are `n_inputs` schemas, `output` is
// the schema of the batches drey_poll is to fill; all are borrowed for the call. The subtask owns key groups
// [first_key_group, last_key_group] of max_parallelism. memory_budget is the most state memory it may map, in bytes;
// 0 is no limit. `host` is what the operator may call, NULL for nothing; the struct is copied.
int32_t drey_open(const char *spec, int64_t spec_len, struct ArrowSchema **inputs, int32_t n_inputs,
                  struct ArrowSchema *output, int32_t max_parallelism, int32_t first_key_group, int32_t last_key_group,
                  int64_t memory_budget, struct drey_host *host, uint64_t *handle, char **message);

// Processes a batch of `input`, 0, 1 or DREY_MIXED. The array is moved: the library calls its release exactly once, on this
// thread. If *pending is 0 it has done so on return; otherwise the operator may have stopped in the middle of the batch,
// having emitted enough for once, and the batch is released by the drey_poll that finds it finished, or by drey_close.
// processing_time is the host's clock, epoch milliseconds. *pending is the number of output rows waiting for drey_poll,
// which may turn out to be more. All output must be polled, until there is none, before the next call of another kind; only
// drey_close may come between.
int32_t drey_push(uint64_t handle, int32_t input, struct ArrowArray *batch, int64_t processing_time, int64_t *pending,
                  char **message);

// Tells the operator of progress in time; `event` is a drey_event.
int32_t drey_advance(uint64_t handle, int32_t event, int64_t value, int64_t *pending, char **message);

// Ends a mini-batch bundle: everything the operator holds back is emitted.
int32_t drey_flush(uint64_t handle, int64_t *pending, char **message);

// Moves the next chunk of output into *out (allocated by the caller, zeroed). *rows is its length, 0 when nothing is left.
// An operator that had stopped goes on here. The caller calls out->release. In row form and joined form the buffers belong
// to the handle and stay valid until the next call on it, so a host that reads them at once may skip the release.
int32_t drey_poll(uint64_t handle, struct ArrowArray *out, int64_t *rows, char **message);

// Writes the snapshot of one key group into buffer, as much as fits; *written is 0 when the group is complete. Groups are
// asked for in ascending order within the subtask's range; the first call after any other kind of call starts a new
// snapshot, and no other call may come between until the last group is complete (or the snapshot is abandoned).
int32_t drey_snapshot(uint64_t handle, int32_t key_group, uint8_t *buffer, int64_t capacity, int64_t *written,
                      char **message);

// Feeds snapshot bytes of one key group, in order, in chunks of any length; length 0 ends the group and verifies it.
// Allowed only before the first push.
int32_t drey_restore(uint64_t handle, int32_t key_group, const uint8_t *bytes, int64_t length, char **message);

// Statistics as a JSON object of integers, e.g. {"numLateRecordsDropped":3,"state.bytes":1048576}. *json is malloc'ed.
int32_t drey_stats(uint64_t handle, char **json, char **message);

// Frees everything the handle owns. Closing twice gives DREY_CLOSED and nothing else.
int32_t drey_close(uint64_t handle, char **message);

// Describes every open handle and every live exported byte; "" when there are none. *text is malloc'ed.
int32_t drey_live(char **text, char **message);

// Panics inside the guard, on the handle (0: on none). Kinds: 0 panic, 1 nil dereference, 2 index out of range.
int32_t drey_panic_for_test(uint64_t handle, int32_t kind, char **message);

#endif
