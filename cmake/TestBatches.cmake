# Files of tests that are compiled together: most of what a single one takes to compile is the headers' templates.
#
#   msrun_test_batches(<out> <program> <file>...)
#
# sets <out> to what is to be compiled in place of these files of a program of tests: batches of equal size, of at most
# MSRUN_TEST_BATCH files, below the build folder (WriteTestBatch.cmake). Only files named *_test.cpp go into batches.
# Every file still includes all it needs: the presets debug, check and aarch64 compile each of them alone.
set(MSRUN_TEST_BATCH 1 CACHE STRING "Files of tests that are compiled together; 1 compiles each of them alone")

function(msrun_test_batches out program)
  set(alone ${ARGN})
  if(MSRUN_TEST_BATCH GREATER 1)
    set(together ${ARGN})
    list(FILTER together INCLUDE REGEX "_test\\.cpp$")
    list(FILTER alone EXCLUDE REGEX "_test\\.cpp$")
    list(SORT together)
    list(LENGTH together left)
    math(EXPR batches "(${left} + ${MSRUN_TEST_BATCH} - 1) / ${MSRUN_TEST_BATCH}")
    while(together)
      math(EXPR size "(${left} + ${batches} - 1) / ${batches}")
      list(SUBLIST together 0 ${size} batch)
      list(REMOVE_ITEM together ${batch})
      set(source ${CMAKE_CURRENT_BINARY_DIR}/batches/${program}_${batches}.cpp)
      add_custom_command(OUTPUT ${source}
        COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} "-DFILES=${batch}" -DBATCH=${source}
          -P ${PROJECT_SOURCE_DIR}/cmake/WriteTestBatch.cmake
        DEPENDS ${batch} ${PROJECT_SOURCE_DIR}/cmake/WriteTestBatch.cmake
        COMMENT "" VERBATIM)
      list(APPEND alone ${source})
      math(EXPR left "${left} - ${size}")
      math(EXPR batches "${batches} - 1")
    endwhile()
  endif()
  set(${out} ${alone} PARENT_SCOPE)
endfunction()
