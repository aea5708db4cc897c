// Everything that <channel_descriptor.h> gives is already in the device header.
#pragma once
#include "warploom_cuda.h"
