// What Ocelot's tests of PTX call of Ocelot's own interface; runner.cpp defines it on the CPU device.
#pragma once
#include <istream>
#include <string>

#include <ocelot/ir/interface/Instruction.h>

namespace executive {
struct DeviceProperties {
  ir::Instruction::Architecture ISA;
};
}  // namespace executive

namespace ocelot {
void getDeviceProperties(executive::DeviceProperties& properties);
void registerPTXModule(std::istream& ptx, const std::string& name);
void launch(const std::string& module, const std::string& kernel);
void unregisterModule(const std::string& name);
}  // namespace ocelot
