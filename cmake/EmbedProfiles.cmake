# Writes every profiles/*.toml as a C++ initializer: cmake -DINPUTS=a;b -DOUTPUT=f.inc -P EmbedProfiles.cmake
set(content "// Generated from profiles/*.toml by cmake/EmbedProfiles.cmake.\n")
foreach(file IN LISTS INPUTS)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND content "{\"${name}\", R\"toml(${text})toml\"},\n")
endforeach()
file(WRITE ${OUTPUT} "${content}")
