# Run at installation: copies the libraries that `module` and `library` need into warploom/lib, with their licences.
file(GET_RUNTIME_DEPENDENCIES
  LIBRARIES ${module} ${library}
  RESOLVED_DEPENDENCIES_VAR found
  UNRESOLVED_DEPENDENCIES_VAR missing
  # Every system that Python runs on has these, and two versions of one of them in a process are asking for trouble.
  PRE_EXCLUDE_REGEXES "^ld-linux" "^libc\\.so" "^libm\\.so" "^libdl\\.so" "^libpthread\\.so" "^librt\\.so"
    "^libstdc\\+\\+\\.so" "^libgcc_s\\.so" "^libz\\.so" "^libwarploom\\.so")
if(missing)
  message(FATAL_ERROR "libraries that the package needs are not there: ${missing}")
endif()

find_program(DPKG_QUERY dpkg-query)
set(destination "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/warploom/lib")
file(MAKE_DIRECTORY "${destination}/licenses")
foreach(path IN LISTS found)
  # Loaders look for the name without the version, which is a link that a wheel cannot hold.
  get_filename_component(name "${path}" NAME)
  file(REAL_PATH "${path}" real)
  message(STATUS "Bundling ${name} of ${real}")
  file(COPY_FILE "${real}" "${destination}/${name}" ONLY_IF_DIFFERENT)
  if(DPKG_QUERY)
    # Packages may know a library by its path from before /lib became a link to /usr/lib.
    string(REGEX REPLACE "^/usr/" "/" short "${real}")
    execute_process(COMMAND ${DPKG_QUERY} -S "${real}" "${short}" OUTPUT_VARIABLE owner ERROR_QUIET)
    string(REGEX MATCH "^[^:,]+" owner "${owner}")
    if(owner AND EXISTS "/usr/share/doc/${owner}/copyright")
      file(COPY_FILE "/usr/share/doc/${owner}/copyright" "${destination}/licenses/${owner}.txt" ONLY_IF_DIFFERENT)
    endif()
  endif()
endforeach()
