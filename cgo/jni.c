//go:build jni

// The JNI face of abi.h: the natives of drey.jni.NativeOperator, one per function, and nothing else. A status other than
// DREY_OK becomes a drey.jni.NativeException.
//
// There are no global references but one to each open operator's condition: FindClass in a native method looks in the class
// loader of the class that declares it, which is the right NativeException for every copy of the class there may be.
#include <jni.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "signals.h"

void dreyReleaseView(struct ArrowArray *array);

// A batch that drey.batch.RowBatchWriter filled has no release, Java having no function to put there, but this mark as its
// private data. Its memory stays Java's.
#define ROW_BATCH_MARK ((void *)0x6472657962617463)

static void throw_new(JNIEnv *env, const char *class_name, const char *text) {
  jclass class = (*env)->FindClass(env, class_name);
  if (class != NULL) (*env)->ThrowNew(env, class, text);
}

// UTF-8 to a Java string. NewStringUTF takes modified UTF-8 and may not be given anything else; messages quote the user's
// names and values.
static jstring to_java(JNIEnv *env, const char *text) {
  size_t n = strlen(text);
  jchar *units = malloc((n + 1) * sizeof(jchar));
  if (units == NULL) {
    throw_new(env, "java/lang/OutOfMemoryError", "drey: no memory for a string");
    return NULL;
  }
  const unsigned char *p = (const unsigned char *)text, *end = p + n;
  jsize count = 0;
  while (p < end) {
    unsigned code = *p++;
    int more = code < 0x80 ? 0 : code >= 0xC2 && code < 0xE0 ? 1 : code >= 0xE0 && code < 0xF0 ? 2 : code >= 0xF0 && code < 0xF5 ? 3 : -1;
    if (more < 0 || end - p < more) {
      units[count++] = 0xFFFD;
      continue;
    }
    unsigned value = more == 0 ? code : code & (0x3F >> more);
    int i = 0;
    while (i < more && (p[i] & 0xC0) == 0x80) value = value << 6 | (p[i++] & 0x3F);
    if (i < more) {
      units[count++] = 0xFFFD;
      continue;
    }
    p += more;
    if (value >= 0x10000) {
      units[count++] = (jchar)(0xD800 + ((value - 0x10000) >> 10));
      units[count++] = (jchar)(0xDC00 + ((value - 0x10000) & 0x3FF));
    } else {
      units[count++] = (jchar)value;
    }
  }
  jstring string = (*env)->NewString(env, units, count);
  free(units);
  return string;
}

// A Java string to UTF-8, malloc'ed; NULL with an exception pending.
static char *from_java(JNIEnv *env, jstring string, int64_t *length) {
  if (string == NULL) {
    throw_new(env, "java/lang/NullPointerException", "spec");
    return NULL;
  }
  jsize n = (*env)->GetStringLength(env, string);
  jchar *units = malloc(((size_t)n + 1) * sizeof(jchar));
  char *text = malloc((size_t)n * 3 + 1);
  if (units == NULL || text == NULL) {
    free(units);
    free(text);
    throw_new(env, "java/lang/OutOfMemoryError", "drey: no memory for a string");
    return NULL;
  }
  (*env)->GetStringRegion(env, string, 0, n, units);
  char *p = text;
  for (jsize i = 0; i < n; i++) {
    unsigned code = units[i];
    if (code >= 0xD800 && code < 0xE000) {
      if (code < 0xDC00 && i + 1 < n && units[i + 1] >= 0xDC00 && units[i + 1] < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (units[++i] - 0xDC00u);
      } else {
        code = 0xFFFD;
      }
    }
    if (code < 0x80) {
      *p++ = (char)code;
    } else if (code < 0x800) {
      *p++ = (char)(0xC0 | code >> 6);
      *p++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
      *p++ = (char)(0xE0 | code >> 12);
      *p++ = (char)(0x80 | (code >> 6 & 0x3F));
      *p++ = (char)(0x80 | (code & 0x3F));
    } else {
      *p++ = (char)(0xF0 | code >> 18);
      *p++ = (char)(0x80 | (code >> 12 & 0x3F));
      *p++ = (char)(0x80 | (code >> 6 & 0x3F));
      *p++ = (char)(0x80 | (code & 0x3F));
    }
  }
  *p = 0;
  free(units);
  *length = p - text;
  return text;
}

