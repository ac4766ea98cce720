#include "abi.h"

#include <stdlib.h>

void drey_free(char *message) { free(message); }

// The release of an array whose memory belongs to somebody else: marks it and its children released.
void dreyReleaseView(struct ArrowArray *array) {
  for (int64_t i = 0; i < array->n_children; i++) {
    struct ArrowArray *child = array->children[i];
    if (child->release != NULL) child->release(child);
  }
  array->release = NULL;
}

// Calls a release from Go. Releasing twice, or an array that was moved away, is nothing.
void dreyRelease(struct ArrowArray *array) {
  if (array->release != NULL) array->release(array);
}

// Call a host's functions from Go, which can't call pointers.
int32_t dreyCondition(const struct drey_host *host, const uint8_t *left, const uint32_t *left_offsets, const uint8_t *right,
                      const uint32_t *right_offsets, int32_t n, uint8_t *matches) {
  return host->condition(host->context, left, left_offsets, right, right_offsets, n, matches);
}

void dreyReleaseHost(const struct drey_host *host) { host->release(host->context); }
