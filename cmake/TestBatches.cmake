# Files of tests that are compiled together: most of what a single one takes to compile is the headers' templates.
#
#   msrun_test_batches(<out> <file>...)
#
# sets <out> to what is to be compiled in place of these files of the current folder: batches of at most MSRUN_TEST_BATCH
# files of one subfolder, which lie at the same place below the build folder (WriteTestBatch.cmake). Only files named
# *_test.cpp go into batches. Every file still includes all it needs: the presets debug, check and aarch64 compile each of
# them alone.
set(MSRUN_TEST_BATCH 1 CACHE STRING "Files of tests that are compiled together; 1 compiles each of them alone")

function(msrun_test_batches out)
  set(alone ${ARGN})
  if(MSRUN_TEST_BATCH GREATER 1)
    set(together ${ARGN})
    list(FILTER together INCLUDE REGEX "_test\\.cpp$")
    list(FILTER alone EXCLUDE REGEX "_test\\.cpp$")
    set(folders ${together})
    list(TRANSFORM folders REPLACE "/[^/]*$" "")
    list(REMOVE_DUPLICATES folders)
    foreach(folder IN LISTS folders)
      set(files ${together})
      list(FILTER files INCLUDE REGEX "^${folder}/[^/]*$")
      list(SORT files)
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE place)
      set(number 0)
      while(files)
        list(SUBLIST files 0 ${MSRUN_TEST_BATCH} batch)
        list(REMOVE_ITEM files ${batch})
        math(EXPR number "${number} + 1")
        set(source ${CMAKE_CURRENT_BINARY_DIR}/batches/${place}/batch_${number}.cpp)
        add_custom_command(OUTPUT ${source}
          COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} "-DFILES=${batch}" -DBATCH=${source}
            -P ${PROJECT_SOURCE_DIR}/cmake/WriteTestBatch.cmake
          DEPENDS ${batch} ${PROJECT_SOURCE_DIR}/cmake/WriteTestBatch.cmake
          COMMENT "" VERBATIM)
        list(APPEND alone ${source})
      endwhile()
    endforeach()
  endif()
  set(${out} ${alone} PARENT_SCOPE)
endfunction()
