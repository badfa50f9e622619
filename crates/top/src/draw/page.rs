//! A rectangle of cells that text is put into: cut by columns, never beyond its edges.
//!
//! Non-goals: what is put there.

use crate::number::{cut, width};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

/// A rectangle of a buffer.
pub(crate) struct Page<'a> {
    pub(crate) buffer: &'a mut Buffer,
    pub(crate) area: Rect,
}

impl Page<'_> {
    /// A part of it.
    pub(crate) fn part(&mut self, area: Rect) -> Page<'_> {
        let area = area.intersection(self.area);
        Page { buffer: self.buffer, area }
    }

    /// Columns.
    pub(crate) fn width(&self) -> usize {
        self.area.width.into()
    }

    /// Lines.
    pub(crate) fn height(&self) -> usize {
        self.area.height.into()
    }

    /// Puts a text on a line, from a column on.
    pub(crate) fn put(&mut self, line: usize, column: usize, text: &str, style: Style) {
        if line >= self.height() || column >= self.width() {
            return;
        }
        let shown = cut(text, self.width() - column);
        let (x, y) = (self.area.x + column as u16, self.area.y + line as u16);
        self.buffer.set_string(x, y, &*shown, style);
    }

    /// Puts a text at the right edge of so many columns.
    pub(crate) fn put_right(&mut self, line: usize, end: usize, text: &str, style: Style) {
        self.put(line, end.saturating_sub(width(text)), text, style);
    }

    /// Gives a whole line a style.
    pub(crate) fn style_line(&mut self, line: usize, style: Style) {
        if line < self.height() {
            let y = self.area.y + line as u16;
            self.buffer.set_style(Rect { y, height: 1, ..self.area }, style);
        }
    }

    /// Puts words on so many lines at the most; how many it took.
    pub(crate) fn wrap(&mut self, line: usize, most: usize, text: &str, style: Style) -> usize {
        let lines = wrapped(text, self.width(), most);
        lines.iter().enumerate().for_each(|(n, text)| self.put(line + n, 0, text, style));
        lines.len()
    }
}

/// A text in lines of so many columns; the last of so many lines is cut.
pub(crate) fn wrapped(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let count = lines.len();
        let Some(last) = lines.last_mut() else { break };
        let is_in = last.is_empty() || width(last) + 1 + width(word) <= columns || count >= most;
        match (is_in, last.is_empty()) {
            (false, _) => lines.push(word.to_owned()),
            (true, true) => last.push_str(word),
            (true, false) => {
                last.push(' ');
                last.push_str(word);
            }
        }
    }
    if let Some(last) = lines.last_mut() {
        *last = cut(last, columns).into_owned();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn words_wrap_and_the_last_line_is_cut() {
        assert_eq!(wrapped("one two three four", 9, 2), ["one two", "three fo…"]);
        assert_eq!(wrapped("one two", 20, 2), ["one two"]);
        assert_eq!(wrapped("", 20, 2), [""]);
    }
}
