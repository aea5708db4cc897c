# One target for each layer: warploom_layer(isa DEPS base) builds warploom_isa from every .cpp in the folder.
add_library(warploom_options INTERFACE)
target_compile_options(warploom_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror)
target_include_directories(warploom_options INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/generated)
if(WARPLOOM_SANITIZE)
  target_compile_options(warploom_options INTERFACE -fsanitize=${WARPLOOM_SANITIZE} -fno-omit-frame-pointer -g1)
  target_link_options(warploom_options INTERFACE -fsanitize=${WARPLOOM_SANITIZE})
endif()

function(warploom_layer name)
  cmake_parse_arguments(ARG "" "" "DEPS;EXTRA" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(warploom_${name} STATIC ${sources} ${ARG_EXTRA})
  target_link_libraries(warploom_${name} PUBLIC warploom_options ${ARG_DEPS})
endfunction()
