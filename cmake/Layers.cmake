# One target for each layer: warploom_layer(isa DEPS base) builds warploom_isa from every .cpp in the folder.
add_library(warploom_options INTERFACE)
target_compile_options(warploom_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105651: -Wrestrict misfires on std::string's operator+ at -O2 and above.
  target_compile_options(warploom_options INTERFACE -Wno-restrict -Wno-stringop-overflow)
endif()
target_include_directories(warploom_options INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/generated)
if(WARPLOOM_SANITIZE)
  # vptr needs type information that LLVM's library does not promise; -O1 keeps stacks readable and builds fast.
  target_compile_options(warploom_options INTERFACE
    -fsanitize=${WARPLOOM_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer -g1 -O1)
  target_compile_definitions(warploom_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(warploom_options INTERFACE -fsanitize=${WARPLOOM_SANITIZE})
endif()
if(WARPLOOM_FUZZ)
  target_compile_options(warploom_options INTERFACE -fsanitize=fuzzer-no-link,address -fno-omit-frame-pointer)
  target_link_options(warploom_options INTERFACE -fsanitize=address)
endif()

function(warploom_layer name)
  cmake_parse_arguments(ARG "" "" "DEPS;EXTRA" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(sources OR ARG_EXTRA)
    add_library(warploom_${name} STATIC ${sources} ${ARG_EXTRA})
    target_link_libraries(warploom_${name} PUBLIC warploom_options ${ARG_DEPS})
  else()
    add_library(warploom_${name} INTERFACE)
    target_link_libraries(warploom_${name} INTERFACE warploom_options ${ARG_DEPS})
  endif()
endfunction()
