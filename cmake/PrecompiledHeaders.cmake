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
# users may include them. Files still include all they need: only the presets dev and release precompile headers.
set(MSRUN_STANDARD_HEADERS
  <algorithm> <array> <charconv> <cmath> <complex> <cstdint> <cstring> <filesystem> <functional> <limits> <map> <memory>
  <numeric> <optional> <span> <stdexcept> <string> <string_view> <system_error> <tuple> <unordered_map> <utility>
  <variant> <vector>)

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

msrun_precompiled(msrun_headers OPTIONS msrun_options HEADERS ${MSRUN_STANDARD_HEADERS} <nlohmann/json.hpp>)
