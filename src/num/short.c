// SPDX-License-Identifier: Apache-2.0
#include "num/num.h"
mds_status mds_short_ewald(const mds_split *s,bool shift,double tol,mds_short *out){(void)shift;(void)tol;*out=(mds_short){.cut=s->cut};return MDS_OK;}
void mds_short_reaction_field(double cut,double e,mds_short *out){(void)e;*out=(mds_short){.cut=cut};}
void mds_short_cutoff(double cut,bool shift,mds_short *out){(void)shift;*out=(mds_short){.cut=cut};}
