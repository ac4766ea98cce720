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
