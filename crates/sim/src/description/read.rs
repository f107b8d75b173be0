//! From the text of a description to its values.
//!
//! ```text
//!   text ─► File: toml's tree, with the place of every value ─► serde: Deserialize ─► Description
//!             │                                                  each value as it is allowed     │
//!             └────────────── place of a key ──► check: what must fit together ◄─────────────────┘
//! ```
//!
//! Which keys there are is what the derives of [`Description`] say. What their values may be is
//! [`allowed`].

use std::{fmt, iter};

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::DescriptionError;
use super::file::File;
use super::nearest::nearest;
use super::*;

impl Description {
    /// Reads a description from TOML, the text of a file that errors call `file`.
    ///
    /// A quantity is a table, `{ value = 8, source = "Krolak 2005", sure = "stated" }`, or only its
    /// number, `8`: then its source is "not given" and it is uncertain.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong: no TOML, a key that is unknown or missing, a value of a wrong
    /// type or out of its range, or values that no machine can have together. The message names the
    /// file, the line, the key, the value and what is allowed.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, DescriptionError> {
        let file = File::parse(text, file)?;
        let root = || Entry {
            file: &file,
            path: String::new(),
            value: &file.root,
            tag: None,
        };
        let description = Self::deserialize(root()).map_err(|refused| root().locate(refused))?;
        check::check(&description, &file)?;
        Ok(description)
    }
}

/// Why a value was refused: what serde says of a table, until it is known where that is.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("{0}")]
    There(DescriptionError),
    #[error("{0} is no known key")]
    Unknown(String, &'static [&'static str]),
    #[error("{0} is missing")]
    Missing(&'static str),
    #[error("{0}")]
    Other(String),
}

impl serde::de::Error for Refused {
    fn custom<T: fmt::Display>(what: T) -> Self {
        Self::Other(what.to_string())
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self::Unknown(key.to_owned(), known)
    }

    fn missing_field(key: &'static str) -> Self {
        Self::Missing(key)
    }
}

/// A value of the file.
struct Entry<'f> {
    file: &'f File<'f>,
    /// What leads to it, such as `memory[1]`; nothing for the file as a whole.
    path: String,
    value: &'f Spanned<DeValue<'f>>,
    /// The key that says which keys a table has, where there is one.
    tag: Option<&'static str>,
}

