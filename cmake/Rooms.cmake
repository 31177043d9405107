# The rooms of the source tree: a folder, the rooms it may include from, and the target it is compiled as.
#
#   msrun_room(<folder> [FLAT] [NUMERIC] [OBJECT] [COLD] [ALONE] [USES <folder>...] [HEADERS <folder>...] [LINKS <library>...]
#              [PRECOMPILED <target>] [TOGETHER <folder>...])
#
# A room may include its own headers and those of the rooms it uses, directly or through them; anything else fails the
# build (CheckIncludes.cmake). A room can only use rooms that were declared before it, so that there are no circles.
#
# FLAT: the files of the folder alone; those of its subfolders belong to other rooms. Files named main.cpp belong to no
# room: they are executables.
# OBJECT: part of the kernels library (kernels/CMakeLists.txt). With NUMERIC it is compiled for every processor level
# and gives the targets <target>_<level>, else once. All other rooms are static libraries, or interfaces if they have
# headers alone.
# COLD: what it does takes no time worth speaking of, so that it is optimised less and compiled faster.
# HEADERS: rooms of which only inline code is used, so that nothing of them is linked.
# LINKS: libraries from outside, by the name of their CMake target.
# PRECOMPILED: other precompiled headers than those of the standard library (PrecompiledHeaders.cmake).
#
# With MSRUN_ROOM_BATCH above 1 so many files of a room are compiled together, because most of what a small file takes is
# the instances of templates that its neighbours need as well. Files of numeric rooms are compiled one by one, because with
# others beside them the compiler inlines less of their loops, but for those of the folders that the room names as TOGETHER
# (relative to the room, "." for its own files): the work of these is done by functions of other rooms, or measured to be
# as fast. Nor are the files of a room that is marked ALONE, whose objects are replaced one by one (tests/mutation).
set(MSRUN_ROOM_BATCH 1 CACHE STRING "Files of a room that are compiled together; 1 compiles each of them alone")
set_property(GLOBAL PROPERTY MSRUN_ROOMS "")

function(msrun_compile_together target)
  if(MSRUN_ROOM_BATCH GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${MSRUN_ROOM_BATCH})
  endif()
endfunction()

# msrun_compile_folders_together(<target> <files of the target> <absolute path of a folder>...): see TOGETHER above.
function(msrun_compile_folders_together target files)
  if(MSRUN_ROOM_BATCH GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    foreach(file IN LISTS files)
      cmake_path(GET file PARENT_PATH folder)
      if(folder IN_LIST ARGN)
        cmake_path(GET folder FILENAME group)
        set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${group})
      endif()
    endforeach()
  endif()
endfunction()

# kernels/io/dump -> msrun_kernels_io_dump
function(msrun_room_target folder out)
  string(REPLACE "/" "_" name ${folder})
  set(${out} msrun_${name} PARENT_SCOPE)
endfunction()

