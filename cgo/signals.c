//go:build jni

// Keeps the signal handlers of a JVM fit for a Go runtime.
//
// While a thread runs Go code its stack pointer is in a goroutine's stack, a few kilobytes somewhere in the Go heap. A
// handler without SA_ONSTACK would be run there, by the kernel, over whatever lies below. HotSpot installs all of its
// handlers without the flag, and so do profilers. The Go runtime adds the flag to every handler it finds when it starts;
// a handler installed later (sun.misc.Signal, a profiler attached to the running process) kills the JVM within seconds.
//
// So a thread of its own, the watcher, looks at the signals that profilers use every millisecond and at all others by turns,
// and adds the missing flag. Adding it changes nothing for a thread without an alternate stack, which is every thread that
// never called Go. Between the appearance of a handler and the next look a signal may still do its damage; profilers take
// their first sample one interval after they have installed theirs, which is longer.
//
// Looking at one signal is a system call, 0.1 to 0.4 microseconds; doing that in each push would cost more than the push. A
// push only reads the coarse clock, which is none, and looks for itself when the watcher has not for too long (a machine
// short of CPUs). Without pushes the watcher slows down: nobody runs Go then but, now and then, its garbage collector.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static int is_function(const struct sigaction *a) { return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN; }

static void repair(int number) {
  struct sigaction now, expected, replaced;
  if (sigaction(number, NULL, &now) != 0 || !is_function(&now) || now.sa_flags & SA_ONSTACK) return;
  // Somebody may install another handler between the look and the change. Then the change has undone that, and what it
  // replaced is not what was expected: put it back, with the same care.
  for (expected = now;; expected = now, now = replaced) {
    if (is_function(&now)) now.sa_flags |= SA_ONSTACK;
    if (sigaction(number, &now, &replaced) != 0) return;
    if (replaced.sa_sigaction == expected.sa_sigaction && replaced.sa_flags == expected.sa_flags) return;
  }
}

// The signals of profilers' timers: those of setitimer, which POSIX timers and perf events are given too.
static const int hot[] = {SIGPROF, SIGVTALRM, SIGALRM};

enum { HOT = sizeof hot / sizeof hot[0], BY_TURNS = 4, BUSY_MILLIS = 1, IDLE_MILLIS = 10, LATE_MILLIS = 8 };

static atomic_long last_look; // coarse clock, milliseconds
static atomic_int pushed;     // since the watcher's last look

static long coarse_millis(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void repair_hot(void) {
  atomic_store_explicit(&last_look, coarse_millis(), memory_order_relaxed);
  for (int i = 0; i < HOT; i++) repair(hot[i]);
}

static void *watch(void *unused) {
  int next = 1;
  for (;;) {
    int busy = atomic_exchange_explicit(&pushed, 0, memory_order_relaxed);
    const struct timespec interval = {0, (busy ? BUSY_MILLIS : IDLE_MILLIS) * 1000000L};
    nanosleep(&interval, NULL);
    repair_hot();
    for (int i = 0; i < BY_TURNS; i++, next = next < SIGRTMAX ? next + 1 : 1) repair(next);
  }
  return unused;
}

void signals_check(void) {
  if (!atomic_load_explicit(&pushed, memory_order_relaxed)) atomic_store_explicit(&pushed, 1, memory_order_relaxed);
  if (coarse_millis() - atomic_load_explicit(&last_look, memory_order_relaxed) > LATE_MILLIS) repair_hot();
}

void signals_start(void) {
  for (int number = 1; number <= SIGRTMAX; number++) repair(number);
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
