# ringcomm_test(core_tests SOURCES a_test.cpp b_test.cpp LABELS unit [TIMEOUT 60]): one GoogleTest program whose cases
# are ctest tests. Tests may look into src/ and tests/.
#
# RINGCOMM_TESTS picks what is built: all, programs (tests of tools, perf, examples, lint) or threads (what ThreadSanitizer
# can judge: one process, several threads).
set(RINGCOMM_TESTS all CACHE STRING "Which tests to build: all, programs or threads")
set(RINGCOMM_TESTS_threads device_tests transport_tests comm_tests collectives_tests attention_tests)

function(ringcomm_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LABELS;LIBRARIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(RINGCOMM_TESTS STREQUAL "programs" AND NOT arg_LABELS MATCHES "programs" OR
     RINGCOMM_TESTS STREQUAL "threads" AND NOT name IN_LIST RINGCOMM_TESTS_threads)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ringcomm ringcomm_warnings GTest::gtest GTest::gtest_main ${arg_LIBRARIES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE RINGCOMM_SOURCE_DIR="${PROJECT_SOURCE_DIR}" RINGCOMM_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()
