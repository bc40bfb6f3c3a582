// SPDX-License-Identifier: Apache-2.0
// The preprocessor of topologies: each feature, each message, and where lines are said to come from.
#include "read_text.h"

#include <stdlib.h>

static mds_top_lines lines;

static mds_status run(const char *text)
{
    const mds_read_request request = {.topology = put("topol.top", text)};

    mds_top_lines_free(&lines);
    return mds_preprocess(&request, &lines);
}

#define TEST_LINE(k, want)                                                                                   \
    do {                                                                                                     \
        TEST_TRUE((k) < lines.n);                                                                            \
        if ((k) < lines.n && strcmp(lines.line[k].text, want)) {                                             \
            fprintf(stderr, "%s:%d: line %d is \"%s\", wanted \"%s\"\n", __FILE__, __LINE__, k,              \
                    lines.line[k].text, want);                                                               \
            test_failures++;                                                                                 \
        }                                                                                                    \
    } while (0)

static void comments_and_continuation(void)
{
    TEST_OK(run("; all comment\n\n[ a ] ; rest\n  * starred\n1 2\t3 ;x\n"));
    TEST_INT(lines.n, 2);
    TEST_LINE(0, "[ a ]");
    TEST_LINE(1, "1 2\t3");
    TEST_INT(lines.line[1].line, 5);
    // numbers of a CMAP stand at the very end and start of their lines: the end of a line is a blank
    TEST_OK(run("24 24\\\n1.5 2.5\\  \n3.5\nnext\n"));
    TEST_INT(lines.n, 2);
    TEST_LINE(0, "24 24 1.5 2.5 3.5");
    TEST_LINE(1, "next");
    TEST_INT(lines.line[1].line, 4);
    TEST_OK(run("a\r\nb \\\r\nc\r\nlast line without end"));
    TEST_INT(lines.n, 3);
    TEST_LINE(1, "b  c");
    TEST_LINE(2, "last line without end");
    // harmless art in comments stays harmless, but a hidden data line is an error
    TEST_OK(run("; /\\/\\\n; \\/\\/\na\n"));
    TEST_INT(lines.n, 1);
    TEST_FAILS(run("a 1 ; text \\\nb 2\n"), MDS_E_INPUT, "topol.top:1: a comment that ends in a backslash");
    TEST_FAILS(run("a \\\n#ifdef X\n"), MDS_E_INPUT, "interrupts a line");
    TEST_OK(run("")); // an empty file is a file
    TEST_INT(lines.n, 0);
}

static void macros(void)
{
    TEST_OK(run("#define gb_1 0.1 2.0e5 ; note\n#define EMPTY\n1 2 2 gb_1\ngb_10 gb_1x xgb_1 -gb_1\nEMPTY\n"));
    TEST_LINE(0, "1 2 2 0.1 2.0e5");
    TEST_LINE(1, "gb_10 gb_1x xgb_1 -gb_1"); // only whole words; '-' belongs to a word
    TEST_LINE(2, "EMPTY");                   // no value: nothing to put in its place
    TEST_OK(run("#define A B 1\n#define B 7\nA\n#undef B\nA\n#define B 8\nB\n"));
    TEST_LINE(0, "7 1");
    TEST_LINE(1, "B 1");
    TEST_LINE(2, "8");
    TEST_OK(run("#define A A B\n#define B A\nA\n")); // never inside itself
    TEST_LINE(0, "A A");
    TEST_FAILS(run("#define\n"), MDS_E_INPUT, "topol.top:1: #define needs a name");
}

static void endless_macros(void)
{
    mds_text text = {0};
    int      k;

    for (k = 0; k < 60; k++) mds_text_add(&text, "#define M%d M%d M%d\n", k, k + 1, k + 1);
    mds_text_add(&text, "M0\n");
    TEST_FAILS(run(text.s), MDS_E_INPUT, "topol.top:61: macros expand this line to more than");
    text.n = 0;
    for (k = 0; k < 200; k++) mds_text_add(&text, "#define M%d M%d\n", k, k + 1);
    mds_text_add(&text, "M0\n");
    TEST_FAILS(run(text.s), MDS_E_INPUT, "macros nested more than");
    mds_text_free(&text);
}

