// Everything that <sm_30_intrinsics.h> gives is already in the device header.
#pragma once
#include "warploom_cuda.h"
