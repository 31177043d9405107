# The kernels library is built once per x86-64 level. The baseline lies in lib/, the others in lib/glibc-hwcaps/<level>/,
# from where the dynamic loader takes the best one that the processor can run (ld.so(8)). On other processors there is
# one build for the architecture's baseline.
#
# msrun_kernel_levels(<out>) sets <out> to the levels to build, lowest first; the first is the one in lib/.
function(msrun_kernel_levels out)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(${out} "baseline" PARENT_SCOPE)
    return()
  endif()
  if(MSRUN_CPU_LEVELS STREQUAL "machine")
    set(level v2)
    execute_process(COMMAND /lib64/ld-linux-x86-64.so.2 --help OUTPUT_VARIABLE help ERROR_QUIET)
    foreach(candidate v3 v4)
      if(help MATCHES "x86-64-${candidate} \\(supported")
        set(level ${candidate})
      endif()
    endforeach()
    set(${out} ${level} PARENT_SCOPE)
  else()
    set(${out} ${MSRUN_CPU_LEVELS} PARENT_SCOPE)
  endif()
endfunction()
