// Everything that <texture_fetch_functions.h> gives is already in the device header.
#pragma once
#include "warploom_cuda.h"
