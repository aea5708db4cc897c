# Embeds profiles/*.toml into the isa layer, so that no file is looked up at run time.
file(GLOB profiles CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/profiles/*.toml)
set(profiles_inc ${PROJECT_BINARY_DIR}/generated/isa/profiles.inc)
add_custom_command(
  OUTPUT ${profiles_inc}
  COMMAND ${CMAKE_COMMAND} "-DINPUTS=${profiles}" -DOUTPUT=${profiles_inc}
          -P ${PROJECT_SOURCE_DIR}/cmake/EmbedProfiles.cmake
  DEPENDS ${profiles} ${PROJECT_SOURCE_DIR}/cmake/EmbedProfiles.cmake
  COMMENT "Embedding GPU profiles"
  VERBATIM)
target_sources(warploom_isa PRIVATE ${profiles_inc})
target_link_libraries(warploom_isa PRIVATE tomlplusplus::tomlplusplus fmt::fmt)
