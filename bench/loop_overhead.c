/* The same loops as the extension's, in plain C and compiled alone: no C++, no Python, no checks but
 * those the loops need. loop_overhead.py compiles this into a shared library, loads it beside the
 * extension and runs both block by block.
 *
 * call_direct:  calls of an empty function through a pointer the compiler cannot see through.
 * submit:       launches of a null kernel through a driver opened with dlopen; declarations are our
 *               own, so that no CUDA header is needed. Works with a real driver just as well.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((noinline, used)) static void empty_function(void) { __asm__ volatile(""); }

/* Elapsed nanoseconds of `loops` calls. */
int64_t plain_call_direct(int64_t loops) {
    void (*volatile opaque)(void) = empty_function;
    const int64_t begin = now_ns();
    for (int64_t i = 0; i < loops; ++i) opaque();
    return now_ns() - begin;
}

enum { NOT_READY = 600 }; /* CUDA_ERROR_NOT_READY */

typedef int (*Launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void *, void **, void **);

static void *context, *module, *function, *stream;
static Launch launch;
static int (*query)(void *);
static int (*set_current)(void *);
static int (*release)(int);
static int (*destroy_stream)(void *);
static int (*unload)(void *);

/* Opens once; further calls do nothing. 0, or -1 where the library or a symbol is missing, or the
 * CUresult of the call that failed. */
int plain_open(const char *library, const char *ptx) {
    if (stream != NULL) return 0;
    void *driver = dlopen(library, RTLD_NOW);
    if (driver == NULL) return -1;
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*load)(void **, const void *) =
        (int (*)(void **, const void *))dlsym(driver, "cuModuleLoadData");
    int (*get)(void **, void *, const char *) =
        (int (*)(void **, void *, const char *))dlsym(driver, "cuModuleGetFunction");
    int (*create)(void **, unsigned) = (int (*)(void **, unsigned))dlsym(driver, "cuStreamCreate");
    launch = (Launch)dlsym(driver, "cuLaunchKernel");
    query = (int (*)(void *))dlsym(driver, "cuStreamQuery");
    set_current = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
    release = (int (*)(int))dlsym(driver, "cuDevicePrimaryCtxRelease_v2");
    destroy_stream = (int (*)(void *))dlsym(driver, "cuStreamDestroy_v2");
    unload = (int (*)(void *))dlsym(driver, "cuModuleUnload");
    if (!init || !retain || !load || !get || !create || !launch || !query || !set_current ||
        !release || !destroy_stream || !unload) {
        return -1;
    }
    int status = init(0);
    if (status == 0) status = retain(&context, 0);
    if (status == 0) status = set_current(context);
    if (status == 0) status = load(&module, ptx);
    if (status == 0) status = get(&function, module, "ftax_null");
    if (status == 0) status = create(&stream, 1); /* does not synchronise with the default stream */
    return status;
}

/* Waits by polling, as the extension does: a thread that slept would find the driver's worker on its
 * own core, where waking it costs a fraction. */
static int drain(void) {
    int status;
    do {
        status = query(stream);
    } while (status == NOT_READY);
    return status;
}

/* Elapsed nanoseconds of `count` launches into the drained stream; less than 0: minus the CUresult. */
int64_t plain_submit_burst(int64_t count) {
    int status = set_current(context);
    if (status == 0) status = drain();
    if (status != 0) return -status;
    const int64_t begin = now_ns();
    for (int64_t i = 0; i < count; ++i) {
        status = launch(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
        if (status != 0) break;
    }
    const int64_t end = now_ns();
    if (status == 0) status = drain();
    return status == 0 ? end - begin : -status;
}

/* Gives everything back; the first status that is not 0. */
int plain_close(void) {
    if (stream == NULL) return 0;
    int first = set_current(context);
    const int statuses[] = {drain(), destroy_stream(stream), unload(module), release(0)};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; ++i) {
        if (first == 0) first = statuses[i];
    }
    set_current(NULL);
    stream = NULL;
    return first;
}
