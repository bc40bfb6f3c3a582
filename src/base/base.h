// SPDX-License-Identifier: Apache-2.0
// The ground everything stands on: status codes and messages, memory, text, files, log, timers.
//
// A function that can fail returns mds_status and leaves its result through its last pointer. The message
// is written once, where the cause is known, into a thread-local record; MDS_TRY hands the status upwards.
#ifndef MDS_BASE_H
#define MDS_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define MDS_BEGIN extern "C" {
#define MDS_END }
#define MDS_RESTRICT __restrict__
#else
#define MDS_BEGIN
#define MDS_END
#define MDS_RESTRICT restrict
#endif

#define MDS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

MDS_BEGIN

// ---------------------------------------------------------------------------------------------- status

/// Every status: name, exit code of the process, text. The exit codes are part of the outside contract.
#define MDS_STATUS_LIST(X)                                                                                   \
    X(OK, 0, "done")                                                                                         \
    X(E_USAGE, 64, "wrong command line")                                                                     \
    X(E_INPUT, 65, "bad input file")                                                                         \
    X(E_MISSING, 66, "input file missing")                                                                   \
    X(E_INTERNAL, 70, "internal error")                                                                      \
    X(E_MEMORY, 70, "out of memory")                                                                         \
    X(E_DEVICE, 70, "device error")                                                                          \
    X(E_WRITE, 74, "cannot write")                                                                           \
    X(E_STOPPED, 75, "stopped early with a good checkpoint; run the same command again")                     \
    X(E_CHECKPOINT, 76, "checkpoint refused")                                                                \
    X(E_UNSTABLE, 77, "simulation became unstable")                                                          \
    X(E_UNSUPPORTED, 78, "not available in this build or on this machine")                                   \
    X(E_GUARD, 79, "stopped by a cost, time or speed guard with a good checkpoint")

typedef enum {
#define MDS_STATUS_ENUM(name, code, text) MDS_##name,
    MDS_STATUS_LIST(MDS_STATUS_ENUM)
#undef MDS_STATUS_ENUM
        MDS_N_STATUS
} mds_status;

/// Exit code of the process for a status, 1 (0 for MDS_OK).
int mds_status_exit_code(mds_status status);

/// Short text of a status. Static storage.
const char *mds_status_text(mds_status status);

/// Record the message of a failure (thread-local, replaces the one before) and return `status`.
mds_status mds_fail(mds_status status, const char *file, int line, const char *fmt, ...) MDS_PRINTF(4, 5);

/// Put a prefix before the recorded message ("topol.top:12: " for example).
void mds_error_prefix(const char *fmt, ...) MDS_PRINTF(1, 2);

/// The recorded message, "" if none. Valid until the next failure on this thread.
const char *mds_error_text(void);

/// Where in the source the recorded failure was raised, "file.c:12".
const char *mds_error_where(void);

void mds_error_clear(void);

/// Write `text` and end the process with the exit code of `status`; no cleanup. Safe in a signal handler.
void mds_end_at_once(mds_status status, const char *text);

/// Report a broken assumption of our own and end the process with exit code 70.
void mds_assert_failed(const char *file, int line, const char *what);

#define MDS_FAIL(status, ...) return mds_fail((status), __FILE__, __LINE__, __VA_ARGS__)
#define MDS_CHECK(condition, status, ...)                                                                    \
    do {                                                                                                     \
        if (!(condition)) return mds_fail((status), __FILE__, __LINE__, __VA_ARGS__);                        \
    } while (0)
#define MDS_TRY(expression)                                                                                  \
    do {                                                                                                     \
        mds_status mds_try_status = (expression);                                                            \
        if (mds_try_status != MDS_OK) return mds_try_status;                                                 \
    } while (0)
/// Like MDS_TRY, for functions with one cleanup label: needs `mds_status status` and `fail:` in scope.
#define MDS_TRY_GOTO(expression)                                                                             \
    do {                                                                                                     \
        status = (expression);                                                                               \
        if (status != MDS_OK) goto fail;                                                                     \
    } while (0)
