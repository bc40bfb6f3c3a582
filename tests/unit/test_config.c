// SPDX-License-Identifier: Apache-2.0
// Reading a conf: every key, every way to write it wrong, includes, --set, rules between keys.
#include "io/io.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

/// libconfig 1.5 loses a few bytes of its own at a syntax error.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libconfig.so\n";
}

static char dir[] = "/tmp/mds-config-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_bytes(const char *name, const char *bytes, size_t n)
{
    remove(path_of(name)); // cutting a file short makes some file systems wait for the disk
    if (mds_file_write(path_of(name), bytes, n) != MDS_OK) {
        fprintf(stderr, "%s\n", mds_error_text());
        exit(1);
    }
}

static void write_text(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

/// Read `text` as input.conf with up to two --set.
static mds_status read_with(const char *text, const char *set1, const char *set2, mds_config *config)
{
    const char *const set[] = {set1, set2};

    mds_error_clear();
    write_bytes("input.conf", text, strlen(text));
    return mds_config_read(path_of("input.conf"), set, !!set1 + !!set2, config);
}

static mds_status read_conf(const char *text, mds_config *config)
{
    return read_with(text, NULL, NULL, config);
}

#define SYSTEM "system = { topology = \"topol.top\"; coordinates = \"conf.gro\"; };\n"

/// The conf fails with this status and text.
static void fails(const char *text, mds_status status, const char *message)
{
    mds_config config;

    TEST_FAILS(read_conf(text, &config), status, message);
    TEST_TRUE(config.path == NULL); // nothing is left to free
}

static void set_fails(const char *set, mds_status status, const char *message)
{
    mds_config config;

    TEST_FAILS(read_with(SYSTEM, set, NULL, &config), status, message);
    TEST_TRUE(strstr(mds_error_text(), "--set") != NULL);
}

static int lines_of(const char *text)
{
    int n = 1;

    for (; *text; text++) n += *text == '\n';
    return n;
}

// ---------------------------------------------------------------------------------------------------- good

static void test_defaults_are_those_of_the_contract(void)
{
    mds_config c;

    TEST_OK(read_conf(SYSTEM, &c));
    TEST_TRUE(!strcmp(c.system.topology, "topol.top") && !strcmp(c.system.coordinates, "conf.gro"));
    TEST_TRUE(c.system.velocities == MDS_VELOCITIES_FILE && c.system.box_source == MDS_BOX_FILE);
    TEST_TRUE(c.run.integrator == MDS_INTEGRATOR_VERLET && c.run.steps == 10000 && c.run.seed == 1);
    TEST_TRUE(c.run.dt == 0.002 && c.run.temperature == 300 && c.run.remove_com == MDS_COM_LINEAR);
    TEST_TRUE(c.nonbonded.cutoff == 0.9 && c.nonbonded.lj_cutoff == -1 && c.nonbonded.coulomb_cutoff == -1);
    TEST_TRUE(c.nonbonded.lj_modifier == MDS_LJ_SHIFT && c.nonbonded.tail_correction &&
              c.nonbonded.coulomb_shift);
    TEST_TRUE(c.nonbonded.coulomb == MDS_COULOMB_PME && c.nonbonded.lj_switch == 0.8);
    TEST_TRUE(c.pme.split == MDS_SPLIT_PROLATE && c.pme.force_error == 0.5 && c.pme.order == 0 &&
              c.pme.grid[2] == 0);
    TEST_TRUE(c.constraints.kind == MDS_CONSTRAIN_H_BONDS && c.constraints.rigid_water);
    TEST_TRUE(c.thermostat.kind == MDS_THERMOSTAT_NONE && c.thermostat.tau == 0.5);
    TEST_TRUE(c.barostat.kind == MDS_BAROSTAT_NONE && c.barostat.tau == 2 &&
              c.barostat.compressibility == 4.5e-5);
    TEST_TRUE(!strcmp(c.output.name, "run") && c.output.trajectory_every == 5000 &&
              c.output.energy_every == 500);
    TEST_TRUE(c.output.checkpoint_minutes == 15 && !c.output.velocities && c.output.precision == 0);
    TEST_TRUE(c.backend.kind == MDS_KIND_AUTO && !strcmp(c.backend.isa, "auto"));
    TEST_TRUE(c.backend.deterministic == MDS_DETERMINISTIC_YES && c.backend.precision == MDS_PRECISION_MIXED);
    TEST_TRUE(!mds_config_given(&c, "run.dt") && !strcmp(mds_config_origin(&c, "run.dt"), "default"));
    mds_config_free(&c);
}

/// All keys at once, none at its default; written as people write: CRLF, BOM, comments, no semicolons, lists.
static void test_every_key_reaches_its_field(void)
{
    static const char text[] =
        "\xef\xbb\xbf# a comment with 3000000000 and @include\r\n"
        "system : { topology = \"a \" \"b\\\"c.top\", coordinates = \"c.gro\" velocities = \"draw\";\r\n"
        "  box = (3, 3.5, 4L, 90, 90.0, 60); defines = [\"POSRES\", \"N=2\"]; include = \"dir\";\r\n"
        "  restraint_reference = \"ref.gro\"; inpcrd_extra = \"box\" }\r\n"
        "run = { integrator = \"leapfrog\"; steps = 5e9; dt = 1e-3; seed = 5000000000L; temperature = 310;\n"
        "  remove_com = \"none\"; max_wall = 2; list_interval = 25; couple_every = 5; force_tolerance = 1;\n"
        "  max_move = 0.02; };\n"
        "nonbonded = { cutoff = 1; lj_cutoff = 1.2; coulomb_cutoff = 1.1; lj_modifier = \"force-switch\";\n"
        "  lj_switch = 1; tail_correction = FALSE; coulomb = \"reaction-field\"; coulomb_modifier = "
        "\"none\";\n"
        "  rf_dielectric = 78; list_buffer = 0.1; list_tolerance = 1e-6; };\n"
        "pme = { split = \"gaussian\"; force_error = 0.1; order = 6; spacing = 0.1; grid = [40, 42, 0x2c];\n"
        "  beta = 3.12; };\n"
        "constraints = { kind = \"all-bonds\"; rigid_water = false; hydrogen_mass = 3; tolerance = 1e-10; "
        "};\n"
        "thermostat = { kind = \"v-rescale\"; temperature = 310; tau = 1; };\n"
        "barostat = { kind = \"c-rescale\"; coupling = \"isotropic\"; pressure = -2; tau = 5; "
        "compressibility = 1e-5; };\n"
        "output = { name = \"out/x\"; trajectory_every = 1; energy_every = 2; checkpoint_minutes = 1; /* a\n"
        "  comment */ checkpoint_every = 3; velocities = true; forces = true; precision = 0.001; part_gb = "
        "2; };\n"
        "backend = { kind = \"cpu\"; threads = 2; isa = \"avx2\"; deterministic = \"no\"; tune = \"fixed\"; "
        "};\n"
        "cost = { price_per_hour = 2; max_cost = 10; stop_if_below = 0.5; predicted_ns_per_day = 100;\n"
        "  predicted_basis = \"scaled\"; };\n";
    mds_config c;
    mds_text   value = {0};
    int        k, n_default = 0;
    mds_config defaults;

    TEST_OK(read_conf(text, &c));
    TEST_TRUE(!strcmp(c.system.topology, "a b\"c.top") && c.system.velocities == MDS_VELOCITIES_DRAW);
    TEST_TRUE(c.system.box_source == MDS_BOX_GIVEN && c.system.n_box == 6 && c.system.box[2] == 4 &&
              c.system.box[5] == 60);
    TEST_TRUE(c.system.defines.n == 2 && !strcmp(c.system.defines.item[1], "N=2"));
    TEST_TRUE(c.system.include.n == 1 && !strcmp(c.system.include.item[0], "dir") &&
              c.system.inpcrd_extra == 2);
    TEST_TRUE(c.run.steps == 5000000000 && c.run.seed == 5000000000 && c.run.dt == 0.001 &&
              c.run.temperature == 310);
    TEST_TRUE(c.run.list_interval == 25 && c.run.couple_every == 5 && c.run.max_move == 0.02);
    TEST_TRUE(c.nonbonded.cutoff == 1 && c.nonbonded.lj_cutoff == 1.2 && c.nonbonded.coulomb_cutoff == 1.1);
    TEST_TRUE(c.nonbonded.lj_modifier == MDS_LJ_FORCE_SWITCH && !c.nonbonded.tail_correction &&
              !c.nonbonded.coulomb_shift);
    TEST_TRUE(c.pme.split == MDS_SPLIT_GAUSSIAN && c.pme.order == 6 && c.pme.grid[2] == 44 &&
              c.pme.beta == 3.12);
    TEST_TRUE(c.constraints.kind == MDS_CONSTRAIN_ALL_BONDS && !c.constraints.rigid_water &&
              c.constraints.tolerance == 1e-10);
    TEST_TRUE(c.barostat.pressure == -2 && c.output.part_gb == 2 && c.output.checkpoint_every == 3 &&
              c.backend.threads == 2);
    TEST_TRUE(!strcmp(c.backend.isa, "avx2") && c.backend.tune == MDS_TUNE_FIXED && c.cost.max_cost == 10);

    // Every value differs from its default, but for keys that exclude others or whose other words are
    // refused.
    TEST_OK(mds_config_defaults(&defaults));
    for (k = 0; k < mds_config_n_keys(); k++) {
        mds_text before = {0};

        mds_config_value(&c, k, &value);
        mds_config_value(&defaults, k, &before);
        if (!strcmp(value.s, before.s)) {
            static const char *const excused[] = {"system.generate", "system.atoms", "pme.c", "run.mesh_every",
                                                  "barostat.coupling", "backend.precision"};
            size_t                   e;
            bool                     found = false;

            n_default++;
            for (e = 0; e < sizeof excused / sizeof *excused; e++)
                found |= !strcmp(excused[e], mds_config_key_name(k));
            if (!found) fprintf(stderr, "%s stayed at its default %s\n", mds_config_key_name(k), value.s);
            TEST_TRUE(found);
        }
        mds_text_free(&value);
        mds_text_free(&before);
    }
    TEST_INT(n_default, 6);
    mds_config_free(&defaults);
    mds_config_free(&c);
}

/// What mds_config_value prints, read back, gives the same values.
static void test_values_read_back(void)
{
    mds_config  a, b;
    mds_text    text = {0};
    const char *group = "";
    size_t      n = 0;
    int         k;

    TEST_OK(read_conf("system = { topology = \"we\\\\ird \\\"name\"; coordinates = \"c\"; box = [3.1, 0.0, "
                      "0.0, 0.0, 3.2, 0.0, "
                      "0.1, 0.2, 3.3]; defines = [\"A\", \"B\"]; };\n"
                      "run = { dt = 0.0012345678901234567; seed = 9000000000L; steps = 3000000000L; };\n"
                      "pme = { grid = [10, 12, 14]; c = 10.5; };\n",
                      &a));
    for (k = 0; k < mds_config_n_keys(); k++) {
        const char *name = mds_config_key_name(k), *dot = strchr(name, '.');

        if (strncmp(name, group, n) || n == 0) {
            mds_text_add(&text, "%s%.*s = {\n", k ? "};\n" : "", (int)(dot - name), name);
            group = name;
            n = (size_t)(dot - name) + 1;
        }
        mds_text_add(&text, "%s = ", dot + 1);
        mds_config_value(&a, k, &text);
        mds_text_add(&text, ";\n");
    }
    mds_text_add(&text, "};\n");
    TEST_OK(read_conf(text.s, &b));
    for (k = 0; k < mds_config_n_keys(); k++) {
        mds_text va = {0}, vb = {0};

        mds_config_value(&a, k, &va);
        mds_config_value(&b, k, &vb);
        if (strcmp(va.s, vb.s)) fprintf(stderr, "%s: %s, read back %s\n", mds_config_key_name(k), va.s, vb.s);
        TEST_TRUE(!strcmp(va.s, vb.s));
        mds_text_free(&va);
        mds_text_free(&vb);
    }
    TEST_TRUE(a.run.dt == b.run.dt && a.run.seed == b.run.seed && b.system.n_box == 9);
    mds_text_free(&text);
    mds_config_free(&a);
    mds_config_free(&b);
}

// ------------------------------------------------------------------------------------------------- mistakes

static void test_mistakes_name_file_line_and_the_right_key(void)
{
    fails(SYSTEM "run = {\n  temprature = 300.0;\n};", MDS_E_INPUT,
          "input.conf:3: unknown key 'run.temprature'; did you mean 'run.temperature'?");
    fails(SYSTEM "rum = { dt = 0.001; };", MDS_E_INPUT,
          "input.conf:2: unknown group 'rum'; did you mean 'run'?");
    fails(SYSTEM "thermo = { tau = 1.0; };", MDS_E_INPUT,
          "unknown group 'thermo'; did you mean 'thermostat'?");
    fails(SYSTEM "xyz = { tau = 1.0; };", MDS_E_INPUT, "unknown group 'xyz'");
    TEST_TRUE(!strstr(mds_error_text(), "did you mean"));
    fails(SYSTEM "run = { cutoff = 1.0; };", MDS_E_INPUT,
          "unknown key 'run.cutoff'; did you mean 'nonbonded.cutoff'?");
    fails(SYSTEM "cutoff = 1.0;", MDS_E_INPUT, "unknown key 'cutoff'; did you mean 'nonbonded.cutoff'?");
    fails(SYSTEM "run = 5;", MDS_E_INPUT, "'run' is a group");
    fails(SYSTEM "run = { dt = \"fast\"; };", MDS_E_INPUT, "run.dt must be a number in ps, not a text");
    fails(SYSTEM "run = { dt = { x = 1; }; };", MDS_E_INPUT, "run.dt must be a number in ps, not a group");
    fails(SYSTEM "run = { steps = 1000.5; };", MDS_E_INPUT, "run.steps must be an integer");
    fails(SYSTEM "run = { steps = 1e300; };", MDS_E_INPUT, "run.steps must be an integer");
    fails(SYSTEM "run = { dt = 2.0; };", MDS_E_INPUT, "run.dt = 2 ps is outside of 1e-06 to 0.1");
    fails(SYSTEM "run = { steps = -1; };", MDS_E_INPUT, "run.steps");
    fails(SYSTEM "pme = { order = 3; };", MDS_E_INPUT, "pme.order = 3 is outside of 4 to 8 (0: chosen)");
    fails(SYSTEM "pme = { grid = [52, 52]; };", MDS_E_INPUT, "pme.grid must be 3 integers");
    fails(SYSTEM "pme = { grid = [52, 52, 0]; };", MDS_E_INPUT, "pme.grid");
    fails(SYSTEM "nonbonded = { coulomb = \"pmee\"; };", MDS_E_INPUT,
          "must be \"pme\", \"reaction-field\", \"cutoff\" or \"none\", not \"pmee\"; did you mean \"pme\"?");
    fails(SYSTEM "nonbonded = { tail_correction = 1; };", MDS_E_INPUT, "must be true or false, not a number");
    fails(SYSTEM "backend = { isa = \"sse\"; };", MDS_E_INPUT, "backend.isa must be");
    fails("system = { topology = 5; coordinates = \"c\"; };", MDS_E_INPUT,
          "system.topology must be a text in \"\", not a number");
    fails("system = { topology = \"t\"; coordinates = \"c\"; box = \"big\"; };", MDS_E_INPUT,
          "system.box must be 3, 6 or 9");
    fails("system = { topology = \"t\"; coordinates = \"c\"; box = [3.0, 3.0]; };", MDS_E_INPUT,
          "system.box must be 3 lengths");
    fails("system = { topology = \"t\"; coordinates = \"c\"; box = [3.0, -3.0, 3.0]; };", MDS_E_INPUT,
          "impossible length -3");
    fails("system = { topology = \"t\"; coordinates = \"c\"; defines = [1, 2]; };", MDS_E_INPUT,
          "must be a list of texts");
}

static void test_words_that_libconfig_misreads_are_refused(void)
{
    mds_config c;

    fails(SYSTEM "run = {\n steps = 5000000000; };", MDS_E_INPUT,
          "input.conf:3: the integer 5000000000 is beyond 32 bits and would be cut short: write 5000000000L");
    fails(SYSTEM "run = { seed = 0x80000000; };", MDS_E_INPUT, "write 0x80000000L");
    fails(SYSTEM "run = { seed = 99999999999999999999L; };", MDS_E_INPUT, "does not fit in 64 bits");
    fails(SYSTEM "run = { dt = 1e400; };", MDS_E_INPUT, "the number '1e400' is too large");
    fails(SYSTEM "run = { dt = nan; };", MDS_E_INPUT, "input.conf:2:");
    fails(SYSTEM "run = { dt = 2fs; };", MDS_E_INPUT, "input.conf:2: '2fs' is not a number");
    fails(SYSTEM "run = { steps = 1_000; };", MDS_E_INPUT, "'1_000' is not a number");
    fails(SYSTEM "run = { dt = .; };", MDS_E_INPUT, "'.' is not a number");
    fails(SYSTEM "output = { name = \"x; };\n", MDS_E_INPUT, "has no closing \"");
    fails(SYSTEM "output = { name = \xe2\x80\x9cx\xe2\x80\x9d; };\n", MDS_E_INPUT,
          "does not belong outside of \"\"");
    fails(SYSTEM "run = { dt = 0.001; dt = 0.002; };", MDS_E_INPUT,
          "input.conf:2: this key or group is set a second time");
    fails("system = { topology = \"t\"; coordinates = \"c\"; box = [3, 3.0, 3]; };", MDS_E_INPUT,
          "must be all with or all without a point");
    fails(SYSTEM "/* no end\n\n", MDS_E_INPUT, "input.conf:2: the comment has no end");
    fails(SYSTEM "run = { dt = ; };", MDS_E_INPUT, "input.conf:2: not understood");

    // the same digits where nothing is cut
    TEST_OK(read_conf(
        "system = { topology = \"5000000000\"; coordinates = \"c\"; }; // 5000000000 @include \"x\"\n"
        "run = { steps = 2147483647; /* 5000000000\n 0x80000000 */ seed = 3000000000L; dt = .001; };",
        &c));
    TEST_TRUE(c.run.steps == 2147483647 && c.run.seed == 3000000000 && c.run.dt == 0.001);
    mds_config_free(&c);
}

static void test_all_errors_are_reported_together_in_order(void)
{
    mds_config  c;
    const char *m;

    TEST_FAILS(read_with(SYSTEM "run = { stepz = 1;\n dt = 9.0;\n steps = 5000000000; };\n"
                                "pme = { order = 20; };\n",
                         "nonbonded.cutof=1", "output.name=", &c),
               MDS_E_INPUT, "input.conf:2: unknown key 'run.stepz'; did you mean 'run.steps'?\n");
    m = mds_error_text();
    TEST_INT(lines_of(m), 6);
    TEST_TRUE(strstr(m, "conf:2:") && strstr(m, "conf:3:") && strstr(m, "conf:4:") && strstr(m, "conf:5:"));
    TEST_TRUE(strstr(m, "conf:2:") < strstr(m, "conf:3:") && strstr(m, "conf:4:") < strstr(m, "conf:5:"));
    TEST_TRUE(strstr(m, "--set nonbonded.cutof=1: unknown key; did you mean 'nonbonded.cutoff'?") != NULL);
    TEST_TRUE(strstr(m, "--set output.name=: there is no value") != NULL);
}

/// A syntax error does not hide what comes after it, nor does it bring echoes.
static void test_reading_goes_on_after_a_syntax_error(void)
{
    const char *m = mds_error_text();

    fails(SYSTEM "run = {\n dt = = 0.001;\n stepz = 5;\n};\npme = { order = 20; };\n", MDS_E_INPUT,
          "input.conf:3: not understood");
    TEST_TRUE(strstr(m, "conf:4: unknown key 'run.stepz'") && strstr(m, "conf:6: pme.order = 20"));
    TEST_INT(lines_of(m), 3);
    fails(SYSTEM "run = {\n dt =\n};\npme = { order = 20; };\n", MDS_E_INPUT, "input.conf:4: not understood");
    TEST_TRUE(strstr(m, "conf:5: pme.order = 20") != NULL);
    TEST_INT(lines_of(m), 2);
    fails(SYSTEM
          "run = { dt = = 0.001; };\nrun2 = {\n a = ; };\nnonbonded = { cutoff = ) 1.0;\n cutof = 1.0;\n};\n",
          MDS_E_INPUT, "input.conf:2: not understood");
    TEST_TRUE(strstr(m, "conf:4: not understood") && strstr(m, "conf:3: unknown group 'run2'") &&
              strstr(m, "conf:6: unknown key 'nonbonded.cutof'"));
    fails(SYSTEM "run = { dt = 0.001;\npme = { order = 20; };\n", MDS_E_INPUT, "(later lines were not read)");
    fails(SYSTEM "}}}}\n{{{{\n", MDS_E_INPUT, "input.conf:2: not understood");
}

static void test_files_that_are_no_conf(void)
{
    mds_config c;

    TEST_FAILS(mds_config_read(path_of("absent.conf"), NULL, 0, &c), MDS_E_MISSING,
               "absent.conf: cannot open");
    TEST_FAILS(mds_config_read(dir, NULL, 0, &c), MDS_E_INPUT, "is not a file");
    TEST_FAILS(mds_config_read("/dev/zero", NULL, 0, &c), MDS_E_INPUT, "is not a file");
    write_bytes("binary", "\x89HDF\0\r\n", 7);
    TEST_FAILS(mds_config_read(path_of("binary"), NULL, 0, &c), MDS_E_INPUT, "is not a text file");
    fails("", MDS_E_INPUT, "nothing to simulate");
}

// ------------------------------------------------------------------------------------------- includes, --set

static void test_includes_are_relative_to_their_file_and_named_in_errors(void)
{
    mds_config c;
    char       text[600];

    mkdir(path_of("sub"), 0700);
    mkdir(path_of("sub/deep"), 0700);
    write_text("sub/common.conf", "@include \"deep/run.conf\" # deeper\nnonbonded = { cutoff = 1.1; };");
    write_text("sub/deep/run.conf", "run = {\n  dt = 0.001;\n");
    fails(SYSTEM "@include \"sub/common.conf\"\n", MDS_E_INPUT, "not understood"); // the group is not closed
    write_text("sub/deep/run.conf", "run = {\n  dt = 0.001; };\n");
    TEST_OK(read_conf(SYSTEM "  @include \"sub/common.conf\"\noutput = { name = \"y\"; };", &c));
    TEST_TRUE(c.run.dt == 0.001 && c.nonbonded.cutoff == 1.1 && !strcmp(c.output.name, "y"));
    TEST_TRUE(strstr(mds_config_origin(&c, "run.dt"), "sub/deep/run.conf:2") != NULL);
    TEST_TRUE(strstr(mds_config_origin(&c, "nonbonded.cutoff"), "sub/common.conf:2") != NULL);
    TEST_TRUE(strstr(mds_config_origin(&c, "output.name"), "input.conf:3") != NULL);
    TEST_TRUE(c.text && strstr(c.text, "dt = 0.001"));
    mds_config_free(&c);

    write_text("sub/deep/run.conf", "run = {\n  dtt = 0.001;\n seed = 4000000000; };\n");
    fails(SYSTEM "@include \"sub/common.conf\"\n", MDS_E_INPUT, "sub/deep/run.conf:2: unknown key 'run.dtt'");
    TEST_TRUE(strstr(mds_error_text(), "sub/deep/run.conf:3: the integer 4000000000") != NULL);
    write_text("sub/deep/run.conf", "run = {\n  dt = = 1;\n};\n");
    fails(SYSTEM "@include \"sub/common.conf\"\n", MDS_E_INPUT, "sub/deep/run.conf:2: not understood");

    snprintf(text, sizeof text, SYSTEM "@include \"%s\"\n", path_of("sub/abs.conf"));
    write_text("sub/abs.conf", "run = { dt = 0.004; };");
    TEST_OK(read_conf(text, &c));
    TEST_TRUE(c.run.dt == 0.004);
    mds_config_free(&c);

    // inside a group, and one that ends in the middle of it
    write_text("part.conf", "dt = 0.003; seed = 7");
    TEST_OK(read_conf(SYSTEM "run = {\n@include \"part.conf\"\nsteps = 5; };", &c));
    TEST_TRUE(c.run.dt == 0.003 && c.run.seed == 7 && c.run.steps == 5);
    mds_config_free(&c);

    fails(SYSTEM "@include \"gone.conf\"\n", MDS_E_MISSING, "input.conf:2: @include:");
    fails(SYSTEM "@include gone\n", MDS_E_INPUT, "input.conf:2: an include is written @include \"file\"");
    fails(SYSTEM "run = { @include \"part.conf\"\n };", MDS_E_INPUT, "first on its line");
    fails(SYSTEM "@include \"input.conf\"\n", MDS_E_INPUT, "does a file include itself?");
}

static void test_set_overrides_and_names_itself(void)
{
    mds_config c;
    char      *path = NULL;

    TEST_OK(read_with(SYSTEM "run = { steps = 5; };", "run.steps=5e6", "output.name=two words", &c));
    TEST_TRUE(c.run.steps == 5000000 && !strcmp(c.output.name, "two words"));
    TEST_TRUE(!strcmp(mds_config_origin(&c, "run.steps"), "--set") && mds_config_given(&c, "output.name"));
    TEST_OK(mds_config_path(&c, "x/y.gro", &path));
    TEST_TRUE(!strncmp(path, dir, strlen(dir)) && strstr(path, "/x/y.gro"));
    mds_free(path);
    mds_config_free(&c);

    TEST_OK(read_with(SYSTEM, "system.defines=[\"A\", \"B\"]", " pme.grid = [40, 40, 40] ", &c));
    TEST_TRUE(c.system.defines.n == 2 && c.pme.grid[1] == 40);
    mds_config_free(&c);
    TEST_OK(read_with(SYSTEM, "system.box=[3.0, 3.0, 3.0]", "nonbonded.coulomb=reaction-field", &c));
    TEST_TRUE(c.system.n_box == 3 && c.nonbonded.coulomb == MDS_COULOMB_REACTION_FIELD);
    mds_config_free(&c);
    TEST_OK(read_with(SYSTEM, "system.box=none", "output.name=\"quoted\"", &c));
    TEST_TRUE(c.system.box_source == MDS_BOX_NONE && !strcmp(c.output.name, "quoted"));
    mds_config_free(&c);
    TEST_OK(read_with(SYSTEM, "run.steps=1", "run.steps=2", &c)); // the later one wins
    TEST_TRUE(c.run.steps == 2);
    mds_config_free(&c);

    set_fails("run.step=1", MDS_E_INPUT, "unknown key; did you mean 'run.steps'?");
    set_fails("steps=1", MDS_E_INPUT, "did you mean 'run.steps'?");
    set_fails("run.steps", MDS_E_USAGE, "write --set group.key=value");
    set_fails("run.steps=", MDS_E_USAGE, "there is no value");
    set_fails("run.steps=many", MDS_E_INPUT, "not understood");
    set_fails("run.steps=5000000000", MDS_E_INPUT, "write 5000000000L");
    set_fails("run.steps=1; dt = 3", MDS_E_INPUT, "not understood");
    set_fails("run.dt=9", MDS_E_INPUT, "run.dt = 9 ps is outside of");
    set_fails("run.dt=\n@include \"x\"", MDS_E_INPUT, "there is no @include here");
    set_fails("nonbonded.coulomb=pm", MDS_E_INPUT, "did you mean \"pme\"?");
}

// --------------------------------------------------------------------------------------------------- rules

static void test_rules_between_keys(void)
{
    mds_config c;

    TEST_OK(read_with(SYSTEM, "run.integrator=langevin", NULL, &c));
    TEST_TRUE(c.thermostat.kind == MDS_THERMOSTAT_LANGEVIN && c.run.remove_com == MDS_COM_NONE);
    TEST_TRUE(!strcmp(mds_config_origin(&c, "thermostat.kind"), "follows from run.integrator"));
    TEST_TRUE(!strcmp(mds_config_origin(&c, "run.integrator"), "--set"));
    mds_config_free(&c);
    TEST_OK(read_with(SYSTEM, "thermostat.kind=langevin", "run.remove_com=linear", &c));
    TEST_TRUE(c.run.integrator == MDS_INTEGRATOR_LANGEVIN && c.run.remove_com == MDS_COM_LINEAR);
    mds_config_free(&c);
    TEST_FAILS(read_with(SYSTEM, "thermostat.kind=langevin", "run.integrator=verlet", &c), MDS_E_INPUT,
               "same thing");
    TEST_FAILS(read_with(SYSTEM, "thermostat.kind=v-rescale", "run.integrator=langevin", &c), MDS_E_INPUT,
               "same thing");
    TEST_FAILS(read_with(SYSTEM, "thermostat.kind=none", "run.integrator=langevin", &c), MDS_E_INPUT,
               "same thing");
    TEST_OK(read_with(SYSTEM, "thermostat.kind=v-rescale", "run.integrator=minimize", &c));
    TEST_TRUE(c.thermostat.kind == MDS_THERMOSTAT_NONE);
    mds_config_free(&c);

    TEST_OK(read_with(SYSTEM, "pme.beta=3.12", NULL, &c));
    TEST_TRUE(c.pme.split == MDS_SPLIT_GAUSSIAN);
    mds_config_free(&c);
    TEST_FAILS(read_with(SYSTEM, "pme.beta=3.12", "pme.split=prolate", &c), MDS_E_INPUT, "Gaussian split");
    TEST_FAILS(read_with(SYSTEM, "pme.c=10", "pme.split=gaussian", &c), MDS_E_INPUT, "prolate split");
    TEST_FAILS(read_with(SYSTEM, "pme.c=10", "pme.beta=3", &c), MDS_E_INPUT, "give one of them");

    TEST_FAILS(read_with(SYSTEM, "nonbonded.lj_modifier=force-switch", "nonbonded.lj_switch=0.9", &c),
               MDS_E_INPUT, "below the Lennard-Jones cut-off");
    TEST_FAILS(read_with(SYSTEM, "system.generate=water", NULL, &c), MDS_E_INPUT, "excludes");
    TEST_FAILS(read_conf("system = { generate = \"water\"; };", &c), MDS_E_INPUT, "needs system.atoms");
    TEST_FAILS(read_conf("system = { topology = \"t\"; };", &c), MDS_E_INPUT, "nothing to simulate");
    TEST_OK(read_conf("system = { generate = \"water\"; atoms = 3000; };", &c));
    TEST_TRUE(!strcmp(c.system.generate, "water") && c.system.atoms == 3000);
    mds_config_free(&c);
    TEST_FAILS(read_with(SYSTEM, "output.name=dir/", NULL, &c), MDS_E_INPUT, "names a directory");
    TEST_FAILS(read_with(SYSTEM, "output.name=\"\"", NULL, &c), MDS_E_INPUT, "must not be empty");
    TEST_FAILS(read_with(SYSTEM, "cost.max_cost=5", NULL, &c), MDS_E_INPUT, "needs cost.price_per_hour");
    // a broken value does not bring a second message from a rule that needs it
    TEST_FAILS(read_with(SYSTEM, "nonbonded.cutoff=1e9", "nonbonded.lj_modifier=force-switch", &c),
               MDS_E_INPUT, "cutoff");
    TEST_INT(lines_of(mds_error_text()), 1);
}

static void test_what_is_not_there_is_refused_by_name(void)
{
    mds_config c;

    TEST_FAILS(read_with(SYSTEM, "thermostat.kind=nose-hoover", NULL, &c), MDS_E_UNSUPPORTED,
               "available: \"none\", \"v-rescale\"");
    TEST_FAILS(read_with(SYSTEM, "thermostat.kind=andersen", NULL, &c), MDS_E_UNSUPPORTED, "available");
    TEST_FAILS(read_with(SYSTEM, "thermostat.kind=berendsen", NULL, &c), MDS_E_UNSUPPORTED, "available");
    TEST_FAILS(read_with(SYSTEM, "barostat.kind=monte-carlo", NULL, &c), MDS_E_UNSUPPORTED,
               "available: \"none\", \"c-rescale\"");
    TEST_FAILS(read_with(SYSTEM, "barostat.kind=parrinello-rahman", NULL, &c), MDS_E_UNSUPPORTED,
               "available");
    TEST_FAILS(read_with(SYSTEM, "barostat.coupling=anisotropic", "barostat.kind=c-rescale", &c),
               MDS_E_UNSUPPORTED, "isotropic");
    TEST_FAILS(read_with(SYSTEM, "backend.deterministic=ranks", NULL, &c), MDS_E_UNSUPPORTED,
               "available: \"yes\", \"no\"");
    TEST_FAILS(read_with(SYSTEM, "backend.precision=double", "backend.kind=cpu", &c), MDS_E_UNSUPPORTED,
               "only backend.kind = \"ref\" and \"cuda\"");
    TEST_OK(read_with(SYSTEM, "backend.precision=double", "backend.kind=cuda", &c));
    TEST_TRUE(c.backend.kind == MDS_KIND_CUDA && c.backend.precision == MDS_PRECISION_DOUBLE);
    mds_config_free(&c);
    TEST_OK(read_with(SYSTEM, "backend.precision=double", NULL, &c));
    TEST_TRUE(c.backend.kind == MDS_KIND_REF);
    mds_config_free(&c);
}

int main(void)
{
    char command[600];

    if (!mkdtemp(dir)) return 1;
    test_defaults_are_those_of_the_contract();
    test_every_key_reaches_its_field();
    test_values_read_back();
    test_mistakes_name_file_line_and_the_right_key();
    test_words_that_libconfig_misreads_are_refused();
    test_all_errors_are_reported_together_in_order();
    test_reading_goes_on_after_a_syntax_error();
    test_files_that_are_no_conf();
    test_includes_are_relative_to_their_file_and_named_in_errors();
    test_set_overrides_and_names_itself();
    test_rules_between_keys();
    test_what_is_not_there_is_refused_by_name();
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command)) fprintf(stderr, "cannot remove %s\n", dir);
    return test_end();
}
