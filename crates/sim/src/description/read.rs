//! The reader of descriptions in TOML.
//!
//! ```text
//!   text ─► File: toml's tree, with the place of every value ─► serde: Deserialize ─► Description
//!             │                                                  each value as it is allowed     │
//!             └────────── place of a key ──► check: whether the values fit together ◄────────────┘
//! ```
//!
//! The types of [`Description`] define the keys. [`allowed`] defines the values of each key.

use std::{fmt, iter};

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::DescriptionError;
use super::file::File;
use super::interconnect::KINDS;
use super::nearest::nearest;
use super::*;

impl Description {
    /// Reads a description from a TOML text. Errors name the file as `file`.
    ///
    /// A quantity is a table, `{ value = 8, source = "Krolak 2005", sure = "stated" }`, or a
    /// number, `8`. A number alone is uncertain and has the source "not given".
    ///
    /// # Errors
    ///
    /// Returns the first syntax error of TOML. If there is none, returns all unknown keys, missing
    /// keys, values that are not allowed, and values that do not fit together. Each message has the
    /// file, the line, the key, the value and the allowed values.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, DescriptionError> {
        let file = File::parse(text, file)?;
        let root = || Entry {
            file: &file,
            path: String::new(),
            value: &file.root,
            tag: None,
        };
        // A wrong value is recorded and replaced by a valid value, so that all errors are found.
        // Serde stops at a missing key, so the text is then read again with a value for the key.
        let description = loop {
            match Self::deserialize(root()).map_err(|refused| root().locate(refused)) {
                Ok(description) => break description,
                Err(Refused::Lacks(path, error)) => file.misses(path, error),
                Err(Refused::There(error)) => {
                    file.wrong("", error);
                    file.finish()?;
                }
                Err(_) => unreachable!("it is known where it is"),
            }
        };
        file.is_read();
        check::check(&description, &file);
        file.finish()?;
        Ok(description)
    }
}

/// The reason why a value was refused. `locate` adds the place in the file to errors of serde.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("{0}")]
    There(DescriptionError),
    #[error("{1}")]
    Lacks(String, DescriptionError),
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

struct Entry<'f> {
    file: &'f File<'f>,
    /// The path of the value, such as `memory[1]`, or an empty path for the whole file.
    path: String,
    value: &'f Spanned<DeValue<'f>>,
    /// The key that decides the other keys of the table, such as `kind`.
    tag: Option<&'static str>,
}