function(msrun_room folder)
  cmake_parse_arguments(PARSE_ARGV 1 room "FLAT;NUMERIC;OBJECT;COLD;ALONE" "PRECOMPILED" "USES;HEADERS;LINKS;TOGETHER")
  msrun_room_target(${folder} target)
  set(depth GLOB_RECURSE)
  if(room_FLAT)
    set(depth GLOB)
  endif()
  file(${depth} files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp ${PROJECT_SOURCE_DIR}/${folder}/*.h)
  list(FILTER files EXCLUDE REGEX "/main\\.cpp$")

  get_property(rooms GLOBAL PROPERTY MSRUN_ROOMS)
  set(reachable ${folder})
  foreach(used IN LISTS room_USES room_HEADERS)
    if(NOT used IN_LIST rooms)
      message(FATAL_ERROR "The room ${folder} uses ${used}, which is not declared before it.")
    endif()
    get_property(further GLOBAL PROPERTY MSRUN_ROOM_${used})
    list(APPEND reachable ${further})
  endforeach()
  list(REMOVE_DUPLICATES reachable)
  set_property(GLOBAL APPEND PROPERTY MSRUN_ROOMS ${folder})
  set_property(GLOBAL PROPERTY MSRUN_ROOM_${folder} ${reachable})

  set(stamp ${CMAKE_BINARY_DIR}/rooms/${target}.checked)
  set(request ${CMAKE_BINARY_DIR}/rooms/${target}.cmake)
  file(GENERATE OUTPUT ${request} CONTENT
    "set(room \"${folder}\")\nset(reachable \"${reachable}\")\nset(files \"${files}\")\n")
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -DREQUEST=${request} -DROOMS=${CMAKE_BINARY_DIR}/rooms/all.txt
      -DROOT=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/CheckIncludes.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${files} ${request} ${PROJECT_SOURCE_DIR}/cmake/CheckIncludes.cmake
    COMMENT "" VERBATIM)
  add_custom_target(${target}_includes DEPENDS ${stamp})

  if(NOT room_PRECOMPILED)
    set(room_PRECOMPILED msrun_headers)
    if(room_COLD)
      set(room_PRECOMPILED msrun_cold_headers)
    endif()
  endif()
  set(sources ${files})
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  if(room_OBJECT)
    set(levels "")
    if(room_NUMERIC)
      msrun_kernel_levels(levels)
      list(TRANSFORM levels PREPEND _)
    else()
      set(levels " ")
    endif()
    foreach(level IN LISTS levels)
      string(STRIP "${level}" level)
      add_library(${target}${level} OBJECT ${sources})
      target_link_libraries(${target}${level} PRIVATE msrun_options ${room_LINKS})
      if(level)
        target_link_libraries(${target}${level} PRIVATE msrun_numeric_options${level})
        target_precompile_headers(${target}${level} REUSE_FROM msrun_numeric_headers${level})
        set(folders ${room_TOGETHER})
        list(TRANSFORM folders PREPEND ${PROJECT_SOURCE_DIR}/${folder}/)
        list(TRANSFORM folders REPLACE "/\\.$" "")
        msrun_compile_folders_together(${target}${level} "${sources}" ${folders})
      else()
        if(room_COLD)
          target_link_libraries(${target} PRIVATE msrun_cold_options)
        endif()
        target_precompile_headers(${target} REUSE_FROM ${room_PRECOMPILED})
        msrun_compile_together(${target})
      endif()
      add_dependencies(${target}${level} ${target}_includes)
    endforeach()
    return()
  endif()
  set(libraries ${room_LINKS})
  foreach(used IN LISTS room_USES)
    if(used MATCHES "^kernels/")
      list(APPEND libraries msrun_kernels)
    else()
      msrun_room_target(${used} library)
      list(APPEND libraries ${library})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES libraries)
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${libraries})
    add_dependencies(${target} ${target}_includes)
    return()
  endif()
  add_library(${target} STATIC ${sources})
  if(NOT room_ALONE)
    msrun_compile_together(${target})
  endif()
  target_link_libraries(${target} PRIVATE msrun_options PUBLIC ${libraries})
  if(room_COLD)
    target_link_libraries(${target} PRIVATE msrun_cold_options)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${room_PRECOMPILED})
  add_dependencies(${target} ${target}_includes)
endfunction()

# Call when all rooms are declared: writes rooms/all.txt, a line "folder: reachable rooms" for each, which the check of
# the includes and the tests read.
function(msrun_rooms_declared)
  get_property(rooms GLOBAL PROPERTY MSRUN_ROOMS)
  set(text "")
  foreach(folder IN LISTS rooms)
    get_property(reachable GLOBAL PROPERTY MSRUN_ROOM_${folder})
    string(REPLACE ";" " " reachable "${reachable}")
    string(APPEND text "${folder}: ${reachable}\n")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/rooms/all.txt CONTENT "${text}")
endfunction()
