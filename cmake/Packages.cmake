# Packages of what `cmake --install` installs, by cpack: a .deb that depends on Debian's libraries, and a .tar.gz that
# carries all libraries but those of glibc, so that it runs on distributions with a glibc as new as the one it was built
# with. ./bootstrap package makes both of the preset release, ./bootstrap arm64 of the preset aarch64.
function(add_msrun_packages)
  set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
  get_property(tools GLOBAL PROPERTY MSRUN_TOOLS)
  set(executables "")
  foreach(program msrun ${tools})
    string(APPEND executables " \"$<TARGET_FILE:${program}>\"")
  endforeach()
  # Where the libraries of another architecture are; this machine's are where the loader looks.
  set(directories "")
  if(CMAKE_CROSSCOMPILING)
    foreach(folder lib usr/lib)
      string(APPEND directories " \"${CMAKE_SYSROOT}/${folder}/${CMAKE_LIBRARY_ARCHITECTURE}\"")
    endforeach()
  endif()
  # Not part of an installation on this machine, which has the libraries.
  install(CODE "
    file(GET_RUNTIME_DEPENDENCIES RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
      EXECUTABLES ${executables} LIBRARIES \"$<TARGET_FILE:msrun_kernels>\" DIRECTORIES ${directories}
      PRE_EXCLUDE_REGEXES \"^libmsrun\" \"^lib(c|m|dl|rt|pthread)[.]so\" \"^ld-linux\" \"^linux-vdso\")
    if(missing)
      message(FATAL_ERROR \"Libraries were not found: \${missing}\")
    endif()
    find_program(patchelf patchelf REQUIRED)
    set(to \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib\")
    foreach(library IN LISTS found)
      get_filename_component(name \"\${library}\" NAME)
      get_filename_component(real \"\${library}\" REALPATH)
      file(INSTALL \"\${real}\" DESTINATION \"\${to}\" RENAME \"\${name}\")
      # Libraries that need others find them beside themselves.
      execute_process(COMMAND \"\${patchelf}\" --set-rpath \\\$ORIGIN \"\${to}/\${name}\" COMMAND_ERROR_IS_FATAL ANY)
      # Their licences ask to be given along.
      execute_process(COMMAND dpkg-query -S \"*/\${name}\" OUTPUT_VARIABLE holders ERROR_QUIET)
      string(REGEX MATCH \"(^|\\n)([^:\\n]+):[^\\n]*/lib/\" holder \"\${holders}\")
      set(package \"\${CMAKE_MATCH_2}\")
      get_filename_component(notice \"/usr/share/doc/\${package}/copyright\" REALPATH)
      if(holder AND EXISTS \"\${notice}\")
        file(INSTALL \"\${notice}\" DESTINATION \"\${to}/../share/doc/msrun/licences\" RENAME \"\${package}\")
      else()
        message(WARNING \"The licence of \${name} was not found.\")
      endif()
    endforeach()"
    COMPONENT libraries EXCLUDE_FROM_ALL)

  set(CPACK_PACKAGE_NAME msrun)
  set(CPACK_PACKAGE_VENDOR "the msrun team")
  set(CPACK_PACKAGE_CONTACT "the msrun team <msrun@localhost>")
  set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
  set(CPACK_PACKAGE_DESCRIPTION
      "Turns every call in a recording of a training or inference job into a unit test, runs it on an NPU, a GPU or the "
      "processor and in higher precision on the CPU, and names the calls that the device computes wrongly.")
  string(CONCAT CPACK_PACKAGE_DESCRIPTION ${CPACK_PACKAGE_DESCRIPTION})
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_PACKAGE_FILE_NAME msrun-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
  set(CPACK_STRIP_FILES ON)
  set(CPACK_GENERATOR "DEB;TGZ")
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  if(CMAKE_CROSSCOMPILING)
    # dpkg-shlibdeps asks the packages that are installed, and those of another architecture are not.
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
    set(CPACK_MSRUN_NEEDS_OF msrun ${tools})
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${MSRUN_DEBIAN_ARCHITECTURE})
  else()
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
  endif()
  # The worker of a real device is Python; torch itself is whichever the device has.
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS python3)
  set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/PackageOptions.cmake)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  include(CPack)
endfunction()
