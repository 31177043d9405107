# Read by cpack for each kind of package: only archives carry libraries, and they are unpacked anywhere.
if(CPACK_GENERATOR STREQUAL "TGZ")
  list(GET CPACK_INSTALL_CMAKE_PROJECTS 0 build)
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS "${build};${CPACK_PACKAGE_NAME};libraries;/")
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
endif()
