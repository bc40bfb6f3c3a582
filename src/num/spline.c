// SPDX-License-Identifier: Apache-2.0
#include "num/num.h"
void mds_spline(int order,double w,double *t,double *dt){(void)order;(void)w;(void)t;(void)dt;}
void mds_spline_moduli(int n,int order,double *b2){(void)n;(void)order;(void)b2;}
