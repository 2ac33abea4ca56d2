# install() rules and the CMake package; see RingcommConfig.
