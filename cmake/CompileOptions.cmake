# Compile options every target of ours uses: link against msrun_options (PRIVATE). Warnings are errors where
# CMAKE_COMPILE_WARNING_AS_ERROR is on: for CI and for who changes the sources, never for who builds to use them with a
# compiler that warns of more.
add_library(msrun_options INTERFACE)
target_include_directories(msrun_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(msrun_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -fno-math-errno -fno-trapping-math -fvisibility-inlines-hidden
  $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
# Beside msrun_options, for code that runs once a run or once a result.
add_library(msrun_cold_options INTERFACE)
target_compile_options(msrun_cold_options INTERFACE $<$<CONFIG:Release>:-O1>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports these for code inlined from the standard library, Eigen and its own intrinsics headers where nothing is wrong.
  target_compile_options(msrun_options INTERFACE
    -Wno-uninitialized -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict)
endif()
# Not in the preset whose compile commands clang-tidy reads, which knows neither option.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  # By default the compiler looks for garbage from 128 MB on, which takes a tenth of the time of files that are compiled
  # together and finds little: with this they peak at 5 to 20 % more.
  target_compile_options(msrun_options INTERFACE "SHELL:--param ggc-min-heapsize=393216")
  target_compile_options(msrun_options INTERFACE -fpch-preprocess)  # for ccache
endif()
if(MSRUN_SANITIZE)
  add_compile_options(-fsanitize=${MSRUN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MSRUN_SANITIZE})
endif()
if(MSRUN_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
