// SPDX-License-Identifier: Apache-2.0
// Facts about the machine: energy counters and limits of containers as the kernel lays them out, in a made directory; clock and peak in the range of real cores.
#include "engine/engine.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void counter(const char *zone, const char *file, const char *value)
{
    char path[200];

    snprintf(path, sizeof path, "%s/%s", root, zone);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s", root, zone, file);
    TEST_OK(mds_file_write(path, value, strlen(value)));
}

static void energy_of_packages(void)
{
    mds_energy_counters a, b;

    mds_energy_look(root, &a);
    TEST_INT(a.n, 0);
    TEST_TRUE(isnan(mds_energy_between(&a, &a))); // nothing counted is not known, not zero
    counter("intel-rapl:0", "energy_uj", "5000000\n");
    counter("intel-rapl:0", "max_energy_range_uj", "262143328850\n");
    counter("intel-rapl:1", "energy_uj", "262143000000\n");
    counter("intel-rapl:1", "max_energy_range_uj", "262143328850\n");
    counter("intel-rapl:0:0", "energy_uj", "1\n");     // a part of package 0
    counter("intel-rapl-mmio:0", "energy_uj", "1\n");  // package 0 once more
    mds_energy_look(root, &a);
    TEST_INT(a.n, 2);
    counter("intel-rapl:0", "energy_uj", "12000000\n");
    counter("intel-rapl:0:0", "energy_uj", "900000000\n");
    counter("intel-rapl:1", "energy_uj", "671150\n"); // went round: 1 J
    mds_energy_look(root, &b);
    TEST_NEAR(mds_energy_between(&a, &b), 7 + 1, 1e-4); // doubles of 2.6e5 J: 3e-11; a microjoule a reading
    b.n = 1; // a counter that is gone: the sum is not known
    TEST_TRUE(isnan(mds_energy_between(&a, &b)));
}

static void place(const char *below, const char *file, const char *value)
{
    char path[200];

    snprintf(path, sizeof path, "mkdir -p %s/%s", root, below);
    TEST_INT(system(path), 0);
    snprintf(path, sizeof path, "%s/%s/%s", root, below, file);
    TEST_OK(mds_file_write(path, value, strlen(value)));
}

/// Limits of a container: of the group itself and of those above it, in both versions of control groups.
static void cores_of_groups(void)
{
    TEST_TRUE(mds_cores_allowed(root, "/") > 1e6); // nothing there: no limit
    place("pod/main", "cpu.max", "max 100000\n");
    TEST_TRUE(mds_cores_allowed(root, "/pod/main") > 1e6);
    place("pod", "cpu.max", "250000 100000\n");
    TEST_NEAR(mds_cores_allowed(root, "/pod/main"), 2.5, 1e-12); // a quotient of small integers
    place("pod/main", "cpu.max", "50000 100000\n");
    TEST_NEAR(mds_cores_allowed(root, "/pod/main"), 0.5, 1e-12);
    TEST_NEAR(mds_cores_allowed(root, "/pod"), 2.5, 1e-12);
    place("cpu/old", "cpu.cfs_quota_us", "-1\n");
    place("cpu/old", "cpu.cfs_period_us", "100000\n");
    TEST_TRUE(mds_cores_allowed(root, "/old") > 1e6);
    place("cpu/old", "cpu.cfs_quota_us", "400000\n");
    TEST_NEAR(mds_cores_allowed(root, "/old"), 4, 1e-12);
    place("pod", "cpu.max", "rubbish\n");
    TEST_TRUE(mds_cores_allowed(root, "/pod") > 1e6);
}

static void clock_and_peak(void)
{
    const double clock = mds_machine_clock(), generic = mds_machine_flops("generic");
    const mds_backend *cpu;
    char         name[128];

    // no core in use runs below 0.3 or above 8 GHz; a loop that the compiler removed would be far above
    TEST_TRUE(clock > 0.3e9 && clock < 8e9);
    // two multiply-adds a cycle of 4 (generic, possibly unfused) to 16 floats are the most there is: 64 flop a cycle; a third
    // for a clock that rises between the two measurements. At least one scalar operation a cycle even on a crowded machine.
    TEST_TRUE(generic > 0.2 * clock && generic < 22 * clock);
    if (mds_backend_find("cpu", &cpu) == MDS_OK && mds_has_word(cpu->flavours(), "avx512"))
        TEST_TRUE(mds_machine_flops("avx512") > 0.2 * clock && mds_machine_flops("avx512") < 85 * clock);
    mds_machine_name(name, sizeof name);
    TEST_TRUE(name[0] && !strpbrk(name, "\n"));
    TEST_TRUE(mds_machine_memory() > 0.1);
    TEST_TRUE(mds_cores_here() >= 1 && mds_threads_per_core() >= 1 && mds_threads_per_core() <= 8);
}

static void words(void)
{
    TEST_TRUE(mds_has_word("avx512 avx2 generic", "avx2") && mds_has_word("avx512", "avx512") && mds_has_word("a b", "b"));
    TEST_TRUE(!mds_has_word("avx512 avx2", "avx") && !mds_has_word("avx512", "512") && !mds_has_word("avx2", "") && !mds_has_word("", "avx2"));
}

int main(void)
{
    char command[100];

    snprintf(root, sizeof root, "/tmp/mds_power_%d", (int)getpid());
    (void)mkdir(root, 0700);
    energy_of_packages();
    cores_of_groups();
    clock_and_peak();
    words();
    snprintf(command, sizeof command, "rm -r %s", root);
    TEST_INT(system(command), 0);
    return test_end();
}
