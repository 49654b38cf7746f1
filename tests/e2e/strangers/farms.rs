//! Forged messages in a farm, from the same machine and from others.
