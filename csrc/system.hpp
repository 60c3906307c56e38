// What may be used of the system. Where FTAX_MICRO_PORTABLE is defined, nothing that Linux alone
// has: so what runs on macOS is built, run and tested on Linux, too.
#pragma once

#if defined(__linux__) && !defined(FTAX_MICRO_PORTABLE)
#define FTAX_LINUX 1
#else
#define FTAX_LINUX 0
#endif
