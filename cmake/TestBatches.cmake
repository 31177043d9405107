# Files of tests that are compiled together: most of what a single one takes to compile is the headers' templates.
#
#   msrun_test_batches(<out> <program> <file>...)
#
# sets <out> to what is to be compiled in place of these files of a program of tests: batches of at most MSRUN_TEST_BATCH
# files below the build folder (WriteTestBatch.cmake). A folder with half as many has batches of its own, at the same
# place there; the files of all smaller ones go together. Only files named *_test.cpp go into batches. Every file still
# includes all it needs: the presets debug, check and aarch64 compile each of them alone.
set(MSRUN_TEST_BATCH 1 CACHE STRING "Files of tests that are compiled together; 1 compiles each of them alone")

# Appends the batches of these files, which lie in `place` below the build folder, to the variable `alone`.
macro(msrun_add_batches place)
  set(left ${ARGN})
  list(LENGTH left count)
  math(EXPR number "(${count} + ${MSRUN_TEST_BATCH} - 1) / ${MSRUN_TEST_BATCH}")
  while(number GREATER 0)
    list(LENGTH left count)
    math(EXPR size "(${count} + ${number} - 1) / ${number}")
    list(SUBLIST left 0 ${size} batch)
    list(REMOVE_ITEM left ${batch})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/batches/${place}_${number}.cpp)
    add_custom_command(OUTPUT ${source}
      COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} "-DFILES=${batch}" -DBATCH=${source}
        -P ${PROJECT_SOURCE_DIR}/cmake/WriteTestBatch.cmake
      DEPENDS ${batch} ${PROJECT_SOURCE_DIR}/cmake/WriteTestBatch.cmake
      COMMENT "" VERBATIM)
    list(APPEND alone ${source})
    math(EXPR number "${number} - 1")
  endwhile()
endmacro()

function(msrun_test_batches out program)
  set(alone ${ARGN})
  if(MSRUN_TEST_BATCH GREATER 1)
    set(together ${ARGN})
    list(FILTER together INCLUDE REGEX "_test\\.cpp$")
    list(FILTER alone EXCLUDE REGEX "_test\\.cpp$")
    list(SORT together)
    set(folders ${together})
    list(TRANSFORM folders REPLACE "/[^/]*$" "")
    list(REMOVE_DUPLICATES folders)
    foreach(folder IN LISTS folders)
      # Paths are no regular expressions: a folder may be called c++.
      set(files "")
      foreach(file IN LISTS together)
        cmake_path(GET file PARENT_PATH parent)
        if(parent STREQUAL folder)
          list(APPEND files ${file})
        endif()
      endforeach()
      list(LENGTH files count)
      math(EXPR twice "2 * ${count}")
      if(twice LESS MSRUN_TEST_BATCH)
        continue()
      endif()
      list(REMOVE_ITEM together ${files})
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE place)
      msrun_add_batches(${place}/batch ${files})
    endforeach()
    msrun_add_batches(${program} ${together})
  endif()
  set(${out} ${alone} PARENT_SCOPE)
endfunction()
