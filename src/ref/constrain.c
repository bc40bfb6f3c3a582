// SPDX-License-Identifier: Apache-2.0
#include "ref/ref.h"
