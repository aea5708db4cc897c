// Everything that <host_defines.h> gives is already in the device header.
#pragma once
#include "warploom_cuda.h"
