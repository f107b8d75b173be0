//! The lines that are written, and the instructions that turn the bytes of a value round.

use std::collections::BTreeSet;
use std::fmt::Display;

use crate::text::Type;

/// What has been written of a module.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) text: String,
    /// The declarations of the intrinsic functions that the written lines call.
    pub(crate) declarations: BTreeSet<String>,
    values: usize,
}

impl Output {
    /// Writes a line.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// Writes that memory is not to be read before this line and kept.
    pub(crate) fn barrier(&mut self) {
        self.line("  call void asm sideeffect \"\", \"~{memory}\"()");
    }

    /// Writes an instruction whose result has a new name, and returns the name.
    pub(crate) fn value(&mut self, instruction: impl Display) -> String {
        let name = format!("%cellworks.{}", self.values);
        self.values += 1;
        self.line(format!("  {name} = {instruction}"));
        name
    }

    /// Gives the result of the line written last, `value`, the name `name`.
    pub(crate) fn name_last(&mut self, value: &str, name: &str) {
        let start = self.text.rfind("\n  %").map_or(0, |at| at + 1);
        let definition = format!("  {value} = ");
        debug_assert!(self.text[start..].starts_with(&definition));
        self.text
            .replace_range(start..start + definition.len(), &format!("  {name} = "));
    }

    /// Returns `value` of the type `ty` as integers with the bytes of each turned round.
    ///
    /// It is `None` if the type is not one that lies in memory as whole bytes.
    pub(crate) fn swapped(&mut self, ty: &Type, value: &str) -> Option<(Type, String)> {
        let integer = ty.integer()?;
        let value = self.converted(ty, value, &integer);
        let swapped = self.turned(&integer, &value)?;
        Some((integer, swapped))
    }

    /// Returns the value of the type `ty` whose turned bytes are the integers `value`.
    pub(crate) fn restored(&mut self, ty: &Type, value: &str) -> Option<String> {
        let integer = ty.integer()?;
        let turned = self.turned(&integer, value)?;
        Some(self.converted(&integer, &turned, ty))
    }

    /// Returns the same bits as a value of another type whose lanes have the same width.
    pub(crate) fn converted(&mut self, from: &Type, value: &str, to: &Type) -> String {
        if from == to {
            return value.to_owned();
        }
        let instruction = match (from.lanes().1, to.lanes().1) {
            (Type::Ptr, _) => "ptrtoint",
            (_, Type::Ptr) => "inttoptr",
            _ => "bitcast",
        };
        self.value(format!("{instruction} {from} {value} to {to}"))
    }

    /// Returns the integers with the bytes of each turned round.
    fn turned(&mut self, ty: &Type, value: &str) -> Option<String> {
        let (count, lane) = ty.lanes();
        let bits = lane.bits()?;
        match count {
            _ if bits == 8 => Some(value.to_owned()),
            // The optimiser knows that two of them cancel out. A vector of 128 bits is one shuffle.
            _ if bits > 0 && bits % 16 == 0 => {
                let suffix = count.map_or(String::new(), |count| format!("v{count}"));
                let function = format!("@llvm.bswap.{suffix}{lane}");
                self.declarations
                    .insert(format!("declare {ty} {function}({ty})"));
                Some(self.value(format!("call {ty} {function}({ty} {value})")))
            }
            None if bits > 0 && bits % 8 == 0 => {
                let wide = Type::Int(bits + 8);
                let value = self.value(format!("zext {ty} {value} to {wide}"));
                let turned = self.turned(&wide, &value)?;
                let low = self.value(format!("lshr {wide} {turned}, 8"));
                Some(self.value(format!("trunc {wide} {low} to {ty}")))
            }
            _ => None,
        }
    }
}
