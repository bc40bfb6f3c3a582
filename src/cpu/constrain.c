// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu.h"
