# Writes TARGET, a C++ source that holds text files as strings: each file of FILES under its own name, the word before
# the first ".". HEADER declares them, in NAMESPACE.
cmake_minimum_required(VERSION 3.25)
set(text "// Made by cmake/EmbedTexts.cmake.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} content)
  if(content MATCHES "\\)embedded\"")
    message(FATAL_ERROR "${path} holds the end of the string that it becomes.")
  endif()
  string(APPEND text "\nconst std::string_view ${name} = R\"embedded(${content})embedded\";\n")
endforeach()
string(APPEND text "\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${TARGET} "${text}")
