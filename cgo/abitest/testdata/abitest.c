// A C host of libdrey. `abitest CASE...` runs the named cases; each ends with no live handle and no live byte.
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"

#define CHECK(condition, ...)                                  \
  do {                                                         \
    if (!(condition)) {                                        \
      fprintf(stderr, "%s:%d: %s: ", __func__, __LINE__, #condition); \
      fprintf(stderr, __VA_ARGS__);                            \
      fprintf(stderr, "\n");                                   \
      exit(1);                                                 \
    }                                                          \
  } while (0)

// ---- schemas ----

static int schemas_released;

static void release_schema(struct ArrowSchema *schema) {
  schemas_released++;
  schema->release = NULL;
}

// Metadata: count, then length-prefixed key and value, native byte order.
static char *metadata(int n, const char **pairs) {
  static char block[4096];
  char *p = block;
  memcpy(p, &(int32_t){n}, 4), p += 4;
  for (int i = 0; i < 2 * n; i++) {
    int32_t length = (int32_t)strlen(pairs[i]);
    memcpy(p, &length, 4), p += 4;
    memcpy(p, pairs[i], (size_t)length), p += length;
  }
  char *copy = malloc((size_t)(p - block));
  memcpy(copy, block, (size_t)(p - block));
  return copy;
}

struct row_schema {
  struct ArrowSchema root, columns[3], *children[3];
};

static void fill_schema(struct row_schema *s, const char *fields, int n) {
  memset(s, 0, sizeof *s);
  const char *names[] = {"kind", "row", "source"}, *formats[] = {"c", "z", "i"};
  for (int i = 0; i < 3; i++) {
    s->columns[i].name = names[i];
    s->columns[i].format = formats[i];
    s->columns[i].release = release_schema;
    s->children[i] = &s->columns[i];
  }
  s->columns[1].metadata = metadata(2, (const char *[]){"drey.form", "row", "flink.fields", fields});
  s->root.format = "+s";
  s->root.name = "";
  s->root.n_children = n;
  s->root.children = s->children;
  s->root.release = release_schema;
}

// The joined form: its rows consist of two of the same fields.
struct joined_schema {
  struct ArrowSchema root, columns[4], *children[4];
};

static void fill_joined_schema(struct joined_schema *s, const char *fields) {
  memset(s, 0, sizeof *s);
  const char *names[] = {"kind", "left", "right", "source"}, *formats[] = {"c", "vz", "vz", "i"};
  for (int i = 0; i < 4; i++) {
    s->columns[i].name = names[i];
    s->columns[i].format = formats[i];
    s->columns[i].release = release_schema;
    s->children[i] = &s->columns[i];
  }
  s->columns[1].metadata = metadata(2, (const char *[]){"drey.form", "joined", "flink.fields", fields});
  s->columns[2].metadata = metadata(1, (const char *[]){"flink.fields", fields});
  s->root.format = "+s";
  s->root.name = "";
  s->root.n_children = 4;
  s->root.children = s->children;
  s->root.release = release_schema;
}

// ---- batches ----

static int batches_released;

static void release_batch(struct ArrowArray *batch) {
  CHECK(batch->release != NULL, "released twice");
  batches_released++;
  batch->release = NULL;
}

static void release_child(struct ArrowArray *child) { child->release = NULL; }

struct row_batch {
  struct ArrowArray root, columns[2], *children[2];
  const void *root_buffers[1], *kind_buffers[2], *row_buffers[3];
  int8_t kinds[64];
  int32_t offsets[65];
  uint8_t data[64 * 64];
};

static void fill_batch(struct row_batch *b, int n) {
  memset(&b->root, 0, sizeof b->root);
  memset(b->columns, 0, sizeof b->columns);
  b->root_buffers[0] = b->kind_buffers[0] = b->row_buffers[0] = NULL;
  b->kind_buffers[1] = b->kinds;
  b->row_buffers[1] = b->offsets;
  b->row_buffers[2] = b->data;
  for (int i = 0; i < 2; i++) {
    b->columns[i].length = n;
    b->columns[i].release = release_child;
    b->children[i] = &b->columns[i];
  }
  b->columns[0].n_buffers = 2;
  b->columns[0].buffers = b->kind_buffers;
  b->columns[1].n_buffers = 3;
  b->columns[1].buffers = b->row_buffers;
  b->root.length = n;
  b->root.n_buffers = 1;
  b->root.buffers = b->root_buffers;
  b->root.n_children = 2;
  b->root.children = b->children;
  b->root.release = release_batch;
}

// A BinaryRowData of (BIGINT, BIGINT): header and null bits, then a word per field.
static void put_row(struct row_batch *b, int i, int8_t kind, int64_t first, int64_t second) {
  int64_t row[3] = {kind, first, second};
  b->kinds[i] = kind;
  b->offsets[i] = 24 * i;
  b->offsets[i + 1] = 24 * (i + 1);
  memcpy(b->data + 24 * i, row, 24);
}

// ---- calls ----

#define FIELDS "[{\"name\":\"k\",\"type\":\"BIGINT\"},{\"name\":\"v\",\"type\":\"BIGINT\"}]"
#define ECHO "{\"operator\":\"echo\",\"version\":1}"

static uint64_t open_subtask(const char *spec, int32_t first, int32_t last, int64_t budget) {
  struct row_schema in, out;
  fill_schema(&in, FIELDS, 2);
  fill_schema(&out, FIELDS, 3);
  uint64_t handle = 0;
  char *message = NULL;
  struct ArrowSchema *inputs[] = {&in.root};
  int32_t status = drey_open(spec, (int64_t)strlen(spec), inputs, 1, &out.root, 128, first, last, budget, NULL, &handle, &message);
  CHECK(status == DREY_OK, "status %d: %s", status, message);
  CHECK(in.root.release != NULL && out.root.release != NULL, "schemas are borrowed, not released");
  free((void *)in.columns[1].metadata);
  free((void *)out.columns[1].metadata);
  return handle;
}

static uint64_t open_joined(const char *spec, const char *fields) {
  struct row_schema in;
  struct joined_schema out;
  fill_schema(&in, fields, 2);
  fill_joined_schema(&out, fields);
  uint64_t handle = 0;
  char *message = NULL;
  struct ArrowSchema *inputs[] = {&in.root};
  int32_t status = drey_open(spec, (int64_t)strlen(spec), inputs, 1, &out.root, 128, 0, 127, 64 << 20, NULL, &handle, &message);
  CHECK(status == DREY_OK, "status %d: %s", status, message);
  free((void *)in.columns[1].metadata);
  free((void *)out.columns[1].metadata);
  free((void *)out.columns[2].metadata);
  return handle;
}

static uint64_t open_spec(const char *spec) { return open_subtask(spec, 0, 127, 64 << 20); }

// Expects the status; the message must contain what is given, and is freed.
static void expect(int32_t status, int32_t want, char *message, const char *part) {
  CHECK(status == want, "status %d, want %d: %s", status, want, message == NULL ? "(no message)" : message);
  if (want == DREY_OK) {
    CHECK(message == NULL, "a message without a failure: %s", message);
  } else {
    CHECK(message != NULL && strstr(message, part) != NULL, "message \"%s\" lacks \"%s\"", message, part);
  }
  drey_free(message);
}

#define EXPECT(call, want, part)   \
  do {                             \
    char *message = NULL;          \
    int32_t status = call;         \
    expect(status, want, message, part); \
  } while (0)
#define OK(call) EXPECT(call, DREY_OK, "")

static void expect_clean(void) {
  char *text = NULL, *message = NULL;
  expect(drey_live(&text, &message), DREY_OK, message, "");
  CHECK(text[0] == 0, "still live:\n%s", text);
  drey_free(text);
}

// ---- cases ----

static void lifecycle(void) {
  CHECK(drey_abi_version() == DREY_ABI_VERSION, "library %d, header %d", drey_abi_version(), DREY_ABI_VERSION);
  uint64_t handle = open_spec(ECHO);
  char *text = NULL;
  OK(drey_live(&text, &message));
  CHECK(strstr(text, "echo") != NULL, "live: %s", text);
  drey_free(text);

  static struct row_batch batch;
  for (int round = 0; round < 3; round++) {
    fill_batch(&batch, 3);
    put_row(&batch, 0, 0, 1, 10);
    put_row(&batch, 1, 3, 2, 20);
    put_row(&batch, 2, 2, 3, 30);
    int64_t pending = -1, rows = -1;
    batches_released = 0;
    OK(drey_push(handle, 0, &batch.root, 1000, &pending, &message));
    CHECK(pending == 3, "pending %" PRId64, pending);
    CHECK(batches_released == 1 && batch.root.release == NULL, "released %d times", batches_released);

    // A push before the output is polled is refused, and still takes the batch.
    fill_batch(&batch, 1);
    EXPECT(drey_push(handle, 0, &batch.root, 1000, &pending, &message), DREY_INVALID, "not yet polled");
    CHECK(batches_released == 2 && batch.root.release == NULL, "released %d times", batches_released);

    struct ArrowArray out = {0};
    OK(drey_poll(handle, &out, &rows, &message));
    CHECK(rows == 3 && out.length == 3 && out.n_children == 3 && out.offset == 0, "rows %" PRId64, rows);
    const int8_t *kinds = out.children[0]->buffers[1];
    const int32_t *offsets = out.children[1]->buffers[1], *source = out.children[2]->buffers[1];
    const uint8_t *data = out.children[1]->buffers[2];
    CHECK(kinds[0] == 0 && kinds[1] == 3 && kinds[2] == 2, "kinds %d %d %d", kinds[0], kinds[1], kinds[2]);
    for (int i = 0; i < 3; i++) {
      int64_t row[3];
      CHECK(offsets[i] == 24 * i && offsets[i + 1] == 24 * (i + 1), "offsets %d %d", offsets[i], offsets[i + 1]);
      memcpy(row, data + offsets[i], 24);
      CHECK(row[0] == kinds[i] && row[1] == i + 1 && row[2] == 10 * (i + 1), "row %d", i);
      CHECK(source[i] == i, "source %d", source[i]);
    }
    out.release(&out);
    CHECK(out.release == NULL, "not released");
    OK(drey_poll(handle, &out, &rows, &message));
    CHECK(rows == 0 && out.release == NULL, "rows %" PRId64, rows);
  }
  text = NULL;
  OK(drey_stats(handle, &text, &message));
  CHECK(strstr(text, "\"rows\":9") != NULL, "stats: %s", text);
  drey_free(text);
  OK(drey_advance(handle, DREY_WATERMARK, 5, NULL, &message));
  OK(drey_advance(handle, DREY_PROCESSING_TIME, 5, NULL, &message));
  EXPECT(drey_advance(handle, 7, 5, NULL, &message), DREY_INVALID, "event 7");
  OK(drey_flush(handle, NULL, &message));
  OK(drey_close(handle, &message));
}

static void handles(void) {
  uint64_t first = open_spec(ECHO);
  OK(drey_close(first, &message));
  EXPECT(drey_close(first, &message), DREY_CLOSED, "closed");
  uint64_t second = open_spec(ECHO); // takes the slot again, under another generation
  CHECK(second != first && (second & 0xffffffff) == (first & 0xffffffff), "%#" PRIx64 " %#" PRIx64, first, second);
  static struct row_batch batch;
  fill_batch(&batch, 0);
  batches_released = 0;
  EXPECT(drey_push(first, 0, &batch.root, 0, NULL, &message), DREY_CLOSED, "closed");
  CHECK(batches_released == 1, "a batch pushed to a stale handle is taken all the same");
  EXPECT(drey_flush(0, NULL, &message), DREY_CLOSED, "never given out");
  EXPECT(drey_flush(UINT64_C(1) << 32 | 99, NULL, &message), DREY_CLOSED, "never given out");
  EXPECT(drey_flush(~UINT64_C(0), NULL, &message), DREY_CLOSED, "never given out");
  EXPECT(drey_push(second, 1, NULL, 0, NULL, &message), DREY_INVALID, "no batch");
  fill_batch(&batch, 0);
  EXPECT(drey_push(second, 1, &batch.root, 0, NULL, &message), DREY_INVALID, "input 1 of 1");
  EXPECT(drey_push(second, 0, &batch.root, 0, NULL, &message), DREY_INVALID, "already released");
  CHECK(drey_flush(second, NULL, NULL) == DREY_OK, "a host may not want the message");
  CHECK(drey_flush(first, NULL, NULL) == DREY_CLOSED, "a host may not want the message");
  OK(drey_close(second, &message));
}

static void panics(void) {
  static struct row_batch batch;
  for (int kind = 0; kind < 3; kind++) {
    const char *part = (const char *[]){"for test", "nil pointer", "out of range"}[kind];
    EXPECT(drey_panic_for_test(0, kind, &message), DREY_INTERNAL, part);
    uint64_t handle = open_spec(ECHO), other = open_spec(ECHO);
    EXPECT(drey_panic_for_test(handle, kind, &message), DREY_INTERNAL, "panicForTest"); // the Go stack
    EXPECT(drey_flush(handle, NULL, &message), DREY_POISONED, part);                    // the first failure, not a new one
    fill_batch(&batch, 0);
    batches_released = 0;
    EXPECT(drey_push(handle, 0, &batch.root, 0, NULL, &message), DREY_POISONED, part);
    CHECK(batches_released == 1, "released %d times", batches_released);
    EXPECT(drey_panic_for_test(handle, (kind + 1) % 3, &message), DREY_POISONED, part);
    OK(drey_flush(other, NULL, &message)); // one handle's failure is not another's
    OK(drey_close(handle, &message));      // poisoned handles are freed like others
    EXPECT(drey_flush(handle, NULL, &message), DREY_CLOSED, "closed");
    OK(drey_close(other, &message));
  }
}

#define SINGLE_VALUE                                                                                                             \
  "{\"aggCallNeedRetractions\":[false],\"aggCalls\":[{\"argList\":[1],\"distinct\":false,\"filterArg\":-1,\"function\":\"SINGLE_VALUE\"," \
  "\"type\":\"BIGINT\"}],\"countStarInserted\":false,\"generateUpdateBefore\":true,\"grouping\":[0],\"needRetraction\":false,"         \
  "\"operator\":\"groupAggregate\",\"stateTtlMillis\":0,\"version\":1}"

// A query that fails on a row has a status of its own, and what the rows before it have made of the state is never seen.
static void failing_query(void) {
  static struct row_batch batch;
  uint64_t handle = open_spec(SINGLE_VALUE);
  for (int round = 0; round < 2; round++) {
    fill_batch(&batch, 3);
    for (int i = 0; i < 3; i++) put_row(&batch, i, 0, i / 2, i); // the first key has two values
    batches_released = 0;
    EXPECT(drey_push(handle, 0, &batch.root, 0, NULL, &message), round == 0 ? DREY_QUERY : DREY_POISONED,
           "row 1: SingleValueAggFunction received more than one element.");
    CHECK(batches_released == 1, "released %d times", batches_released);
  }
  uint8_t buffer[64];
  int64_t written = 0;
  EXPECT(drey_snapshot(handle, 0, buffer, sizeof buffer, &written, &message), DREY_POISONED, "more than one element");
  OK(drey_close(handle, &message));
}

// Each malformed batch is refused, by the name of its field, and leaves the handle usable.
static void malformed(void) {
  static struct row_batch batch;
  uint64_t handle = open_spec(ECHO);
#define BAD(mutation, part)                                                       \
  do {                                                                            \
    fill_batch(&batch, 3);                                                        \
    for (int i = 0; i < 3; i++) put_row(&batch, i, 0, i, i);                      \
    mutation;                                                                     \
    batches_released = 0;                                                         \
    EXPECT(drey_push(handle, 0, &batch.root, 0, NULL, &message), DREY_CORRUPT, part); \
    CHECK(batches_released == 1, "released %d times", batches_released);          \
  } while (0)
  uint8_t holes[] = {5}; // row 1 is null
  BAD(batch.kinds[2] = 4, "field kind: row 2 has kind 4");
  BAD(batch.kinds[0] = -1, "field kind: row 0 has kind -1");
  BAD(batch.root.length = -1, "length is -1");
  BAD(batch.root.offset = -1, "offset is -1");
  BAD(batch.root.length = INT64_MAX, "length is");
  BAD(batch.root.n_children = 3, "3 columns");
  BAD(batch.children[1] = NULL, "column 1 is null");
  BAD(batch.columns[0].length = 2, "field kind: length 2");
  BAD(batch.columns[1].length = 2, "field row: length 2");
  BAD(batch.root.offset = 1, "length 3, the batch needs 4");
  BAD(batch.columns[1].offset = -2, "field row: offset is -2");
  BAD(batch.columns[1].n_buffers = 2, "field row: 2 buffers");
  BAD(batch.offsets[1] = -4, "field row: row 0");
  BAD(batch.offsets[0] = -24, "field row: offset 0 is -24");
  BAD(batch.offsets[2] = 0, "field row: row 1 has -24 bytes");
  BAD((batch.offsets[2] = 47, batch.offsets[3] = 47), "field row: row 1 has 23 bytes");
  BAD(batch.row_buffers[1] = NULL, "field row: no offsets buffer");
  BAD(batch.row_buffers[2] = NULL, "field row: no data buffer");
  BAD(batch.kind_buffers[1] = NULL, "field kind: no data buffer");
  BAD(batch.row_buffers[1] = (char *)batch.offsets + 1, "not aligned");
  BAD((batch.kind_buffers[0] = holes, batch.columns[0].null_count = -1), "field kind: row 1 is null");
  BAD((batch.row_buffers[0] = holes, batch.columns[1].null_count = 1), "field row: row 1 is null");
  BAD((batch.root_buffers[0] = holes, batch.root.null_count = 1), "batch: row 1 is null");
  BAD(batch.columns[1].null_count = 1, "field row: 1 nulls but no bitmap");
  BAD(batch.columns[0].dictionary = &batch.root, "dictionary");

  // What only looks unusual is taken: an all-ones bitmap, and offsets on either level.
  uint8_t ones[] = {0xff};
  int64_t pending = 0, rows = 0;
  fill_batch(&batch, 4);
  for (int i = 0; i < 4; i++) put_row(&batch, i, (int8_t)i, i, i);
  batch.kind_buffers[0] = batch.row_buffers[0] = batch.root_buffers[0] = ones;
  batch.root.offset = 1, batch.root.length = 2;
  batch.columns[0].offset = 1, batch.columns[0].length = 3;
  OK(drey_push(handle, 0, &batch.root, 0, &pending, &message));
  struct ArrowArray out = {0};
  OK(drey_poll(handle, &out, &rows, &message));
  const int8_t *kinds = out.children[0]->buffers[1];
  const uint8_t *data = out.children[1]->buffers[2];
  int64_t value;
  memcpy(&value, data + 8, 8);
  CHECK(rows == 2 && kinds[0] == 2 && kinds[1] == 3 && value == 1, "%" PRId64 " rows, kind %d, value %" PRId64, rows, kinds[0], value);
  OK(drey_close(handle, &message));
}

static void bad_schemas(void) {
  struct row_schema in, out;
  char *spec = ECHO;
  struct ArrowSchema *inputs[] = {&in.root};
  uint64_t handle = 0;
#define OPEN() drey_open(spec, (int64_t)strlen(spec), inputs, 1, &out.root, 128, 0, 127, 64 << 20, NULL, &handle, &message)
#define BAD_SCHEMA(mutation, want, part)                 \
  do {                                                   \
    fill_schema(&in, FIELDS, 2);                         \
    fill_schema(&out, FIELDS, 3);                        \
    spec = ECHO;                                         \
    mutation;                                            \
    EXPECT(OPEN(), want, part);                          \
    CHECK(handle == 0, "a handle in spite of a failure"); \
  } while (0)
  BAD_SCHEMA(in.root.format = "i", DREY_INVALID, "input 0: schema has format");
  BAD_SCHEMA(in.root.release = NULL, DREY_INVALID, "input 0: schema is null or released");
  BAD_SCHEMA(in.columns[0].format = "i", DREY_INVALID, "must be kind");
  BAD_SCHEMA(in.columns[1].format = "u", DREY_INVALID, "must be row");
  BAD_SCHEMA(in.root.n_children = 0, DREY_INVALID, "no columns");
  BAD_SCHEMA(in.columns[1].metadata = NULL, DREY_INVALID, "flink.type");
  BAD_SCHEMA(in.columns[1].metadata = metadata(2, (const char *[]){"drey.form", "row", "flink.fields", "[{]"}), DREY_INVALID, "flink.fields");
  BAD_SCHEMA(in.columns[1].metadata = metadata(2, (const char *[]){"drey.form", "row", "flink.fields", "[{\"name\":\"a\",\"type\":\"NO TYPE\"}]"}), DREY_INVALID, "flink.fields");
  BAD_SCHEMA(out.root.n_children = 2, DREY_INVALID, "output: ");
  BAD_SCHEMA(out.columns[1].metadata = metadata(1, (const char *[]){"drey.form", "no such"}), DREY_INVALID, "output: column 1 has drey.form \"no such\"");
  BAD_SCHEMA(out.columns[1].metadata = metadata(1, (const char *[]){"drey.form", "joined"}), DREY_INVALID, "output: 3 columns, the joined form has kind, left, right and source");
  struct joined_schema joined;
  struct ArrowSchema *joined_inputs[] = {&joined.root};
#define BAD_JOINED(mutation, part)                                                                                      \
  do {                                                                                                                  \
    fill_schema(&in, FIELDS, 2);                                                                                        \
    fill_joined_schema(&joined, FIELDS);                                                                                \
    mutation;                                                                                                           \
    EXPECT(drey_open(spec, (int64_t)strlen(spec), inputs, 1, &joined.root, 128, 0, 127, 0, NULL, &handle, &message), DREY_INVALID, part); \
  } while (0)
  BAD_JOINED(joined.columns[2].format = "z", "output: column 2 is \"right\" of format \"z\", must be right of vz");
  BAD_JOINED(joined.columns[1].name = "row", "output: column 1 is \"row\"");
  BAD_JOINED(joined.columns[2].metadata = NULL, "output: right: metadata flink.fields");
  BAD_JOINED(joined.root.n_children = 3, "output: 3 columns");
  fill_joined_schema(&joined, FIELDS);
  fill_schema(&out, FIELDS, 3);
  EXPECT(drey_open(spec, (int64_t)strlen(spec), joined_inputs, 1, &out.root, 128, 0, 127, 0, NULL, &handle, &message), DREY_INVALID, "input 0: the joined form is for output only");
  BAD_SCHEMA(spec = "{\"operator\":\"no such\",\"version\":1}", DREY_UNSUPPORTED, "no such");
  fill_schema(&in, FIELDS, 2);
  fill_schema(&out, FIELDS, 3);
  EXPECT(drey_open(ECHO, sizeof ECHO - 1, inputs, 3, &out.root, 128, 0, 127, 0, NULL, &handle, &message), DREY_INVALID, "3 input schemas");
  EXPECT(drey_open(ECHO, sizeof ECHO - 1, inputs, 1, &out.root, 128, 5, 4, 0, NULL, &handle, &message), DREY_INVALID, "key groups 5..4");
  EXPECT(drey_open(ECHO, sizeof ECHO - 1, inputs, 1, NULL, 128, 0, 127, 0, NULL, &handle, &message), DREY_INVALID, "output: ");
}

// ---- joined rows ----

// Row i of one side of an exported chunk in joined form, read as the Arrow format has it.
static const uint8_t *view(const struct ArrowArray *out, int side, int64_t i, int32_t *length) {
  const struct ArrowArray *column = out->children[1 + side];
  CHECK(column->n_buffers == 4 && column->buffers[0] == NULL && column->null_count == 0, "%" PRId64 " buffers", column->n_buffers);
  const uint8_t *v = (const uint8_t *)column->buffers[1] + 16 * i;
  int32_t at[2];
  memcpy(length, v, 4);
  if (*length <= 12) return v + 4;
  memcpy(at, v + 8, 8);
  const int64_t *sizes = column->buffers[3];
  CHECK(at[0] == 0 && at[1] >= 0 && at[1] + *length <= sizes[0], "buffer %d, %d + %d of %" PRId64, at[0], at[1], *length, sizes[0]);
  const uint8_t *value = (const uint8_t *)column->buffers[2] + at[1];
  CHECK(memcmp(value, v + 4, 4) == 0, "the prefix is not the value's");
  return value;
}

static void joined(void) {
  static struct row_batch batch;
  uint64_t handle = open_joined("{\"copies\":3,\"joined\":true,\"operator\":\"echo\",\"version\":1}", FIELDS);
  fill_batch(&batch, 2);
  put_row(&batch, 0, 0, 1, 10);
  put_row(&batch, 1, 3, 2, 20);
  int64_t pending = 0, rows = 0;
  struct ArrowArray out = {0};
  OK(drey_push(handle, 0, &batch.root, 0, &pending, &message));
  OK(drey_poll(handle, &out, &rows, &message));
  CHECK(rows == 6 && out.length == 6 && out.n_children == 4, "%" PRId64 " rows", rows);
  for (int i = 0; i < 6; i++) {
    CHECK(((const int8_t *)out.children[0]->buffers[1])[i] == (i < 3 ? 0 : 3), "kind of row %d", i);
    CHECK(((const int32_t *)out.children[3]->buffers[1])[i] == i / 3, "source of row %d", i);
    for (int side = 0; side < 2; side++) {
      int32_t length;
      const uint8_t *value = view(&out, side, i, &length);
      CHECK(length == 24 && memcmp(value, batch.data + 24 * (i / 3), 24) == 0, "row %d, side %d", i, side);
    }
  }
  CHECK(((const int64_t *)out.children[1]->buffers[3])[0] == 4 * 24, "a payload is there once for each side");
  out.release(&out);
  CHECK(out.release == NULL && out.children[1]->release == NULL, "not released");
  OK(drey_poll(handle, &out, &rows, &message));
  CHECK(rows == 0, "%" PRId64 " rows", rows);
  OK(drey_close(handle, &message));

  // Rows without fields.
  handle = open_joined("{\"joined\":true,\"operator\":\"echo\",\"version\":1}", "[]");
  fill_batch(&batch, 1);
  memcpy(batch.data, "\0\1\2\3\4\5\6\7", 8);
  batch.kinds[0] = 2, batch.offsets[0] = 0, batch.offsets[1] = 8;
  OK(drey_push(handle, 0, &batch.root, 0, &pending, &message));
  OK(drey_poll(handle, &out, &rows, &message));
  int32_t length;
  const uint8_t *value = view(&out, 1, 0, &length);
  CHECK(rows == 1 && length == 8 && memcmp(value, "\0\1\2\3\4\5\6\7", 8) == 0, "length %d", length);
  OK(drey_close(handle, &message));

  // The host has announced the wrong form.
  handle = open_spec("{\"joined\":true,\"operator\":\"echo\",\"version\":1}");
  fill_batch(&batch, 1);
  put_row(&batch, 0, 0, 1, 10);
  out = (struct ArrowArray){0};
  OK(drey_push(handle, 0, &batch.root, 0, &pending, &message));
  EXPECT(drey_poll(handle, &out, &rows, &message), DREY_INVALID, "of another form");
  OK(drey_close(handle, &message));
  handle = open_joined(ECHO, FIELDS);
  fill_batch(&batch, 1);
  put_row(&batch, 0, 0, 1, 10);
  OK(drey_push(handle, 0, &batch.root, 0, &pending, &message));
  EXPECT(drey_poll(handle, &out, &rows, &message), DREY_INVALID, "of another form");
  EXPECT(drey_flush(handle, NULL, &message), DREY_POISONED, "of another form");
  OK(drey_close(handle, &message));
}

// Two rows, a million rows of each: they come out in a memory of a few chunks, and the batch is held until they are.
static void fan_out(void) {
  enum { COPIES = 1000000 };
  static struct row_batch batch;
  uint64_t handle = open_spec("{\"copies\":1000000,\"operator\":\"echo\",\"version\":1}");
  long before = 0, most = 0;
  for (int round = 0; round < 2; round++) {
    fill_batch(&batch, 2);
    put_row(&batch, 0, 0, 1, 10);
    put_row(&batch, 1, 3, 2, 20);
    int64_t pending = 0, rows = 0, total = 0;
    batches_released = 0;
    OK(drey_push(handle, 0, &batch.root, 0, &pending, &message));
    CHECK(pending > 0 && pending < 20000, "%" PRId64 " rows at once", pending);
    CHECK(batch.root.release == NULL && batches_released == 0, "moved, and not released yet");
    char *text = NULL;
    EXPECT(drey_flush(handle, NULL, &message), DREY_INVALID, "not polled to the end");
    EXPECT(drey_advance(handle, DREY_WATERMARK, 5, NULL, &message), DREY_INVALID, "not polled to the end");
    EXPECT(drey_stats(handle, &text, &message), DREY_INVALID, "not polled to the end");
    EXPECT(drey_snapshot(handle, 0, (uint8_t *)&rows, 8, &pending, &message), DREY_INVALID, "not polled to the end");
    for (;;) {
      struct ArrowArray out = {0};
      OK(drey_poll(handle, &out, &rows, &message));
      if (rows == 0) break;
      const int32_t *source = out.children[2]->buffers[1];
      for (int64_t i = 0; i < rows; i++) CHECK(source[i] == (total + i >= COPIES), "row %" PRId64, total + i);
      total += rows;
      CHECK(batches_released == (total > 2 * COPIES - 20000 ? batches_released : 0), "released after %" PRId64 " rows", total);
      OK(drey_live(&text, &message));
      const char *buffers = strstr(text, "buffers: ");
      long bytes = buffers == NULL ? 0 : atol(buffers + strlen("buffers: "));
      if (bytes > most) most = bytes;
      drey_free(text);
    }
    CHECK(total == 2 * COPIES && batches_released == 1, "%" PRId64 " rows, released %d times", total, batches_released);
    if (round == 0) before = most;
  }
  CHECK(most == before && most < 1 << 20, "%ld bytes of buffers, %ld in the first round", most, before);
  printf("%ld bytes of buffers for 96,000,000 bytes of output\n", most);

  // Closing in the middle releases the batch.
  fill_batch(&batch, 1);
  put_row(&batch, 0, 0, 1, 10);
  batches_released = 0;
  OK(drey_push(handle, 0, &batch.root, 0, NULL, &message));
  OK(drey_close(handle, &message));
  CHECK(batches_released == 1, "released %d times", batches_released);
}

// ---- the host's condition ----

static int conditions_released, conditions_called;
static int32_t condition_fails;

static void release_condition(void *context) {
  CHECK(*(int *)context == 7, "context %d", *(int *)context);
  conditions_released++;
}

// Rows match if the values are equal; any byte but 0 says so.
static int32_t same_value(void *context, const uint8_t *left, const uint32_t *left_offsets, const uint8_t *right,
                          const uint32_t *right_offsets, int32_t n, uint8_t *matches) {
  CHECK(*(int *)context == 7, "context %d", *(int *)context);
  conditions_called++;
  for (int32_t i = 0; i < n; i++) {
    CHECK(left_offsets[i + 1] - left_offsets[i] == 24 && right_offsets[i + 1] - right_offsets[i] == 24, "row %d", i);
    matches[i] = memcmp(left + left_offsets[i] + 16, right + right_offsets[i] + 16, 8) == 0 ? 0xfe : 0;
  }
  return condition_fails;
}

static void condition(void) {
  static const char spec[] = "{\"condition\":\"host\",\"operator\":\"echo\",\"version\":1}";
  static struct row_batch batch;
  struct row_schema in, out;
  struct ArrowSchema *inputs[] = {&in.root};
  int context = 7;
  struct drey_host host = {&context, same_value, release_condition};
  uint64_t handle = 0;
  int64_t pending = 0, rows = 0;
#define OPEN_CONDITION(text, n) drey_open(text, (int64_t)strlen(text), inputs, n, &out.root, 128, 0, 127, 0, &host, &handle, &message)
  for (condition_fails = 0; condition_fails < 2; condition_fails++) {
    fill_schema(&in, FIELDS, 2);
    fill_schema(&out, FIELDS, 3);
    OK(OPEN_CONDITION(spec, 1));
    conditions_called = conditions_released = 0;
    for (int round = 0; round < 2; round++) {
      fill_batch(&batch, 4);
      for (int i = 0; i < 4; i++) put_row(&batch, i, 0, i, i / 2);
      if (condition_fails) {
        EXPECT(drey_push(handle, 0, &batch.root, 0, &pending, &message), round == 0 ? DREY_HOST : DREY_POISONED, "the host's condition has failed");
        continue;
      }
      OK(drey_push(handle, 0, &batch.root, 0, &pending, &message));
      struct ArrowArray array = {0};
      OK(drey_poll(handle, &array, &rows, &message));
      const int32_t *source = array.children[2]->buffers[1];
      CHECK(rows == 3 && source[0] == 0 && source[1] == 1 && source[2] == 3, "%" PRId64 " rows", rows);
    }
    CHECK(conditions_called == (condition_fails ? 1 : 2), "called %d times", conditions_called);
    CHECK(conditions_released == 0, "released while open");
    char *text = NULL;
    OK(drey_live(&text, &message));
    CHECK(strstr(text, "hosts: 1") != NULL, "%s", text);
    drey_free(text);
    OK(drey_close(handle, &message));
    CHECK(conditions_released == 1, "released %d times", conditions_released);
  }
  // An open that fails, wherever, releases the host.
  EXPECT(OPEN_CONDITION("{}", 1), DREY_UNSUPPORTED, "version 0");
  EXPECT(OPEN_CONDITION(spec, 0), DREY_INVALID, "0 input schemas");
  CHECK(conditions_released == 3, "released %d times", conditions_released);
}

// ---- a real operator: the last row of each key, by arrival, with update-before ----

#define KEEP_LAST                                                                                       \
  "{\"generateInsert\":true,\"generateUpdateBefore\":true,\"isRowtime\":false,\"keepLastRow\":true," \
  "\"operator\":\"deduplicate\",\"outputInsertOnly\":false,\"stateTtlMillis\":0,\"uniqueKeys\":[0],\"version\":1}"

// Pushes one row and expects what comes back, as "+I 1 10; -U ...".
static void push_row(uint64_t handle, int64_t key, int64_t value, const char *want) {
  static struct row_batch batch;
  static const char *kinds[] = {"+I", "-U", "+U", "-D"};
  char got[256] = "";
  int64_t pending = 0, rows = 0;
  fill_batch(&batch, 1);
  put_row(&batch, 0, 0, key, value);
  OK(drey_push(handle, 0, &batch.root, 0, &pending, &message));
  struct ArrowArray out = {0};
  OK(drey_poll(handle, &out, &rows, &message));
  CHECK(rows == pending, "%" PRId64 " of %" PRId64 " rows", rows, pending);
  for (int64_t i = 0; i < rows; i++) {
    const int8_t *kind = out.children[0]->buffers[1];
    const int32_t *offsets = out.children[1]->buffers[1];
    int64_t row[3];
    memcpy(row, (const char *)out.children[1]->buffers[2] + offsets[i], 24);
    sprintf(got + strlen(got), "%s%s %" PRId64 " %" PRId64, i == 0 ? "" : "; ", kinds[kind[i]], row[1], row[2]);
  }
  CHECK(strcmp(got, want) == 0, "key %" PRId64 ": got \"%s\", want \"%s\"", key, got, want);
}

static void deduplicate(void) {
  uint64_t handle = open_spec(KEEP_LAST);
  push_row(handle, 1, 10, "+I 1 10");
  push_row(handle, 2, 20, "+I 2 20");
  push_row(handle, 1, 11, "-U 1 10; +U 1 11");
  push_row(handle, 1, 12, "-U 1 11; +U 1 12");
  OK(drey_close(handle, &message));
}

// ---- snapshots ----

#define GROUPS 128
#define KEYS 1000

static struct bytes {
  uint8_t *p;
  int64_t n;
} groups[GROUPS];

static void take_snapshot(uint64_t handle, int first, int last, int64_t capacity) {
  uint8_t *piece = malloc((size_t)capacity);
  for (int group = first; group <= last; group++) {
    free(groups[group].p);
    groups[group] = (struct bytes){NULL, 0};
    for (int64_t n;;) {
      OK(drey_snapshot(handle, group, piece, capacity, &n, &message));
      if (n == 0) break;
      CHECK(n <= capacity, "%" PRId64 " bytes", n);
      groups[group].p = realloc(groups[group].p, (size_t)(groups[group].n + n));
      memcpy(groups[group].p + groups[group].n, piece, (size_t)n);
      groups[group].n += n;
    }
  }
  free(piece);
}

static void restore_group(uint64_t handle, int group, int64_t piece, int32_t want, const char *part) {
  for (int64_t at = 0; at < groups[group].n; at += piece) {
    int64_t n = groups[group].n - at < piece ? groups[group].n - at : piece;
    // A copy of just this size: reading past it is an error that address sanitizers see.
    uint8_t *copy = malloc((size_t)n);
    memcpy(copy, groups[group].p + at, (size_t)n);
    OK(drey_restore(handle, group, copy, n, &message));
    free(copy);
  }
  EXPECT(drey_restore(handle, group, NULL, 0, &message), want, part);
}

static void snapshots(void) {
  uint64_t whole = open_spec(KEEP_LAST);
  char want[64];
  for (int key = 0; key < KEYS; key++) {
    sprintf(want, "+I %d %d", key, 10 * key);
    push_row(whole, key, 10 * key, want);
  }
  take_snapshot(whole, 0, 127, 7);
  struct bytes odd[GROUPS];
  int64_t total = 0;
  for (int group = 0; group < GROUPS; group++) {
    odd[group] = groups[group];
    groups[group] = (struct bytes){NULL, 0};
    total += odd[group].n;
  }
  CHECK(total > KEYS * 24, "%" PRId64 " bytes for %d rows", total, KEYS);
  take_snapshot(whole, 0, 127, 1 << 20); // once more, in other pieces: the same bytes
  for (int group = 0; group < GROUPS; group++) {
    CHECK(groups[group].n == odd[group].n && memcmp(groups[group].p, odd[group].p, (size_t)odd[group].n) == 0, "group %d", group);
    free(odd[group].p);
  }

  // A snapshot that was begun and not ended does no harm, nor does asking again for a group behind.
  uint8_t byte;
  int64_t n = 0;
  OK(drey_snapshot(whole, 0, &byte, 1, &n, &message));
  OK(drey_snapshot(whole, 5, &byte, 1, &n, &message));
  OK(drey_snapshot(whole, 4, &byte, 1, &n, &message));
  push_row(whole, 3, 4, "-U 3 30; +U 3 4");
  EXPECT(drey_snapshot(whole, 128, &byte, 1, &n, &message), DREY_INVALID, "key group 128 is not in 0..127");
  EXPECT(drey_snapshot(whole, 0, &byte, 0, &n, &message), DREY_INVALID, "no buffer");
  EXPECT(drey_restore(whole, 0, &byte, 1, &message), DREY_INVALID, "rows were pushed before");
  OK(drey_close(whole, &message));

  // One becomes two: each key is known to exactly one of them.
  uint64_t halves[2] = {open_subtask(KEEP_LAST, 0, 63, 64 << 20), open_subtask(KEEP_LAST, 64, 127, 64 << 20)};
  for (int group = 0; group < GROUPS; group++) restore_group(halves[group / 64], group, group % 2 == 0 ? 5 : 1000, DREY_OK, "");
  EXPECT(drey_restore(halves[0], 64, &byte, 1, &message), DREY_INVALID, "key group 64 is not in 0..63");
  for (int half = 0; half < 2; half++) { // again a snapshot, by the halves: together it is the old one
    struct bytes before[GROUPS];
    for (int group = 64 * half; group < 64 * (half + 1); group++) {
      before[group] = groups[group];
      groups[group] = (struct bytes){NULL, 0};
    }
    take_snapshot(halves[half], 64 * half, 64 * half + 63, 4096);
    for (int group = 64 * half; group < 64 * (half + 1); group++) {
      CHECK(groups[group].n == before[group].n, "group %d: %" PRId64 " bytes, were %" PRId64, group, groups[group].n, before[group].n);
      free(before[group].p);
    }
    OK(drey_close(halves[half], &message));
  }

  // And one again, with every key.
  whole = open_spec(KEEP_LAST);
  for (int group = 0; group < GROUPS; group++) restore_group(whole, group, 333, DREY_OK, "");
  for (int key = 0; key < KEYS; key++) {
    sprintf(want, "-U %d %d; +U %d %d", key, 10 * key, key, 10 * key + 1);
    push_row(whole, key, 10 * key + 1, want);
  }
  OK(drey_close(whole, &message));

  // Whatever is damaged is refused, and nothing leaks.
  int damaged = 0;
  while (groups[damaged].n < 100) damaged++;
  for (int64_t at = 0; at < groups[damaged].n; at++) {
    uint64_t handle = open_spec(KEEP_LAST);
    groups[damaged].p[at] ^= 0x40;
    restore_group(handle, damaged, 64, DREY_CORRUPT, "");
    groups[damaged].p[at] ^= 0x40;
    OK(drey_close(handle, &message));
  }
  for (int64_t cut = 1; cut < groups[damaged].n; cut += 13) {
    uint64_t handle = open_spec(KEEP_LAST);
    groups[damaged].n -= cut;
    restore_group(handle, damaged, 64, DREY_CORRUPT, "");
    groups[damaged].n += cut;
    OK(drey_close(handle, &message));
  }
  // Half a group, and the other half never: a push does not pass over it.
  uint64_t handle = open_spec(KEEP_LAST);
  OK(drey_restore(handle, damaged, groups[damaged].p, 10, &message));
  EXPECT(drey_restore(handle, damaged + 1, groups[damaged].p, 10, &message), DREY_INVALID, "begins before key group");
  static struct row_batch batch;
  fill_batch(&batch, 0);
  EXPECT(drey_push(handle, 0, &batch.root, 0, NULL, &message), DREY_INVALID, "is not restored to its end");
  OK(drey_close(handle, &message));
  // Another operator's snapshot.
  handle = open_spec("{\"generateInsert\":true,\"generateUpdateBefore\":false,\"isRowtime\":false,\"keepLastRow\":true,"
                     "\"operator\":\"deduplicate\",\"outputInsertOnly\":false,\"stateTtlMillis\":0,\"uniqueKeys\":[1],\"version\":1}");
  restore_group(handle, damaged, 1000, DREY_CORRUPT, "");
  OK(drey_close(handle, &message));
  for (int group = 0; group < GROUPS; group++) free(groups[group].p);
}

// Growth beyond the budget is refused before anything has changed; the operator goes on with what it has.
static void budget(void) {
  uint64_t handle = open_subtask(KEEP_LAST, 0, 127, 1 << 20);
  static struct row_batch batch;
  int64_t key = 0;
  int32_t status = DREY_OK;
  char *message = NULL;
  while (status == DREY_OK) {
    CHECK(key < 1000000, "a budget of 1 MiB held a million rows");
    fill_batch(&batch, 64);
    for (int i = 0; i < 64; i++) put_row(&batch, i, 0, key + i, 1);
    status = drey_push(handle, 0, &batch.root, 0, NULL, &message);
    for (int64_t rows = 1; status == DREY_OK && rows > 0;) {
      struct ArrowArray out = {0};
      OK(drey_poll(handle, &out, &rows, &message));
    }
    key += 64;
  }
  expect(status, DREY_BUDGET, message, "bytes");
  push_row(handle, 0, 2, "-U 0 1; +U 0 2");
  char want[64];
  sprintf(want, "-U %d 1; +U %d 2", (int)key - 128, (int)key - 128); // of the last batch that fitted
  push_row(handle, key - 128, 2, want);
  OK(drey_close(handle, &message));
}

// ---- threads ----

#define THREADS 8

static uint64_t shared_handle, published[THREADS];

// Opens, pushes, polls and closes its own operators, and calls those of others, which may be closed, used or free: any of
// the three answers will do, nothing else.
static void *worker(void *argument) {
  int self = (int)(intptr_t)argument;
  struct row_batch *batch = calloc(1, sizeof *batch);
  for (int round = 0; round < 500; round++) {
    uint64_t handle = open_spec(ECHO);
    __atomic_store_n(&published[self], handle, __ATOMIC_RELEASE);
    for (int i = 0; i < 3; i++) {
      fill_batch(batch, 2);
      put_row(batch, 0, 0, self, round);
      put_row(batch, 1, 3, self, round);
      batch->root.release = release_child; // the counting one is not for threads
      int64_t pending = 0, rows = 0;
      char *message = NULL;
      int32_t status;
      // Somebody else may be inside this handle just now.
      while ((status = drey_push(handle, 0, &batch->root, 0, &pending, &message)) == DREY_INVALID) {
        CHECK(strstr(message, "in use") != NULL || strstr(message, "not yet polled") != NULL, "%s", message);
        drey_free(message);
        message = NULL;
        fill_batch(batch, 2);
        batch->root.release = release_child;
      }
      expect(status, DREY_OK, message, "");
      do {
        struct ArrowArray out = {0};
        status = drey_poll(handle, &out, &rows, &message);
        if (status == DREY_INVALID) {
          drey_free(message);
          message = NULL;
        }
      } while (status == DREY_INVALID);
      expect(status, DREY_OK, message, "");
      CHECK(rows == 2, "rows %" PRId64, rows);
    }
    for (int other = 0; other < THREADS; other++) {
      uint64_t theirs = other == self ? shared_handle : __atomic_load_n(&published[other], __ATOMIC_ACQUIRE);
      char *json = NULL;
      int32_t status = theirs == 0 ? DREY_OK : drey_stats(theirs, &json, NULL);
      CHECK(status == DREY_OK || status == DREY_CLOSED || status == DREY_INVALID, "status %d", status);
      drey_free(json);
    }
    __atomic_store_n(&published[self], round % 2 == 0 ? 0 : handle, __ATOMIC_RELEASE); // a stale one, every other time
    int32_t status;
    while ((status = drey_close(handle, NULL)) == DREY_INVALID) continue;
    CHECK(status == DREY_OK, "close: status %d", status);
  }
  free(batch);
  return NULL;
}

static void threads(void) {
  pthread_t all[THREADS];
  shared_handle = open_spec(ECHO);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&all[i], NULL, worker, (void *)(intptr_t)i) == 0, "thread %d", i);
  for (int i = 0; i < THREADS; i++) pthread_join(all[i], NULL);
  OK(drey_close(shared_handle, &message));
}

