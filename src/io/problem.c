// SPDX-License-Identifier: Apache-2.0
// The list of everything that is wrong with a conf: collected in any order, reported together, line by line.
#include "io/config.h"

void mds_problem_add(mds_problems *problems, int64_t order, mds_status status, const char *fmt, ...)
{
    mds_text text = {0};
    va_list  args;

    va_start(args, fmt);
    mds_text_add_v(&text, fmt, args);
    va_end(args);
    if (text.failed ||
        mds_grow(&problems->item, &problems->capacity, problems->n + 1, sizeof *problems->item) != MDS_OK) {
        mds_text_free(&text);
        problems->lost = true;
        return;
    }
    problems->item[problems->n++] = (mds_problem){.order = order, .status = status, .text = text.s};
}

bool mds_problem_at(const mds_problems *problems, int64_t order)
{
    size_t i;

    for (i = 0; i < problems->n_scanned; i++)
        if (problems->item[i].order == order) return true;
    return false;
}

/// Insertion sort: stable, and the lists are short or already in order.
static void sort_problems(mds_problems *problems)
{
    size_t i, j;

    for (i = 1; i < problems->n; i++) {
        const mds_problem one = problems->item[i];

        for (j = i; j > 0 && problems->item[j - 1].order > one.order; j--)
            problems->item[j] = problems->item[j - 1];
        problems->item[j] = one;
    }
}

/// Which of several statuses the whole gets: the later in this list.
static int weight(mds_status status)
{
    static const mds_status order[] = {MDS_OK,      MDS_E_UNSUPPORTED, MDS_E_MISSING,
                                       MDS_E_USAGE, MDS_E_INPUT,       MDS_E_MEMORY};
    int                     k = (int)(sizeof order / sizeof *order) - 1;

    while (k > 0 && order[k] != status) k--;
    return k;
}

mds_status mds_problems_report(mds_problems *problems)
{
    enum { SHOWN = 50, ROOM = 12000 }; // what the record of the message holds
    mds_text   text = {0};
    mds_status status = MDS_OK;
    size_t     i;

    MDS_CHECK(!problems->lost, MDS_E_MEMORY, "out of memory for messages");
    sort_problems(problems);
    for (i = 0; i < problems->n; i++)
        if (weight(problems->item[i].status) > weight(status)) status = problems->item[i].status;
    for (i = 0; i < problems->n && i < SHOWN && text.n < ROOM; i++)
        mds_text_add(&text, "%s%s", i ? "\n" : "", problems->item[i].text);
    if (i < problems->n) mds_text_add(&text, "\n... and %zu more", problems->n - i);
    if (text.failed)
        status = mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory for messages");
    else if (status != MDS_OK)
        mds_fail(status, __FILE__, __LINE__, "%s", text.s);
    mds_text_free(&text);
    return status;
}

void mds_problems_free(mds_problems *problems)
{
    size_t i;

    for (i = 0; i < problems->n; i++) mds_free(problems->item[i].text);
    mds_free(problems->item);
    mds_free(problems->bad);
    *problems = (mds_problems){0};
}