/// Our own mistakes only, never input. Kept in release builds.
#define MDS_ASSERT(condition)                                                                                \
    do {                                                                                                     \
        if (!(condition)) mds_assert_failed(__FILE__, __LINE__, #condition);                                 \
    } while (0)

// ---------------------------------------------------------------------------------------------- memory

/// Allocate [n][size] bytes, zeroed, aligned to 64, into the pointer that `out` points to (T **).
/// n = 0 gives NULL. Errors: MDS_E_MEMORY (overflow included). Owner: caller, mds_free.
mds_status mds_alloc(void *out, size_t n, size_t size);

/// Make room for at least `need` elements: *pointer (T **) may move; grows by half at least; new part zeroed.
mds_status mds_grow(void *pointer, size_t *capacity, size_t need, size_t size);
/// The same for what is not built one by one but has a size that is known: room for need + spare elements when it must grow, no half more.
mds_status mds_reserve(void *pointer, size_t *capacity, size_t need, size_t spare, size_t size);
/// The opposite once nothing is added any more: room for exactly n elements (NULL for none). Errors: MDS_E_MEMORY.
mds_status mds_fit(void *pointer, size_t *capacity, size_t n, size_t size);

/// Free what mds_alloc or mds_grow gave; NULL is fine.
void mds_free(void *memory);

/// Copy of a string (at most n bytes, or all if n is SIZE_MAX). Owner: caller, mds_free.
mds_status mds_copy_text(char **out, const char *text, size_t n);

/// Once at the start of a program: large blocks that are freed go back to the system at once.
void mds_memory_setup(void);

/// Highest resident memory of this process so far, bytes (0 where the system does not tell).
uint64_t mds_memory_peak(void);

// ---------------------------------------------------------------------------------------- text and files

/// A growing text. Start zeroed; free with mds_text_free. Failure to grow aborts into `failed`.
typedef struct {
    char  *s; // always terminated once something was added; NULL before
    size_t n, capacity;
    bool   failed;
} mds_text;

void mds_text_add(mds_text *text, const char *fmt, ...) MDS_PRINTF(2, 3);
void mds_text_add_v(mds_text *text, const char *fmt, va_list args) MDS_PRINTF(2, 0);
void mds_text_add_bytes(mds_text *text, const char *bytes, size_t n);
/// Add `s` as a JSON string with its quotes.
void mds_text_add_json(mds_text *text, const char *s);
void mds_text_free(mds_text *text);

/// Read a whole file; the text is terminated by 0. Errors: MDS_E_MISSING (not there), MDS_E_INPUT
/// (unreadable). Owner: caller, mds_free.
mds_status mds_file_read(const char *path, char **text, size_t *n);

/// Write a whole file, "-" is standard output. Errors: MDS_E_WRITE.
mds_status mds_file_write(const char *path, const char *bytes, size_t n);

bool mds_file_exists(const char *path);

/// `name` relative to the directory of `base_file` unless it is absolute. Owner: caller, mds_free.
mds_status mds_path_beside(char **out, const char *base_file, const char *name);

/// Edit distance of two words (insert, delete, replace, swap of neighbours), for "did you mean". 1.
int mds_text_distance(const char *a, const char *b);

// ------------------------------------------------------------------------------------------------- log

typedef enum { MDS_LOG_ERROR, MDS_LOG_WARN, MDS_LOG_NOTE, MDS_LOG_DEBUG } mds_log_level;

/// Messages go to standard error (up to `level`) and, once opened, to the log file (all levels but debug).
void       mds_log_set_level(mds_log_level level);
/// Holds the file for this process alone (advisory lock). Errors: MDS_E_WRITE, also when another process holds it.
mds_status mds_log_open(const char *path, bool append);
/// MDS_E_WRITE if another process holds the log file of that path; nothing is opened or made.
mds_status mds_log_claim(const char *path);
void       mds_log_close(void);
/// A line for the log file only, or for standard error too by level. No newline needed.
void mds_log(mds_log_level level, const char *fmt, ...) MDS_PRINTF(2, 3);
/// A line for the log file alone (tables, settings).
void mds_log_file(const char *fmt, ...) MDS_PRINTF(1, 2);
/// Text for standard output: results, never messages.
void mds_print(const char *fmt, ...) MDS_PRINTF(1, 2);
/// Whether everything printed so far has arrived. Errors: MDS_E_WRITE.
mds_status mds_print_flush(void);
/// Overwritable progress line on a terminal, plain line otherwise; on standard error.
void mds_progress(bool last, const char *fmt, ...) MDS_PRINTF(2, 3);
bool mds_progress_is_terminal(void);
/// Warnings given so far (for `check`).
int mds_log_n_warnings(void);

#define mds_warn(...) mds_log(MDS_LOG_WARN, __VA_ARGS__)
#define mds_note(...) mds_log(MDS_LOG_NOTE, __VA_ARGS__)

// ---------------------------------------------------------------------------------------------- timers

/// The regions of a run, in the order of the report.
#define MDS_TIMER_LIST(X)                                                                                    \
    X(SETUP, "set-up") X(SEARCH, "search") X(PRUNE, "prune") X(PAIR, "pair") X(BONDED, "bonded")             \
    X(SPREAD, "mesh spread") X(FFT, "mesh fft") X(SOLVE, "mesh solve") X(GATHER, "mesh gather")              \
    X(BEGIN, "begin") X(FINISH, "finish") X(MOVE, "move") X(COUPLE, "couple") X(WAIT, "waiting")              \
    X(OBSERVE, "observe") X(OUTPUT, "output") X(CHECKPOINT, "checkpoint")

typedef enum {
#define MDS_TIMER_ENUM(name, text) MDS_T_##name,
    MDS_TIMER_LIST(MDS_TIMER_ENUM)
#undef MDS_TIMER_ENUM
        MDS_N_TIMERS
} mds_timer;

double      mds_clock(void);                                // monotonic, s
void        mds_timer_add(mds_timer region, double seconds); // and one call
double      mds_timer_seconds(mds_timer region);
int64_t     mds_timer_calls(mds_timer region);
const char *mds_timer_name(mds_timer region);
void        mds_timer_reset(void);

MDS_END
#endif
