#ifndef DREY_SIGNALS_H
#define DREY_SIGNALS_H

// Repairs every signal handler of the process and starts the watcher that repairs those installed later.
void signals_start(void);

// Repairs the handlers of the profiling signals; cheap enough for every push.
void signals_check(void);

#endif
