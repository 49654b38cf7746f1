/* Nothing: what R's configure script would find out is in the flags of faults.toml. */
