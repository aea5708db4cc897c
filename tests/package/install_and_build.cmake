# Installs the build into an empty prefix, builds the consumer against it and runs it.
# cmake -DBUILD= -DSOURCE= -DWORK= -DCOMPILER= -DSANITIZE= -P install_and_build.cmake
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what} failed:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
step("installing" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
set(flags)
if(SANITIZE)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
step("configuring the consumer" ${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${WORK}/build -G Ninja
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix ${flags})
step("building the consumer" ${CMAKE_COMMAND} --build ${WORK}/build)
step("running the consumer" ${WORK}/build/consumer)
if(NOT output MATCHES "consumer passed")
  message(FATAL_ERROR "the consumer printed:\n${output}")
endif()
