# Every outside library, found once; the packages that provide them are listed in tools/packages.txt.
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(Threads REQUIRED)

# LLVM 22 is what Warploom is built and tested with.
find_package(LLVM REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/llvm NO_DEFAULT_PATH)
find_program(WARPLOOM_CLANG NAMES clang-22 HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)

separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_library(warploom_llvm INTERFACE)
target_include_directories(warploom_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_options(warploom_llvm INTERFACE ${llvm_definitions})
target_link_libraries(warploom_llvm INTERFACE LLVM)
target_link_directories(warploom_llvm INTERFACE ${LLVM_LIBRARY_DIRS})

find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers are cached only with this leave.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()
