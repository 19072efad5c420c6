//! Drives [`Config::load`] with text for each source; the file is a real one.
