//! How things look: blue and orange, which a colour-blind person can tell, each with a mark or a
//! weight of its own; without colours bold and reverse only.
//!
//! Non-goals: where things stand.

use ratatui::style::{Color, Modifier, Style};

const BLUE: Color = Color::Indexed(75);
const ORANGE: Color = Color::Indexed(214);

/// The styles of a screen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    has_color: bool,
}

impl Look {
    /// With or without colours.
    pub(crate) fn new(no_color: bool) -> Self {
        Self { has_color: !no_color }
    }

    fn colored(self, color: Color) -> Style {
        if self.has_color { Style::new().fg(color) } else { Style::new() }
    }

    /// Text.
    pub(crate) fn plain(self) -> Style {
        Style::new()
    }

    /// The answer.
    pub(crate) fn answer(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Heads of columns and names of tables.
    pub(crate) fn head(self) -> Style {
        self.colored(BLUE).add_modifier(Modifier::BOLD)
    }

    /// The table in front.
    pub(crate) fn front(self) -> Style {
        self.head().add_modifier(Modifier::REVERSED)
    }

    /// What stands out.
    pub(crate) fn marked(self) -> Style {
        self.colored(ORANGE).add_modifier(Modifier::BOLD)
    }

    /// The selected row.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Lines of blocks and bars.
    pub(crate) fn line(self) -> Style {
        self.colored(BLUE)
    }
}