// Throws for a status that is not DREY_OK, and frees the message. It takes the message by address because the call that
// sets it is an argument too. Where a condition has thrown, its exception is pending still and is the one to be seen.
static void check(JNIEnv *env, int32_t status, char **message) {
  if (__builtin_expect(status == DREY_OK, 1)) return;
  if ((*env)->ExceptionCheck(env)) {
    drey_free(*message);
    return;
  }
  jclass class = (*env)->FindClass(env, "drey/jni/NativeException");
  jmethodID init = class == NULL ? NULL : (*env)->GetMethodID(env, class, "<init>", "(ILjava/lang/String;)V");
  jstring text = init == NULL ? NULL : to_java(env, *message == NULL ? "no message" : *message);
  jobject exception = text == NULL ? NULL : (*env)->NewObject(env, class, init, (jint)status, text);
  if (exception != NULL) (*env)->Throw(env, exception);
  drey_free(*message);
}

// A drey.jni.PairCondition on its way through the library.
struct pair_condition {
  JavaVM *vm;
  jobject object; // a global reference
  jmethodID evaluate;
};

static JNIEnv *env_of(const struct pair_condition *condition) {
  JNIEnv *env = NULL;
  return (*condition->vm)->GetEnv(condition->vm, (void **)&env, JNI_VERSION_1_8) == JNI_OK ? env : NULL;
}

// The thread is the one that called the library from Java. An exception stays pending until the native method returns; the
// library asks nothing more once a call has failed.
static int32_t pair_condition_evaluate(void *context, const uint8_t *left, const uint32_t *left_offsets, const uint8_t *right,
                                       const uint32_t *right_offsets, int32_t n, uint8_t *matches) {
  const struct pair_condition *condition = context;
  JNIEnv *env = env_of(condition);
  if (env == NULL) return 1;
  (*env)->CallVoidMethod(env, condition->object, condition->evaluate, (jlong)left, (jlong)left_offsets, (jlong)right,
                         (jlong)right_offsets, (jint)n, (jlong)matches);
  return (*env)->ExceptionCheck(env);
}

static void pair_condition_release(void *context) {
  struct pair_condition *condition = context;
  JNIEnv *env = env_of(condition);
  if (env != NULL) (*env)->DeleteGlobalRef(env, condition->object);
  free(condition);
}

// NULL with an exception pending.
static struct pair_condition *pair_condition_new(JNIEnv *env, jobject object) {
  jclass class = (*env)->GetObjectClass(env, object);
  jmethodID evaluate = (*env)->GetMethodID(env, class, "evaluate", "(JJJJIJ)V");
  if (evaluate == NULL) return NULL;
  struct pair_condition *condition = malloc(sizeof *condition);
  jobject global = condition == NULL ? NULL : (*env)->NewGlobalRef(env, object);
  if (global == NULL || (*env)->GetJavaVM(env, &condition->vm) != JNI_OK) {
    if (global != NULL) (*env)->DeleteGlobalRef(env, global);
    free(condition);
    throw_new(env, "java/lang/OutOfMemoryError", "drey: no memory for a condition");
    return NULL;
  }
  condition->object = global;
  condition->evaluate = evaluate;
  return condition;
}

static jlong native_open(JNIEnv *env, jclass class, jstring spec, jlongArray input_schemas, jlong output_schema,
                         jint max_parallelism, jint first_key_group, jint last_key_group, jlong memory_budget,
                         jobject condition) {
  jlong addresses[2] = {0, 0};
  jsize n = input_schemas == NULL ? 0 : (*env)->GetArrayLength(env, input_schemas);
  if (n > 0 && n <= 2) (*env)->GetLongArrayRegion(env, input_schemas, 0, n, addresses);
  struct ArrowSchema *inputs[2] = {(struct ArrowSchema *)addresses[0], (struct ArrowSchema *)addresses[1]};
  int64_t length = 0;
  char *text = from_java(env, spec, &length), *message = NULL;
  if (text == NULL) return 0;
  struct drey_host host = {0};
  if (condition != NULL) {
    host = (struct drey_host){pair_condition_new(env, condition), pair_condition_evaluate, pair_condition_release};
    if (host.context == NULL) {
      free(text);
      return 0;
    }
  }
  uint64_t handle = 0;
  int32_t status = drey_open(text, length, inputs, n, (struct ArrowSchema *)output_schema, max_parallelism, first_key_group,
                             last_key_group, memory_budget, condition == NULL ? NULL : &host, &handle, &message);
  free(text);
  check(env, status, &message);
  return (jlong)handle;
}

