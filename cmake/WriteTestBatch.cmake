# Writes BATCH, which holds the texts of FILES one after the other; their paths in messages are relative to ROOT. What
# stands in the unnamed namespace of a file is put into a namespace of its own, so that files that use the same names stay
# apart, and a macro ends with the file that defines it.
cmake_minimum_required(VERSION 3.25)
set(batch "")
foreach(file IN LISTS FILES)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${ROOT} OUTPUT_VARIABLE shown)
  string(REGEX REPLACE "[^A-Za-z0-9]" "_" name "${shown}")
  file(READ ${file} text)
  string(REPLACE "\nnamespace {\n" "\nnamespace of_${name} { namespace {\n" text "${text}")
  string(REPLACE "\n}  // namespace\n" "\n}}  // namespace\n" text "${text}")
  string(APPEND batch "#line 1 \"${shown}\"\n${text}")
  string(REGEX MATCHALL "\n#define [A-Za-z_0-9]+" macros "${text}")
  foreach(macro IN LISTS macros)
    string(REPLACE "\n#define " "#undef " undefine "${macro}")
    string(APPEND batch "${undefine}\n")
  endforeach()
endforeach()
file(WRITE ${BATCH} "${batch}")
