# Writes TARGET, a C++ source that holds the Python scripts of op_generate as strings: each file of FILES under its own
# name, the word before ".py".
cmake_minimum_required(VERSION 3.25)
set(text "// Made by cmake/EmbedTemplates.cmake.\n#include \"tools/op_generate/templates.h\"\n\nnamespace msrun::op_generate {\n")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} script)
  if(script MATCHES "\\)py_text\"")
    message(FATAL_ERROR "${path} holds the end of the string that it becomes.")
  endif()
  string(APPEND text "\nconst std::string_view ${name} = R\"py_text(${script})py_text\";\n")
endforeach()
string(APPEND text "\n}  // namespace msrun::op_generate\n")
file(WRITE ${TARGET} "${text}")
