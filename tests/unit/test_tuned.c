// SPDX-License-Identifier: Apache-2.0
// The tuning cache: entries are found by their key alone; damage and nonsense are as good as no entry, and never lose the others.
#include "io/io.h"
#include "test.h"

#include <unistd.h>

static char path[64];

static void put(const char *text)
{
    TEST_OK(mds_file_write(path, text, strlen(text)));
}

static void hit_and_miss(void)
{
    const mds_tuned a = {.order = 4, .list_interval = 28, .isa = "avx2", .threads = 8}, b = {.order = 5}, c = {.order = 6};
    mds_tuned       got;

    TEST_TRUE(!mds_tuned_find(path, "one", &got)); // no file
    TEST_OK(mds_tuned_store(path, "one", &a));
    TEST_OK(mds_tuned_store(path, "two, 3 x", &b));
    TEST_TRUE(mds_tuned_find(path, "one", &got) && !memcmp(&got, &a, sizeof a));
    TEST_TRUE(mds_tuned_find(path, "two, 3 x", &got) && !memcmp(&got, &b, sizeof b));
    TEST_TRUE(!mds_tuned_find(path, "on", &got) && !mds_tuned_find(path, "one ", &got));
    TEST_OK(mds_tuned_store(path, "one", &c)); // replaced, the other stays
    TEST_TRUE(mds_tuned_find(path, "one", &got) && got.order == 6 && !got.threads);
    TEST_TRUE(mds_tuned_find(path, "two, 3 x", &got) && got.order == 5);
    TEST_FAILS(mds_tuned_store("/nowhere/at/all/tune.conf", "one", &a), MDS_E_WRITE, "nowhere");
}

static void damage(void)
{
    static const char *const bad[] = {"", "format = 1;", "format = 1; entries = ", "format = 2; entries = ();", "format = 1; entries = 3;", "\x01\x02 garbage {{{",
                                      "@include \"/etc/passwd\"\n", "format = 1; entries = ( 1, 2 );"};
    static const char *const nonsense[] = {"order = 99; list_interval = 0; threads = 0; isa = \"\";", "order = 4; list_interval = -3; threads = 0; isa = \"\";",
                                           "order = 4; list_interval = 0; threads = 99999; isa = \"\";", "order = 4; list_interval = 0; threads = 0; isa = \"a b\";",
                                           "order = 4; list_interval = 0; threads = 0; isa = \"abcdefghijklmnopqrstuvwxyz\";", "order = \"4\";", ""};
    const mds_tuned a = {.order = 4};
    mds_tuned       got;
    char            text[400];
    size_t          k;

    for (k = 0; k < sizeof bad / sizeof *bad; k++) {
        put(bad[k]);
        TEST_TRUE(!mds_tuned_find(path, "one", &got));
        TEST_OK(mds_tuned_store(path, "one", &a)); // replaced by a good one
        TEST_TRUE(mds_tuned_find(path, "one", &got) && got.order == 4);
    }
    for (k = 0; k < sizeof nonsense / sizeof *nonsense; k++) {
        snprintf(text, sizeof text, "format = 1; entries = ( { key = \"one\"; %s }, { key = \"two\"; order = 5; list_interval = 0; threads = 0; isa = \"\"; } );", nonsense[k]);
        put(text);
        TEST_TRUE(!mds_tuned_find(path, "one", &got));
        TEST_TRUE(mds_tuned_find(path, "two", &got) && got.order == 5);
        TEST_OK(mds_tuned_store(path, "three", &a));
        TEST_TRUE(mds_tuned_find(path, "two", &got) && got.order == 5);
    }
}

/// The file does not grow without end: the oldest go.
static void bounded(void)
{
    const mds_tuned a = {.order = 4};
    mds_tuned       got;
    char            key[32];
    int             k;

    (void)unlink(path);
    for (k = 0; k < 260; k++) {
        snprintf(key, sizeof key, "key %d", k);
        if (mds_tuned_store(path, key, &a) != MDS_OK) break;
    }
    TEST_INT(k, 260);
    TEST_TRUE(mds_tuned_find(path, "key 259", &got) && !mds_tuned_find(path, "key 0", &got));
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/mds_tuned_%d.conf", (int)getpid());
    mds_log_set_level(MDS_LOG_WARN);
    hit_and_miss();
    damage();
    bounded();
    (void)unlink(path);
    return test_end();
}
