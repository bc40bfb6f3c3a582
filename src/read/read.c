// SPDX-License-Identifier: Apache-2.0
#include "read/read.h"
mds_status mds_read(const mds_read_request *r, mds_system *s, mds_state *st, mds_read_report *rep){(void)r;(void)s;(void)st;(void)rep;MDS_FAIL(MDS_E_INTERNAL,"reader missing");}
void mds_read_report_free(mds_read_report *r){mds_free(r->text);}
