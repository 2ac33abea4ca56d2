# install(): the library, its headers and a CMake package that find_package(ringcomm) finds.
include(CMakePackageConfigHelpers)
install(TARGETS ringcomm EXPORT ringcommTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT ringcommTargets NAMESPACE ringcomm:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ringcomm)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ringcommConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ringcommConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ringcomm)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ringcommConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ringcommConfig.cmake ${PROJECT_BINARY_DIR}/ringcommConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ringcomm)
