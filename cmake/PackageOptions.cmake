# Read by cpack for each kind of package. Only archives carry libraries, and they are unpacked anywhere; a .deb says which
# packages have them.

# msrun_needed_packages(<out> <build folder> <program>...) sets <out> to what a .deb of programs of another architecture
# depends on: the packages that hold the needed libraries on this machine, whose Debian is the same, in the same versions
# or later. Versions that dpkg-shlibdeps finds by symbols are lower; a higher one is a stricter demand, not a wrong one.
function(msrun_needed_packages out build)
  set(files ${build}/lib/libmsrun_kernels.so)
  list(TRANSFORM ARGN PREPEND ${build}/bin/)
  execute_process(COMMAND readelf -d ${files} ${ARGN} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "[" "<" dynamic "${dynamic}")  # an open bracket would hold a list together
  string(REGEX MATCHALL "Shared library: <[^]]+" needed "${dynamic}")
  list(TRANSFORM needed REPLACE ".*<" "")
  list(REMOVE_DUPLICATES needed)
  list(FILTER needed EXCLUDE REGEX "^libmsrun|^ld-linux")
  set(packages "")
  foreach(library IN LISTS needed)
    execute_process(COMMAND dpkg-query -S "*/${library}" OUTPUT_VARIABLE holders COMMAND_ERROR_IS_FATAL ANY)
    # Libraries of other architectures, which a cross compiler needs, have packages of their own.
    string(REGEX MATCH "(^|\n)([^:\n]+):[a-z0-9]+: [^\n]*/lib/[^/\n]+-linux-gnu/" holder "${holders}")
    if(NOT holder)
      message(FATAL_ERROR "No package holds ${library}: dpkg-query says ${holders}")
    endif()
    set(package ${CMAKE_MATCH_2})
    execute_process(COMMAND dpkg-query -W -f "\${Version}" ${package}
      OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCH "^([0-9]+:)?([0-9]+([.][0-9]+)*)" ignored "${version}")
    list(APPEND packages "${package} (>= ${CMAKE_MATCH_1}${CMAKE_MATCH_2})")
  endforeach()
  list(REMOVE_DUPLICATES packages)
  list(SORT packages)
  list(JOIN packages ", " packages)
  set(${out} "${packages}" PARENT_SCOPE)
endfunction()

list(GET CPACK_INSTALL_CMAKE_PROJECTS 0 build_folder)
if(CPACK_GENERATOR STREQUAL "DEB" AND CPACK_MSRUN_NEEDS_OF)
  msrun_needed_packages(CPACK_DEBIAN_PACKAGE_DEPENDS ${build_folder} ${CPACK_MSRUN_NEEDS_OF})
endif()
if(CPACK_GENERATOR STREQUAL "TGZ")
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS "${build_folder};${CPACK_PACKAGE_NAME};libraries;/")
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
endif()