static jlong native_push(JNIEnv *env, jclass class, jlong handle, jint input, jlong array, jlong processing_time) {
  struct ArrowArray *batch = (struct ArrowArray *)array;
  char *message = NULL;
  int64_t pending = 0;
  signals_check();
  if (batch != NULL && batch->release == NULL && batch->private_data == ROW_BATCH_MARK) batch->release = dreyReleaseView;
  check(env, drey_push((uint64_t)handle, input, batch, processing_time, &pending, &message), &message);
  return pending;
}

static jlong native_advance(JNIEnv *env, jclass class, jlong handle, jint event, jlong value) {
  char *message = NULL;
  int64_t pending = 0;
  check(env, drey_advance((uint64_t)handle, event, value, &pending, &message), &message);
  return pending;
}

static jlong native_flush(JNIEnv *env, jclass class, jlong handle) {
  char *message = NULL;
  int64_t pending = 0;
  check(env, drey_flush((uint64_t)handle, &pending, &message), &message);
  return pending;
}

static jlong native_poll(JNIEnv *env, jclass class, jlong handle, jlong array) {
  char *message = NULL;
  int64_t rows = 0;
  check(env, drey_poll((uint64_t)handle, (struct ArrowArray *)array, &rows, &message), &message);
  return rows;
}

static jint native_snapshot(JNIEnv *env, jclass class, jlong handle, jint key_group, jlong address, jint capacity) {
  char *message = NULL;
  int64_t written = 0;
  check(env, drey_snapshot((uint64_t)handle, key_group, (uint8_t *)address, capacity, &written, &message), &message);
  return (jint)written;
}

static void native_restore(JNIEnv *env, jclass class, jlong handle, jint key_group, jlong address, jint length) {
  char *message = NULL;
  check(env, drey_restore((uint64_t)handle, key_group, (const uint8_t *)address, length, &message), &message);
}

static jstring native_stats(JNIEnv *env, jclass class, jlong handle) {
  char *json = NULL, *message = NULL;
  check(env, drey_stats((uint64_t)handle, &json, &message), &message);
  jstring string = json == NULL ? NULL : to_java(env, json);
  drey_free(json);
  return string;
}

static void native_close(JNIEnv *env, jclass class, jlong handle) {
  char *message = NULL;
  check(env, drey_close((uint64_t)handle, &message), &message);
}

static jstring native_live(JNIEnv *env, jclass class) {
  char *text = NULL, *message = NULL;
  check(env, drey_live(&text, &message), &message);
  jstring string = text == NULL ? NULL : to_java(env, text);
  drey_free(text);
  return string;
}

static void native_panic_for_test(JNIEnv *env, jclass class, jlong handle, jint kind) {
  char *message = NULL;
  check(env, drey_panic_for_test((uint64_t)handle, kind, &message), &message);
}

static jint native_bind(JNIEnv *env, jclass class, jclass target);

static const JNINativeMethod natives[] = {
    {"bind", "(Ljava/lang/Class;)I", (void *)native_bind},
    {"open", "(Ljava/lang/String;[JJIIIJLdrey/jni/PairCondition;)J", (void *)native_open},
    {"push", "(JIJJ)J", (void *)native_push},
    {"advance", "(JIJ)J", (void *)native_advance},
    {"flush", "(J)J", (void *)native_flush},
    {"poll", "(JJ)J", (void *)native_poll},
    {"snapshot", "(JIJI)I", (void *)native_snapshot},
    {"restore", "(JIJI)V", (void *)native_restore},
    {"stats", "(J)Ljava/lang/String;", (void *)native_stats},
    {"close", "(J)V", (void *)native_close},
    {"live", "()Ljava/lang/String;", (void *)native_live},
    {"panicForTest", "(JI)V", (void *)native_panic_for_test},
};

static jint bind_natives(JNIEnv *env, jclass class) {
  return (*env)->RegisterNatives(env, class, natives, sizeof natives / sizeof natives[0]);
}

// The copy of NativeOperator in another class loader has natives of its own, which no System.load can bind: the JVM gives a
// library to one class loader only. So the first copy binds the others.
static jint native_bind(JNIEnv *env, jclass class, jclass target) {
  if (target != NULL) bind_natives(env, target); // throws NoSuchMethodError when target is not such a copy
  return drey_abi_version();
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
  JNIEnv *env;
  if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK) return JNI_ERR;
  jclass class = (*env)->FindClass(env, "drey/jni/NativeOperator");
  if (class == NULL || bind_natives(env, class) != 0) return JNI_ERR; // the exception says why
  signals_start();
  return JNI_VERSION_1_8;
}
