// Marks what libwarploom exports; everything else has hidden visibility.
#pragma once

#define WARPLOOM_API __attribute__((visibility("default")))
