// What configuring Ocelot would write: nothing of it is needed.
#pragma once
