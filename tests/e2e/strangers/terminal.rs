//! Foreign text on terminals and pages, closed pipes, full devices.
