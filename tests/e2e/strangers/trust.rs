//! Campaigns of strangers, and the cache.
