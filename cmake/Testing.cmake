# One ctest for each case of a GoogleTest binary, labelled with the intent (the folder, unless LABEL says otherwise):
# warploom_test(name SOURCES a.cpp ... DEPS warploom_isa ... [LABEL label] [DATA folder] [WHOLE]).
# They run without the disk cache, unless a test turns it on. DATA adds the definition WARPLOOM_TEST_DATA with the
# absolute path; WHOLE registers the binary as one test.
find_package(GTest REQUIRED)
include(GoogleTest)

function(warploom_test name)
  cmake_parse_arguments(ARG "WHOLE" "LABEL;DATA;TIMEOUT" "SOURCES;DEPS;DEFINITIONS" ${ARGN})
  if(NOT ARG_LABEL)
    get_filename_component(ARG_LABEL ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(WARPLOOM_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE warploom_options ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  target_compile_options(${name} PRIVATE -O1)  # optimising the tests themselves would take most of the build
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINITIONS})
  if(ARG_DATA)
    get_filename_component(data ${ARG_DATA} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_definitions(${name} PRIVATE WARPLOOM_TEST_DATA="${data}")
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/tests)
  set_property(GLOBAL APPEND PROPERTY WARPLOOM_TEST_TARGETS ${name})
  if(ARG_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT WARPLOOM_CACHE=0)
  else()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT}
      ENVIRONMENT WARPLOOM_CACHE=0)
  endif()
endfunction()
