# Makes the folder TO of the test data in the folder FROM: plain files are copied, archives unpacked beside them.
#
#   cmake -DFROM=tests/data -DTO=build/data -P tests/data/unpack.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${TO})
file(MAKE_DIRECTORY ${TO})
file(COPY ${FROM}/ DESTINATION ${TO} PATTERN "*.tar.xz" EXCLUDE PATTERN "generators" EXCLUDE
  PATTERN "CMakeLists.txt" EXCLUDE PATTERN "*.cmake" EXCLUDE PATTERN "README.md" EXCLUDE)
file(GLOB_RECURSE archives RELATIVE ${FROM} ${FROM}/*.tar.xz)
foreach(archive IN LISTS archives)
  get_filename_component(folder ${archive} DIRECTORY)
  file(ARCHIVE_EXTRACT INPUT ${FROM}/${archive} DESTINATION ${TO}/${folder})
endforeach()

# zoo_tensor_small is some calls of zoo_tensor: its tensor files are those that its dump.json names.
set(small ${TO}/dumps/zoo_tensor_small)
file(READ ${small}/dump.json text)
string(REGEX MATCHALL "\"data_name\": *\"[^\"]+\"" names "${text}")
foreach(name IN LISTS names)
  string(REGEX REPLACE ".*\"([^\"]+)\"$" "\\1" name "${name}")
  file(COPY ${TO}/dumps/zoo_tensor/dump_tensor_data/${name} DESTINATION ${small}/dump_tensor_data)
endforeach()