impl<'f> Entry<'f> {
    fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }

    /// The value of a key or of an element.
    fn inner(&self, path: String, value: &'f Spanned<DeValue<'f>>) -> Self {
        let (file, tag) = (self.file, None);
        Self {
            file,
            path,
            value,
            tag,
        }
    }

    /// Says where it is that something was refused, if that is not known yet.
    fn locate(&self, refused: Refused) -> DescriptionError {
        let here = self.value.span().start;
        match refused {
            Refused::There(error) => error,
            Refused::Unknown(key, known) => {
                let meant = match nearest(&key, known.iter().copied()) {
                    Some(near) => format!("did you mean {near}? "),
                    None => String::new(),
                };
                let path = self.path_of(&key);
                let path = path.escape_debug();
                let known = known.join(", ");
                let problem = format!("{path} is no known key; {meant}allowed: {known}");
                let table = self.value.get_ref().as_table();
                let written = table.and_then(|table| table.get_key_value(key.as_str()));
                let offset = written.map_or(here, |(key, _)| key.span().start);
                self.file.error_at(offset, problem)
            }
            Refused::Missing(key) => {
                let path = self.path_of(key);
                let problem = format!("{path} is missing; allowed: {}", allowed::at(&path));
                self.file.error_at(here, problem)
            }
            Refused::Other(what) => self.file.error_at(here, format!("{} {what}", self.path)),
        }
    }

    /// It is not what is allowed.
    fn refused(&self, allowed: impl fmt::Display) -> Refused {
        let span = self.value.span();
        let value = self.file.excerpt(span.clone());
        let problem = format!("{} is {value}; allowed: {allowed}", self.path);
        Refused::There(self.file.error_at(span.start, problem))
    }

    fn number(&self) -> Result<u64, Refused> {
        let allowed = allowed::number(&self.path);
        let DeValue::Integer(integer) = self.value.get_ref() else {
            return Err(self.refused(format_args!("whole numbers, {allowed}")));
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.filter(|&number| allowed.allows(number));
        number.ok_or_else(|| self.refused(allowed))
    }

    fn text(&self) -> Result<&'f str, Refused> {
        let text = self.value.get_ref().as_str();
        let (allowed, is_allowed) = allowed::text(&self.path, text.unwrap_or_default());
        text.filter(|_| is_allowed)
            .ok_or_else(|| self.refused(allowed))
    }

    /// One of some words.
    fn word(&self, words: &[&str]) -> Result<&'f str, Refused> {
        let text = self.value.get_ref().as_str();
        let text = text.filter(|text| words.contains(text));
        text.ok_or_else(|| self.refused(allowed::one_of(words)))
    }

    /// The elements of a list of one or more, or of as many as are asked for.
    fn elements(&self, count: Option<usize>) -> Result<impl Iterator<Item = Self>, Refused> {
        let refused = || self.refused(allowed::list(&self.path).unwrap_or(allowed::TABLE));
        let array = self.value.get_ref().as_array().ok_or_else(refused)?;
        if array.is_empty() || count.is_some_and(|count| count != array.len()) {
            return Err(refused());
        }
        let elements = array.iter().enumerate();
        Ok(elements.map(|(index, value)| self.inner(format!("{}[{index}]", self.path), value)))
    }

    fn table(&self) -> Result<&'f DeTable<'f>, Refused> {
        let table = self.value.get_ref().as_table();
        table.ok_or_else(|| self.refused(allowed::TABLE))
    }

    /// The table that stands for a quantity that is only its number.
    fn plain_quantity(&self) -> Spanned<DeValue<'f>> {
        let span = self.value.span();
        let text = |text: &'static str| Spanned::new(span.clone(), DeValue::String(text.into()));
        let table = [
            ("value", self.value.clone()),
            ("source", text("not given")),
            ("sure", text("uncertain")),
        ];
        let table = table.map(|(key, value)| (Spanned::new(span.clone(), key.into()), value));
        Spanned::new(span, DeValue::Table(table.into_iter().collect()))
    }

    /// Of a quantity: whether it says what it was fitted to if it was, and only then.
    fn check_fitted(&self, quantity: &DeTable<'_>) -> Result<(), Refused> {
        let sure = quantity
            .get("sure")
            .and_then(|sure| sure.get_ref().as_str());
        let problem = match (sure == Some("fitted"), quantity.contains_key("fitted_to")) {
            (true, false) => {
                "is missing; allowed: the published number that the value was fitted to"
            }
            (false, true) => {
                "is there, but the value is not fitted; allowed: only with sure = \"fitted\""
            }
            _ => return Ok(()),
        };
        let problem = format!("{} {problem}", self.path_of("fitted_to"));
        let offset = self.value.span().start;
        Err(Refused::There(self.file.error_at(offset, problem)))
    }
}

impl<'de> IntoDeserializer<'de, Refused> for Entry<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Entry<'_> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.value.get_ref() {
            DeValue::String(_) => visitor.visit_str(self.text()?),
            DeValue::Array(_) => visitor.visit_seq(SeqDeserializer::new(self.elements(None)?)),
            DeValue::Table(_) => self.deserialize_struct("", &[], visitor),
            _ => visitor.visit_u64(self.number()?),
        }
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_u64(self.number()?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_u64(self.number()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_str(self.text()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_seq(SeqDeserializer::new(self.elements(None)?))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_seq(SeqDeserializer::new(self.elements(Some(count))?))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        let is_quantity = name == "Quantity";
        if is_quantity && !self.value.get_ref().is_table() {
            self.number()?;
            let plain = self.plain_quantity();
            let plain = self.inner(self.path.clone(), &plain);
            return plain.deserialize_struct(name, keys, visitor);
        }
        let table = self.table()?;
        let keys = table.iter().map(|(key, value)| (&**key.get_ref(), value));
        let keys = keys.filter(|(key, _)| self.tag != Some(*key));
        let entries = keys.map(|(key, value)| (key, self.inner(self.path_of(key), value)));
        let read = visitor.visit_map(MapDeserializer::new(entries));
        let read = read.map_err(|refused| Refused::There(self.locate(refused)))?;
        if is_quantity {
            self.check_fitted(table)?;
        }
        Ok(read)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_enum(StrDeserializer::new(self.word(words)?))
    }

    /// A table whose key `kind` says which other keys there are.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        const TAG: &str = "kind";
        let kind = self.table()?.get(TAG);
        let kind = kind.ok_or_else(|| Refused::There(self.locate(Refused::missing_field(TAG))))?;
        let kind = self.inner(self.path_of(TAG), kind);
        let entry = Entry {
            tag: Some(TAG),
            ..self.inner(self.path.clone(), self.value)
        };
        // To serde, an enum is a map of one entry: its variant and what that holds.
        let variant = iter::once((kind.word(&allowed::KINDS)?, entry));
        visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(variant)))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u32 u128 f32 f64 char str bytes byte_buf unit unit_struct
        tuple_struct map identifier ignored_any
    }
}
