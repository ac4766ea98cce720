//go:build jni

// Keeps the signal handlers of a JVM fit for a Go runtime.
//
// While a thread runs Go code its stack pointer is in a goroutine's stack, a few kilobytes somewhere in the Go heap. A
// handler without SA_ONSTACK would be run there, by the kernel, over whatever lies below. HotSpot installs all of its
// handlers without the flag, and so do profilers. The Go runtime adds the flag to every handler it finds when it starts;
// a handler installed later (sun.misc.Signal, a profiler attached to the running process) kills the JVM within seconds.
//
// So a thread looks at all handlers every millisecond and adds the missing flag, and each push looks at the signals that
// profilers use. Adding the flag changes nothing for a thread without an alternate stack, which is every thread that
// never called Go.
#define _GNU_SOURCE
#include "signals.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

static void repair(int number) {
  struct sigaction now, replaced;
  if (sigaction(number, NULL, &now) != 0) return;
  while (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN && !(now.sa_flags & SA_ONSTACK)) {
    now.sa_flags |= SA_ONSTACK;
    if (sigaction(number, &now, &replaced) != 0) return;
    // Between the two calls somebody may have installed another handler, which we have just replaced: put it back.
    if (replaced.sa_sigaction == now.sa_sigaction) return;
    now = replaced;
    if (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN || now.sa_flags & SA_ONSTACK) sigaction(number, &now, NULL);
  }
}

static void repair_all(void) {
  for (int number = 1; number <= SIGRTMAX; number++) repair(number);
}

static void *watch(void *unused) {
  const struct timespec interval = {0, 1000000};
  for (;;) {
    nanosleep(&interval, NULL);
    repair_all();
  }
  return unused;
}

void signals_check(void) { repair(SIGPROF); }

void signals_start(void) {
  repair_all();
  // The watcher itself must never run a handler.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  if (pthread_create(&thread, &attributes, watch, NULL) == 0) pthread_setname_np(thread, "drey-signals");
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
