// All of the public API.
#pragma once

#include "warploom/about.hpp"
#include "warploom/array.hpp"
#include "warploom/code_cache.hpp"
#include "warploom/device.hpp"
#include "warploom/dim3.hpp"
#include "warploom/error.hpp"
#include "warploom/export.hpp"
#include "warploom/graph.hpp"
#include "warploom/linker.hpp"
#include "warploom/memory.hpp"
#include "warploom/module.hpp"
#include "warploom/ndarray.hpp"
#include "warploom/scan.hpp"
#include "warploom/stream.hpp"
#include "warploom/texture.hpp"
#include "warploom/view.hpp"
