//! # The loom
//!
//! The loom reads a pattern from a file, checks each row of it, and weaves the cloth line by line until the thread ends.
//!
//! ## Menus and patterns
//!
//! A pattern may name other patterns, which are read first; a pattern that names itself is an error with the name of the file.
//!
//! ```text
//! weave --width 40 scarf.pattern
//! weave --check
//! ```
//!
//! ## Options of the loom
//!
//! Every option has a default that suits cotton, so that a first cloth needs no option at all, only a pattern and a name for it.
//!
//! | Option | What it does |
//! |---|---|
//! | width | how wide the cloth is, in threads |
//! | rows | after how many rows the loom stops |
//!
//! ## First steps
//!
//! If the thread breaks, the loom stops at once, writes the number of the row into its log, and waits until it is started again.
//!
//! - Wind the warp.
//! - Tie the first knot.
//! - Start the loom.

/// Its documentation is on a page of its own.
pub mod threads {}
