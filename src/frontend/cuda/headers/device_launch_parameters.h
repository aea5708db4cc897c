// Everything that <device_launch_parameters.h> gives is already in the device header.
#pragma once
#include "warploom_cuda.h"