static void conditions(void)
{
    TEST_OK(run("#ifdef X\nno\n#else\nyes\n#endif\n#ifndef X\nyes2\n#endif\n"));
    TEST_INT(lines.n, 2);
    TEST_LINE(1, "yes2");
    TEST_OK(run("#define X\n#ifdef X\n a\n#ifdef Y\nb\n#else\nc\n#endif\n# else\n#ifdef X\nd\n#else\ne\n#endif\n#endif\nf\n"));
    TEST_INT(lines.n, 3);
    TEST_LINE(0, "a");
    TEST_LINE(1, "c");
    TEST_LINE(2, "f");
    TEST_OK(run("#ifdef X\n#error no\n#include \"nowhere\"\n#if 1\nq\n#endif\n1 \\\n#endif\nz\n")); // skipped text is not looked at
    TEST_INT(lines.n, 1);
    TEST_FAILS(run("\n#endif\n"), MDS_E_INPUT, "topol.top:2: #endif without #ifdef");
    TEST_FAILS(run("#else\n"), MDS_E_INPUT, "topol.top:1: #else without #ifdef");
    TEST_FAILS(run("a\n#ifdef X\nb\n"), MDS_E_INPUT, "topol.top:2: #ifdef without #endif");
    TEST_FAILS(run("#if 1\n#endif\n"), MDS_E_INPUT, "topol.top:1: #if is not part of GROMACS' preprocessor");
    TEST_FAILS(run("#ifdef\n#endif\n"), MDS_E_INPUT, "#ifdef needs a name");
    TEST_FAILS(run("#error choose a model\n"), MDS_E_INPUT, "topol.top:1: #error choose a model");
    TEST_FAILS(run("#pragma x\n"), MDS_E_INPUT, "unknown preprocessor directive #pragma");
}

static void defines_of_the_request(void)
{
    const char            *defines[] = {"POSRES", "FC=1000 900", "-DOLD"}, *bad[] = {"a b"};
    const mds_read_request request = {
        .topology = put("topol.top", "#ifdef POSRES\n1 FC\n#endif\n#ifdef OLD\n2\n#endif\n"), .defines = defines, .n_defines = 3};
    mds_read_request wrong = request;

    mds_top_lines_free(&lines);
    TEST_OK(mds_preprocess(&request, &lines));
    TEST_INT(lines.n, 2);
    TEST_LINE(0, "1 1000 900");
    wrong.defines = bad;
    wrong.n_defines = 1;
    mds_top_lines_free(&lines);
    TEST_FAILS(mds_preprocess(&wrong, &lines), MDS_E_INPUT, "system.defines");
}

static void includes(void)
{
    char        dir[400];
    const char *list[1] = {dir};
    mds_read_request request;

    put("ff/a.itp", "in a\n#include \"b.itp\"\n#define A 1\n");
    put("ff/b.itp", "in b\n");
    put("extra/c.itp", "in c\n");
    put("lib/d.itp", "in d\n");
    put("data/top/e.itp", "in e\n");
    TEST_OK(run("#include \"ff/a.itp\"\n  #include <ff/b.itp>\nA\n"));
    TEST_INT(lines.n, 4);
    TEST_LINE(1, "in b"); // beside the including file
    TEST_LINE(3, "1");    // macros live on after the file
    TEST_INT(lines.n_files, 4);
    TEST_TRUE(strstr(lines.files[lines.line[1].file], "ff/b.itp") != NULL);
    TEST_FAILS(run("x\n#include \"gone.itp\"\n"), MDS_E_MISSING, "topol.top:2: cannot find the included file \"gone.itp\"");
    TEST_TRUE(strstr(mds_error_text(), work) && strstr(mds_error_text(), "/usr/share/gromacs/top/gone.itp"));
    TEST_FAILS(run("#include gone.itp\n"), MDS_E_INPUT, "needs a file name in quotes");
    TEST_FAILS(run("#include \"topol.top\"\n"), MDS_E_INPUT, "does a file include itself");
    TEST_FAILS(run("#include \"ff\"\n"), MDS_E_INPUT, "is not a file that can be read");

    snprintf(dir, sizeof dir, "%s/extra", work);
    request = (mds_read_request){.topology = put("topol.top", "#include \"c.itp\"\n#include \"d.itp\"\n#include \"e.itp\"\n"),
                                 .includes = list,
                                 .n_includes = 1};
    snprintf(dir, sizeof dir, "/nowhere:%s/lib", work);
    setenv("GMXLIB", dir, 1);
    snprintf(dir, sizeof dir, "%s/data", work);
    setenv("GMXDATA", dir, 1);
    snprintf(dir, sizeof dir, "%s/extra", work);
    mds_top_lines_free(&lines);
    TEST_OK(mds_preprocess(&request, &lines));
    TEST_INT(lines.n, 3);
    unsetenv("GMXLIB");
    unsetenv("GMXDATA");
    // an error inside an include names that file
    put("ff/bad.itp", "ok\n#error here\n");
    TEST_FAILS(run("#include \"ff/bad.itp\"\n"), MDS_E_INPUT, "ff/bad.itp:2: #error here");
    put("ff/open.itp", "#ifdef X\n");
    TEST_FAILS(run("#include \"ff/open.itp\"\n#endif\n"), MDS_E_INPUT, "ff/open.itp:1: #ifdef without #endif");
}

int main(void)
{
    mds_read_request request = {.topology = "/nowhere/topol.top"};

    work_begin();
    comments_and_continuation();
    macros();
    endless_macros();
    conditions();
    defines_of_the_request();
    includes();
    mds_top_lines_free(&lines);
    TEST_FAILS(mds_preprocess(&request, &lines), MDS_E_MISSING, "/nowhere/topol.top: cannot open");
    mds_top_lines_free(&lines);
    work_end();
    return test_end();
}
