# install(): the library, its headers, a CMake package that find_package(ringcomm) finds, and a file for pkg-config.
include(CMakePackageConfigHelpers)
install(TARGETS ringcomm EXPORT ringcommTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT ringcommTargets NAMESPACE ringcomm:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ringcomm)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ringcommConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ringcommConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ringcomm
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ringcommConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ringcommConfig.cmake ${PROJECT_BINARY_DIR}/ringcommConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ringcomm)

# Headers that need a vendor's are installed as they are: who includes them has it.
file(GLOB ringcomm_vendor_headers ${PROJECT_SOURCE_DIR}/include/ringcomm/interop/*.hpp)
list(FILTER ringcomm_vendor_headers INCLUDE REGEX "/(mpi|cuda|nccl)\\.hpp$")
install(FILES ${ringcomm_vendor_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ringcomm/interop)

# Relative to the .pc file itself, so that an installed tree may be moved. A static library's own needs are private:
# pkg-config --static names them.
file(RELATIVE_PATH RINGCOMM_PREFIX_FROM_PC /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
string(REGEX REPLACE "/$" "" RINGCOMM_PREFIX_FROM_PC "${RINGCOMM_PREFIX_FROM_PC}")
set(RINGCOMM_PC_LIBS_PRIVATE "-lstdc++ -lm -lpthread -ldl")
if(NOT BUILD_SHARED_LIBS AND RINGCOMM_HAVE_HWLOC)  # not Requires.private, which would ask for hwloc's own static needs
  list(JOIN RINGCOMM_HWLOC_LDFLAGS " " flags)
  string(PREPEND RINGCOMM_PC_LIBS_PRIVATE "${flags} ")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/ringcomm.pc.in ${PROJECT_BINARY_DIR}/ringcomm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ringcomm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
