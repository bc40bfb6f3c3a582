// SPDX-License-Identifier: Apache-2.0
// The ground: memory that cannot overflow, texts, JSON quoting, whole files, paths, word distance, status codes.
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/// Read by the address sanitizer, where it is on: memory that cannot be had is an error to us, not an end.
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static char folder[] = "/tmp/mds_base_XXXXXX";

static const char *at(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void memory_is_zeroed_aligned_and_never_overflows(void)
{
    double *p = NULL;
    size_t  capacity = 0, k;
    char   *none = (char *)1;

    TEST_OK(mds_alloc(&p, 1001, sizeof *p));
    for (k = 0; k < 1001 && p[k] == 0; k++) {}
    TEST_INT(k, 1001);
    TEST_INT((uintptr_t)p % 64, 0);
    mds_free(p);
    TEST_OK(mds_alloc(&none, 0, 8));
    TEST_TRUE(none == NULL);
    // products that wrap round 2^64 to something small must not be given as small pieces
    TEST_FAILS(mds_alloc(&p, SIZE_MAX / 8 + 2, 8), MDS_E_MEMORY, "do not fit");
    TEST_TRUE(p == NULL);
    TEST_FAILS(mds_alloc(&p, SIZE_MAX - 8, 1), MDS_E_MEMORY, "do not fit");
    TEST_FAILS(mds_alloc(&p, (size_t)1 << 60, 8), MDS_E_MEMORY, "");
    p = NULL;
    TEST_OK(mds_grow(&p, &capacity, 3, sizeof *p));
    for (k = 0; k < capacity; k++) p[k] = (double)k;
    const size_t old = capacity;

    TEST_OK(mds_grow(&p, &capacity, old + 1, sizeof *p));
    TEST_TRUE(capacity >= old + old / 2);
    for (k = 0; k < capacity && p[k] == (k < old ? (double)k : 0); k++) {}
    TEST_INT(k, capacity); // old part kept, new part zero
    TEST_FAILS(mds_grow(&p, &capacity, SIZE_MAX / 4, sizeof *p), MDS_E_MEMORY, "");
    TEST_NEAR(p[1], 1, 0); // a failed growth leaves what there was
    const size_t grown = capacity;

    TEST_OK(mds_reserve(&p, &capacity, grown, 100, sizeof *p)); // there is room
    TEST_INT(capacity, grown);
    TEST_OK(mds_reserve(&p, &capacity, grown + 2, 5, sizeof *p));
    TEST_INT(capacity, grown + 7); // no half more
    for (k = 0; k < capacity && p[k] == (k < old ? (double)k : 0); k++) {}
    TEST_INT(k, capacity);
    TEST_FAILS(mds_reserve(&p, &capacity, grown + 8, SIZE_MAX - 4, sizeof *p), MDS_E_MEMORY, ""); // a sum that wraps round
    TEST_NEAR(p[1], 1, 0);
    mds_free(p);
    TEST_TRUE(mds_memory_peak() > 1000000);
}

static void texts_grow_and_quote(void)
{
    mds_text t = {0};
    int      k;

    for (k = 0; k < 1000; k++) mds_text_add(&t, "%d,", k);
    TEST_INT(t.n, 10 * 2 + 90 * 3 + 900 * 4);
    TEST_INT(strlen(t.s), t.n);
    TEST_TRUE(!strncmp(t.s, "0,1,2,", 6) && !strcmp(t.s + t.n - 4, "999,"));
    mds_text_free(&t);
    TEST_TRUE(!t.s && !t.n);
    mds_text_add_json(&t, "a\"b\\c\n\x01\xc3\xa9");
    TEST_TRUE(!strcmp(t.s, "\"a\\\"b\\\\c\\u000a\\u0001\xc3\xa9\""));
    mds_text_free(&t);
}

static void whole_files(void)
{
    char  *text, big[100000];
    size_t n;

    memset(big, 'x', sizeof big);
    big[5000] = '\0'; // bytes, not strings
    TEST_OK(mds_file_write(at("big"), big, sizeof big));
    TEST_OK(mds_file_read(at("big"), &text, &n));
    TEST_INT(n, sizeof big);
    TEST_TRUE(n == sizeof big && !memcmp(text, big, n) && text[n] == '\0');
    mds_free(text);
    TEST_OK(mds_file_write(at("empty"), "", 0));
    TEST_OK(mds_file_read(at("empty"), &text, &n));
    TEST_INT(n, 0);
    TEST_TRUE(text && text[0] == '\0');
    mds_free(text);
    TEST_OK(mds_file_read("/proc/self/status", &text, &n)); // says size 0, has some
    TEST_TRUE(n > 100 && strstr(text, "VmPeak"));
    mds_free(text);
    TEST_FAILS(mds_file_read(at("none"), &text, &n), MDS_E_MISSING, "none: cannot open");
    TEST_TRUE(!text);
    TEST_FAILS(mds_file_read(folder, &text, &n), MDS_E_INPUT, "is not a file");
    TEST_FAILS(mds_file_write(at("no/such/folder"), "x", 1), MDS_E_WRITE, "cannot write");
    if (!access("/dev/full", W_OK)) TEST_FAILS(mds_file_write("/dev/full", big, sizeof big), MDS_E_WRITE, "No space left");
    TEST_TRUE(mds_file_exists(at("big")) && !mds_file_exists(at("none")));
}

static void paths_beside(void)
{
    static const char *const cases[][3] = {{"a/b/in.conf", "x.gro", "a/b/x.gro"}, {"in.conf", "x.gro", "x.gro"}, {"a/in.conf", "/x", "/x"},
                                           {"a/in.conf", "../x", "a/../x"},       {"/in.conf", "x", "/x"},       {NULL, "x", "x"}};
    size_t k;

    for (k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char *out = NULL;

        TEST_OK(mds_path_beside(&out, cases[k][0], cases[k][1]));
        TEST_TRUE(out && !strcmp(out, cases[k][2]));
        mds_free(out);
    }
}

static void word_distance(void)
{
    char longer[80];

    TEST_INT(mds_text_distance("steps", "steps"), 0);
    TEST_INT(mds_text_distance("", "abc"), 3);
    TEST_INT(mds_text_distance("stpes", "steps"), 1); // neighbours swapped
    TEST_INT(mds_text_distance("step", "steps"), 1);
    TEST_INT(mds_text_distance("kitten", "sitting"), 3);
    memset(longer, 'a', 79);
    longer[79] = '\0';
    TEST_INT(mds_text_distance(longer, "a"), 63); // too long to be a slip of a key's name
}

static void statuses(void)
{
    TEST_INT(mds_status_exit_code(MDS_OK), 0);
    TEST_INT(mds_status_exit_code(MDS_E_INPUT), 65);
    TEST_INT(mds_status_exit_code(MDS_E_WRITE), 74);
    TEST_INT(mds_status_exit_code(MDS_E_CHECKPOINT), 76);
    TEST_INT(mds_fail(MDS_E_INPUT, "x.c", 7, "atom %d", 5), MDS_E_INPUT);
    mds_error_prefix("f.top:%d: ", 3);
    TEST_TRUE(!strcmp(mds_error_text(), "f.top:3: atom 5"));
    TEST_TRUE(strstr(mds_error_where(), "x.c:7") != NULL);
    mds_error_clear();
    TEST_TRUE(!mds_error_text()[0]);
}

int main(void)
{
    if (!mkdtemp(folder)) TEST_SKIP("no temporary folder");
    memory_is_zeroed_aligned_and_never_overflows();
    texts_grow_and_quote();
    whole_files();
    paths_beside();
    word_distance();
    statuses();
    unlink(at("big"));
    unlink(at("empty"));
    rmdir(folder);
    return test_end();
}
