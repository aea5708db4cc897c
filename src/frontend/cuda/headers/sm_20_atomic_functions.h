// Everything that <sm_20_atomic_functions.h> gives is already in the device header.
#pragma once
#include "warploom_cuda.h"
