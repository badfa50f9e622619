//! The published answers: Bucher & Hayes's table 1 and equations 3-7, given back.

use super::*;
