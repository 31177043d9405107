# Headers that are parsed once for many targets: half of what a small file takes to compile is the standard library's
# headers.
#
#   msrun_precompiled(<name> [EXECUTABLES] OPTIONS <target>... HEADERS <header>...)
#
# declares the target <name>; a target that is compiled with the same options, in a folder with the same options, then
# says target_precompile_headers(<target> REUSE_FROM <name>). EXECUTABLES: those targets are executables, which the
# compiler makes other code for than for libraries.
#
# What is listed here is visible in every file of those targets, so headers of ours belong in a list only if all of its
# users may include them. Files still include all they need: the presets debug, check and fuzz precompile none.
set(MSRUN_STANDARD_HEADERS
  <algorithm> <array> <charconv> <cmath> <complex> <cstdint> <cstring> <filesystem> <functional> <limits> <map> <memory>
  <numeric> <optional> <span> <stdexcept> <string> <string_view> <system_error> <tuple> <unordered_map> <utility>
  <variant> <vector>)

# json.hpp without its literals ("..."_json), which none of our files uses. They call the parser from functions that are no
# templates, and a precompiled header does not hold what such functions instantiate: every file would do it again, which
# takes longer than all else that a small file costs. Where json.hpp looks otherwise, it is taken as it is.
find_path(NLOHMANN_JSON_INCLUDE_DIR nlohmann/json.hpp REQUIRED)
set(MSRUN_JSON_HEADER <nlohmann/json.hpp>)
set(json ${NLOHMANN_JSON_INCLUDE_DIR}/nlohmann/json.hpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${json})
file(READ ${json} text)
set(literals_end "}  // namespace literals\n")
string(FIND "${text}" "\ninline namespace literals\n" begin)
string(FIND "${text}" "${literals_end}" end)
if(end GREATER begin AND begin GREATER 0)
  string(LENGTH "${literals_end}" length)
  math(EXPR end "${end} + ${length}")
  string(SUBSTRING "${text}" 0 ${begin} before)
  string(SUBSTRING "${text}" ${end} -1 after)
  string(REGEX REPLACE "\n *using nlohmann::literals::json_literals::operator[^\n]*" "" after "${after}")
  set(MSRUN_JSON_HEADER ${CMAKE_BINARY_DIR}/precompiled/nlohmann/json.hpp)
  file(CONFIGURE OUTPUT ${MSRUN_JSON_HEADER} CONTENT "${before}\n${after}" @ONLY)
endif()

function(msrun_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 headers "EXECUTABLES" "" "OPTIONS;HEADERS")
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  if(headers_EXECUTABLES)
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/precompiled)
  else()
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  endif()
  target_link_libraries(${name} PRIVATE ${headers_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${headers_HEADERS})
endfunction()

msrun_precompiled(msrun_headers OPTIONS msrun_options HEADERS ${MSRUN_STANDARD_HEADERS} ${MSRUN_JSON_HEADER})
# GCC 14 refuses precompiled headers of another optimisation level.
msrun_precompiled(msrun_cold_headers OPTIONS msrun_options msrun_cold_options
  HEADERS ${MSRUN_STANDARD_HEADERS} ${MSRUN_JSON_HEADER})