static long resident_kb(void) {
  long pages = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f != NULL && fscanf(f, "%ld %ld", &pages, &resident) == 2, "statm");
  fclose(f);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// A million empty batches, then thirty thousand handles closed with output pending: nothing may grow, once the Go runtime has
// settled.
static void flat(void) {
  uint64_t handle = open_spec(ECHO);
  static struct row_batch batch;
  long before = 0;
  for (int i = 0; i < 1200000; i++) {
    if (i == 200000) before = resident_kb();
    fill_batch(&batch, 0);
    if (i % 2 == 0) batch.columns[1].buffers = (const void *[]){NULL, NULL, NULL}; // an empty array may have no buffers
    struct ArrowArray out = {0};
    int64_t rows = -1;
    OK(drey_push(handle, 0, &batch.root, i, NULL, &message));
    OK(drey_poll(handle, &out, &rows, &message));
    CHECK(rows == 0, "rows %" PRId64, rows);
  }
  long after = resident_kb();
  OK(drey_close(handle, &message));
  long opened = 0;
  for (int i = 0; i < 40000; i++) {
    if (i == 10000) opened = resident_kb();
    handle = open_spec(ECHO);
    fill_batch(&batch, 1);
    put_row(&batch, 0, 0, i, i);
    OK(drey_push(handle, 0, &batch.root, i, NULL, &message)); // closed with output pending
    OK(drey_close(handle, &message));
  }
  long last = resident_kb();
  printf("resident: %ld kB after 200,000 empty batches, %ld kB after 1,200,000, %ld kB after 10,000 handles, %ld kB after 40,000\n", before, after, opened, last);
  // One leaked ArrowArray a batch would be 78,000 kB; the Go runtime by itself grows by up to two megabytes.
  CHECK(after - before < 4096, "grew by %ld kB", after - before);
  CHECK(last - opened < 4096, "grew by %ld kB over 30,000 handles", last - opened);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } cases[] = {{"lifecycle", lifecycle}, {"handles", handles},         {"panics", panics},
               {"malformed", malformed}, {"bad_schemas", bad_schemas}, {"flat", flat},
               {"deduplicate", deduplicate}, {"snapshots", snapshots}, {"budget", budget},
               {"threads", threads}, {"joined", joined}, {"fan_out", fan_out}, {"condition", condition},
               {"failing_query", failing_query}};
  for (int a = 1; a < argc; a++) {
    int found = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      if (strcmp(argv[a], cases[i].name) == 0) {
        cases[i].run();
        expect_clean();
        found = 1;
      }
    }
    CHECK(found, "no case %s", argv[a]);
  }
  return 0;
}
