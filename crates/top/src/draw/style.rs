//! How things look: blue and orange, which a colour-blind person can tell, each with a mark or a
//! weight of its own; without colours bold and reverse only.
//!
//! Non-goals: where things stand.

use ratatui_core::style::{Color, Style};

const BLUE: Color = Color::Indexed(75);
const ORANGE: Color = Color::Indexed(214);

/// The styles of a screen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Text.
    pub(crate) plain: Style,
    /// The answer.
    pub(crate) answer: Style,
    /// Heads of columns and names of tables.
    pub(crate) head: Style,
    /// The table in front.
    pub(crate) front: Style,
    /// What stands out.
    pub(crate) marked: Style,
    /// The selected row.
    pub(crate) selected: Style,
    /// Lines of blocks and bars.
    pub(crate) line: Style,
}

impl Look {
    /// With or without colours.
    pub(crate) fn new(no_color: bool) -> Self {
        let plain = Style::new();
        let colored = |color| if no_color { plain } else { plain.fg(color) };
        let head = colored(BLUE).bold();
        Self {
            plain,
            answer: plain.bold(),
            head,
            front: head.reversed(),
            marked: colored(ORANGE).bold(),
            selected: plain.reversed(),
            line: colored(BLUE),
        }
    }
}