impl<'f> Entry<'f> {
    fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }

    /// Returns the entry at `path`, which is the value of a key or an element of a list.
    fn inner(&self, path: String, value: &'f Spanned<DeValue<'f>>) -> Self {
        let (file, tag) = (self.file, None);
        Self {
            file,
            path,
            value,
            tag,
        }
    }

    /// Adds the place in the file to an error that has none.
    fn locate(&self, refused: Refused) -> Refused {
        let here = self.value.span().start;
        match refused {
            Refused::There(_) | Refused::Lacks(..) => refused,
            Refused::Unknown(key, known) => {
                let meant = match nearest(&key, known.iter().copied()) {
                    Some(near) => {
                        let table = self.value.get_ref().as_table();
                        if !table.is_some_and(|table| table.contains_key(near)) {
                            // The misspelt key is reported, so the missing key `near` is not.
                            self.file.make_up(&self.path_of(near));
                            self.file.doubt(&self.path_of(near));
                        }
                        format!("did you mean {near}? ")
                    }
                    None => String::new(),
                };
                let path = self.path_of(&key);
                let path = path.escape_debug();
                let known = known.join(", ");
                let problem = format!("{path} is no known key; {meant}allowed: {known}");
                let table = self.value.get_ref().as_table();
                let written = table.and_then(|table| table.get_key_value(key.as_str()));
                let offset = written.map_or(here, |(key, _)| key.span().start);
                Refused::There(self.file.error_at(offset, problem))
            }
            Refused::Missing(key) => {
                let path = self.path_of(key);
                let allowed = allowed::at(&path);
                let mut problem = format!("{path} is missing; allowed: {allowed}");
                if allowed == allowed::TABLE {
                    problem += "; copy it from the output of `cellworks machines ps3`";
                }
                Refused::Lacks(path, self.file.error_at(here, problem))
            }
            Refused::Other(what) => {
                Refused::There(self.file.error_at(here, format!("{} {what}", self.path)))
            }
        }
    }

    fn refuse(&self, allowed: impl fmt::Display) {
        let span = self.value.span();
        let value = self.file.excerpt(span.clone());
        let problem = format!("{} is {value}; allowed: {allowed}", self.path);
        let error = self.file.error_at(span.start, problem);
        self.file.wrong(&self.path, error);
    }

    fn number(&self) -> u64 {
        let allowed = allowed::number(&self.path);
        let DeValue::Integer(integer) = self.value.get_ref() else {
            self.refuse(format_args!("whole numbers, {allowed}"));
            return allowed.least();
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.filter(|&number| allowed.allows(number));
        number.unwrap_or_else(|| {
            self.refuse(allowed);
            allowed.least()
        })
    }

    fn text(&self) -> &'f str {
        let text = self.value.get_ref().as_str();
        let (allowed, is_allowed) = allowed::text(&self.path, text.unwrap_or_default());
        text.filter(|_| is_allowed).unwrap_or_else(|| {
            self.refuse(allowed);
            "x"
        })
    }

    fn word(&self, words: &'static [&'static str]) -> &'f str {
        let text = self.value.get_ref().as_str();
        let text = text.filter(|text| words.contains(text));
        text.unwrap_or_else(|| {
            self.refuse(allowed::one_of(words));
            words[0]
        })
    }

    /// Returns the elements of a list. The list must have exactly `count` elements, or at least one
    /// if `count` is `None`. Otherwise reports the list as wrong, and returns made-up elements.
    fn elements(&self, count: Option<usize>) -> impl Iterator<Item = Self> {
        let array = self.value.get_ref().as_array();
        let array = array.filter(|array| match count {
            Some(count) => array.len() == count,
            None => !array.is_empty(),
        });
        let values: Vec<&Spanned<DeValue<'f>>> = match array {
            Some(array) => array.iter().collect(),
            None => {
                self.refuse(allowed::list(&self.path).unwrap_or(allowed::TABLE));
                self.file.make_up(&self.path);
                vec![&self.file.nothing; count.unwrap_or(1)]
            }
        };
        let elements = values.into_iter().enumerate();
        elements.map(|(index, value)| self.inner(format!("{}[{index}]", self.path), value))
    }

    fn table(&self) -> &'f DeTable<'f> {
        self.value.get_ref().as_table().unwrap_or_else(|| {
            self.refuse(allowed::TABLE);
            self.file.make_up(&self.path);
            let nothing = self.file.nothing.get_ref().as_table();
            nothing.expect("it is a table")
        })
    }

    /// Returns the table of a quantity that is written as a number.
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

    /// Checks that a quantity has the key `fitted_to` if and only if it is fitted.
    fn check_fitted(&self, quantity: &DeTable<'_>) {
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
            _ => return,
        };
        let problem = format!("{} {problem}", self.path_of("fitted_to"));
        let offset = self.value.span().start;
        let error = self.file.error_at(offset, problem);
        self.file.wrong(&self.path, error);
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
            DeValue::String(_) => visitor.visit_str(self.text()),
            DeValue::Array(_) => visitor.visit_seq(SeqDeserializer::new(self.elements(None))),
            DeValue::Table(_) => self.deserialize_struct("", &[], visitor),
            _ => visitor.visit_u64(self.number()),
        }
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_u64(self.number())
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_u64(self.number())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_str(self.text())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_seq(SeqDeserializer::new(self.elements(None)))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_seq(SeqDeserializer::new(self.elements(Some(count))))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        let is_quantity = name == "Quantity";
        if is_quantity && !self.value.get_ref().is_table() {
            self.number();
            // A number alone has no keys, so no missing key is reported.
            self.file.make_up(&self.path);
            let plain = self.plain_quantity();
            let plain = self.inner(self.path.clone(), &plain);
            return plain.deserialize_struct(name, keys, visitor);
        }
        let table = self.table();
        let written = table.iter().map(|(key, value)| (&**key.get_ref(), value));
        let written = written.filter(|(key, _)| self.tag != Some(*key));
        let is_known = |key: &str| {
            let is_known = keys.is_empty() || keys.contains(&key);
            if !is_known
                && let Refused::There(error) = self.locate(Refused::unknown_field(key, keys))
            {
                self.file.wrong(&self.path_of(key), error);
            }
            is_known
        };
        let written: Vec<_> = written.filter(|(key, _)| is_known(key)).collect();
        let missing = self.file.missing_in(&self.path, keys).into_iter();
        let missing = missing.map(|key| (key, &self.file.nothing));
        let entries = written.into_iter().chain(missing);
        let entries = entries.map(|(key, value)| (key, self.inner(self.path_of(key), value)));
        let read = visitor.visit_map(MapDeserializer::new(entries));
        let read = read.map_err(|refused| self.locate(refused))?;
        if is_quantity {
            self.check_fitted(table);
        }
        Ok(read)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_enum(StrDeserializer::new(self.word(words)))
    }

    /// Reads a table in which the key `kind` decides the other keys.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        const TAG: &str = "kind";
        let path = self.path_of(TAG);
        let is_missing = !self.file.missing_in(&self.path, &[TAG]).is_empty();
        let kind = match self.table().get(TAG) {
            Some(kind) => kind,
            None if is_missing => &self.file.nothing,
            None => return Err(self.locate(Refused::missing_field(TAG))),
        };
        let kind = self.inner(path, kind);
        let word = kind.word(&KINDS);
        if kind.value.get_ref().as_str() != Some(word) {
            // If the kind is wrong, the other keys cannot be checked.
            self.file.make_up(&self.path);
            self.file.doubt(&self.path);
        }
        let entry = Entry {
            tag: Some(TAG),
            ..self.inner(self.path.clone(), self.value)
        };
        // Serde reads an enum as a map with one entry: the variant and its content.
        let variant = iter::once((word, entry));
        visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(variant)))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u32 u128 f32 f64 char str bytes byte_buf unit unit_struct
        tuple_struct map identifier ignored_any
    }
}
