//! Pictures that programs draw.

use std::io::{self, Write};

/// A picture in shades of gray.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The number of pixels in a row.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
    /// The shades of all pixels, row by row from the top: 0 is black, 255 white.
    pub shades: Vec<u8>,
}

/// A function that is called with each picture of a program.
pub type Draw<'a> = &'a mut dyn FnMut(&Picture);

impl Picture {
    /// Writes the picture as PNG.
    ///
    /// # Errors
    ///
    /// Returns the error of the writer, or an error of the PNG encoder if a side has no pixels or
    /// the number of shades is not `width * height`.
    pub fn write_png(&self, to: impl Write) -> io::Result<()> {
        let mut encoder = png::Encoder::new(to, self.width, self.height);
        encoder.set_color(png::ColorType::Grayscale);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.shades)?;
        Ok(writer.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn a_picture_is_read_back_as_it_was() {
        let shades = vec![0, 50, 100, 150, 200, 255];
        let mut picture = Picture {
            width: 3,
            height: 2,
            shades: shades.clone(),
        };
        let mut file = Vec::new();
        picture.write_png(&mut file).unwrap();
        let mut reader = png::Decoder::new(Cursor::new(&file)).read_info().unwrap();
        let mut read = vec![0; shades.len()];
        let frame = reader.next_frame(&mut read).unwrap();
        assert_eq!((frame.width, frame.height, read), (3, 2, shades));
        picture.shades.pop();
        assert!(picture.write_png(io::sink()).is_err());
    }
}
