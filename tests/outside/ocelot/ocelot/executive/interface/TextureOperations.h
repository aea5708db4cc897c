// The texture types that Ocelot's tests of PTX name; no registered test samples one.
#pragma once

namespace ir {
class Texture;
}

namespace executive::tex {
template <unsigned channel, class D, class... Coordinates>
D sample(const ir::Texture& texture, Coordinates... at);
}
