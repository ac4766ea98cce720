// The watcher of signals.c, without a JVM: handlers are what they were, but for SA_ONSTACK.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "signals.h"

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition);             \
      exit(1);                                                            \
    }                                                                     \
  } while (0)

static volatile sig_atomic_t calls;

static void plain(int number) { calls += number != 0; }
static void detailed(int number, siginfo_t *info, void *context) { calls += info->si_signo == number; }

static struct sigaction look(int number) {
  struct sigaction now;
  CHECK(sigaction(number, NULL, &now) == 0);
  return now;
}

static void install(int number, int flags) {
  struct sigaction action = {.sa_flags = flags};
  if (flags & SA_SIGINFO) {
    action.sa_sigaction = detailed;
  } else {
    action.sa_handler = plain;
  }
  sigaddset(&action.sa_mask, SIGWINCH);
  CHECK(sigaction(number, &action, NULL) == 0);
}

// Waits for the flag, and returns how many milliseconds that took.
static int repaired(int number) {
  for (int i = 0; i < 2000; i++) {
    if (look(number).sa_flags & SA_ONSTACK) return i;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  return -1;
}

static void unchanged_but_for_the_flag(int number, int flags) {
  struct sigaction now = look(number);
  CHECK((now.sa_flags & ~0x04000000 /* SA_RESTORER, libc's own */) == (flags | SA_ONSTACK));
  CHECK(flags & SA_SIGINFO ? now.sa_sigaction == detailed : now.sa_handler == plain);
  CHECK(sigismember(&now.sa_mask, SIGWINCH) == 1 && sigismember(&now.sa_mask, SIGHUP) == 0);
  int before = calls;
  raise(number);
  CHECK(calls == before + 1);
}

int main(void) {
  // Those that are there before are repaired at once.
  install(SIGUSR1, SA_RESTART);
  install(SIGRTMAX, SA_SIGINFO | SA_NODEFER);
  CHECK(signal(SIGHUP, SIG_IGN) != SIG_ERR);
  signals_start();
  unchanged_but_for_the_flag(SIGUSR1, SA_RESTART);
  unchanged_but_for_the_flag(SIGRTMAX, SA_SIGINFO | SA_NODEFER);

  // Those that come later, soon; each signal there is.
  for (int number = 1; number <= SIGRTMAX; number++) {
    if (number == SIGKILL || number == SIGSTOP || (number > SIGSYS && number < SIGRTMIN)) continue;
    if (number == SIGHUP) continue;
    install(number, SA_SIGINFO | SA_RESTART);
  }
  int slowest = 0;
  for (int number = 1; number <= SIGRTMAX; number++) {
    if (number == SIGKILL || number == SIGSTOP || (number > SIGSYS && number < SIGRTMIN)) continue;
    if (number == SIGHUP) continue;
    int millis = repaired(number);
    CHECK(millis >= 0);
    if (millis > slowest) slowest = millis;
    unchanged_but_for_the_flag(number, SA_SIGINFO | SA_RESTART);
  }
  printf("all repaired, the slowest after %d ms\n", slowest);

  // A push that sees the watcher late looks for itself; here it only must do no harm.
  for (int i = 0; i < 1000; i++) signals_check();

  // A profiler's signal, installed again and again.
  int worst = 0;
  for (int i = 0; i < 20; i++) {
    install(SIGPROF, SA_SIGINFO | SA_RESTART);
    int millis = repaired(SIGPROF);
    CHECK(millis >= 0);
    if (millis > worst) worst = millis;
    signals_check();
  }
  printf("SIGPROF repaired after at most %d ms\n", worst);

  // Default and ignore stay what they are.
  CHECK(look(SIGHUP).sa_handler == SIG_IGN && !(look(SIGHUP).sa_flags & SA_ONSTACK));
  CHECK(signal(SIGPROF, SIG_DFL) != SIG_ERR);
  nanosleep(&(struct timespec){0, 50000000}, NULL);
  CHECK(look(SIGPROF).sa_handler == SIG_DFL && !(look(SIGPROF).sa_flags & SA_ONSTACK));

  // Whatever the watcher is doing while a handler is replaced, the last one installed is the one that stays.
  for (int i = 0; i < 200; i++) {
    for (int j = 0; j < 100 + i; j++) install(SIGVTALRM, (i + j) % 2 == 0 ? SA_SIGINFO : SA_RESTART);
    int detailed_last = (i + 100 + i - 1) % 2 == 0;
    signals_check();
    CHECK(repaired(SIGVTALRM) >= 0);
    nanosleep(&(struct timespec){0, 100000}, NULL);
    struct sigaction now = look(SIGVTALRM);
    CHECK(detailed_last ? now.sa_sigaction == detailed : now.sa_handler == plain);
  }
  return 0;
}
