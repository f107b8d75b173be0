//! What clang says of an intrinsic that was called with wrong types, in a few lines.
//!
//! Each intrinsic is a function for each type of vector, and clang says of each of them, and of the
//! macros that define it, why it does not fit: 130 lines for a call of `spu_add`.

/// The start of the names of our headers that define intrinsics.
const HEADERS: &str = "/cellworks_";

/// Returns what clang said, in which one line stands for all forms of an intrinsic.
pub(super) fn shortened(said: &str) -> String {
    let mut kept = String::new();
    let mut call: Option<Call> = None;
    for line in said.lines() {
        let text = without_colors(line);
        let begins = [": error: ", ": fatal error: ", ": warning: "]
            .iter()
            .any(|word| text.contains(word));
        if begins || text.starts_with("In file included from ") || text.ends_with(" generated.") {
            kept.extend(call.take().and_then(Call::note));
            call = Call::of(&text);
        } else if let Some(call) = &mut call
            && call.is_about(&text)
        {
            continue;
        }
        kept += line;
        kept.push('\n');
    }
    kept.extend(call.and_then(Call::note));
    kept
}

/// A call that fits no form of a function, or more than one.
struct Call {
    name: String,
    /// Whether lines about the forms of an intrinsic have begun.
    is_intrinsic: bool,
    /// The number of arguments that a form takes, and the number of those given.
    counts: Option<(String, String)>,
    /// The argument with the highest number that does not fit, its type, and the types that fit.
    wrong: Option<(String, String, Vec<String>)>,
}

impl Call {
    /// Returns the call that an error is about.
    fn of(error: &str) -> Option<Self> {
        let (_, rest) = error
            .split_once("no matching function for call to '")
            .or_else(|| error.split_once(": error: call to '"))?;
        let (name, _) = rest.split_once('\'')?;
        Some(Self {
            name: name.to_owned(),
            is_intrinsic: false,
            counts: None,
            wrong: None,
        })
    }

    /// Reads a line if it is about a form of an intrinsic, or follows one.
    fn is_about(&mut self, line: &str) -> bool {
        if let Some((place, why)) = line.split_once(": note: candidate ") {
            self.is_intrinsic |= place.contains(HEADERS);
            self.counts = self.counts.take().or_else(|| counts(why));
            if let Some((number, given, taken)) = conversion(why) {
                match &mut self.wrong {
                    Some((known, _, types)) if *known == number => {
                        if !types.contains(&taken) {
                            types.push(taken);
                        }
                    }
                    // "2nd" is behind "1st".
                    Some((known, ..)) if *known > number => {}
                    _ => self.wrong = Some((number, given, vec![taken])),
                }
            }
        }
        self.is_intrinsic
    }

    /// Returns the line that stands for those about the forms.
    fn note(self) -> Option<String> {
        let Self { name, .. } = self;
        self.is_intrinsic.then(|| match (self.wrong, self.counts) {
            (Some((number, given, taken)), _) => {
                let taken = taken.join(", ");
                format!("note: the {number} argument of {name} is {given}, and fits if it is {taken}\n")
            }
            (None, Some((taken, given))) => {
                format!("note: {name} takes {taken} arguments, and {given} were given\n")
            }
            (None, None) => format!(
                "note: more than one form of {name} fits; cast the arguments to the types of its vectors\n"
            ),
        })
    }
}

/// Reads "... requires 3 arguments, but 2 were provided".
fn counts(why: &str) -> Option<(String, String)> {
    let (_, rest) = why.split_once("requires ")?;
    let (taken, rest) = rest.split_once(" argument")?;
    let (_, rest) = rest.split_once("but ")?;
    let (given, _) = rest.split_once(" w")?;
    Some((taken.to_owned(), given.to_owned()))
}

/// Reads "... no known conversion from 'A' (...) to 'B' (...) for 2nd argument": the number and the
/// types.
fn conversion(why: &str) -> Option<(String, String, String)> {
    let (_, rest) = why.split_once("no known conversion from '")?;
    let (given, rest) = rest.split_once('\'')?;
    let (_, rest) = rest.split_once(" to '")?;
    let (taken, rest) = rest.split_once('\'')?;
    let (_, rest) = rest.rsplit_once(" for ")?;
    let (number, _) = rest.split_once(" argument")?;
    Some([number, given, taken].map(str::to_owned).into())
}

/// Returns a line without the codes that color it on a terminal.
fn without_colors(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += part.split_once('m').map_or(part, |(_, rest)| rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANDIDATE: &str =
        "/c/include/common/cellworks_spu.h:111:16: note: candidate function not viable: ";

    #[test]
    fn the_forms_of_an_intrinsic_become_one_line() {
        let said = format!(
            "a.c:4:12: error: no matching function for call to 'spu_add'\n\
             \x20   4 |     return spu_add(a, b);\n\
             {CANDIDATE}no known conversion from '__vector float' (vector of 4 'float' values) to 'vec_uint4' \
             (vector of 4 'unsigned int' values) for 1st argument\n\
             \x20 111 | __CW_EACH_HALF(__CW_ADD, )\n\
             /c/include/common/cellworks_spu.h:42:3: note: expanded from macro '__CW_EACH_LONG'\n\
             {CANDIDATE}no known conversion from '__vector unsigned int' (vector of 4 'unsigned int' values) to \
             'vec_float4' (vector of 4 'float' values) for 2nd argument\n\
             a.c:5:1: \u{1b}[0;1;31merror: \u{1b}[0mno matching function for call to 'spu_sel'\n\
             {CANDIDATE}requires 3 arguments, but 2 were provided\n\
             a.c:6:1: error: call to 'spu_splats' is ambiguous\n\
             /c/include/common/cellworks_spu.h:60:1: note: candidate function\n\
             2 errors generated.\n"
        );
        assert_eq!(
            shortened(&said),
            "a.c:4:12: error: no matching function for call to 'spu_add'\n\
             \x20   4 |     return spu_add(a, b);\n\
             note: the 2nd argument of spu_add is __vector unsigned int, and fits if it is vec_float4\n\
             a.c:5:1: \u{1b}[0;1;31merror: \u{1b}[0mno matching function for call to 'spu_sel'\n\
             note: spu_sel takes 3 arguments, and 2 were given\n\
             a.c:6:1: error: call to 'spu_splats' is ambiguous\n\
             note: more than one form of spu_splats fits; cast the arguments to the types of its vectors\n\
             2 errors generated.\n"
        );
    }

    #[test]
    fn what_is_said_of_a_users_function_stays() {
        let said = "a.cpp:4:12: error: no matching function for call to 'f'\n\
                    a.cpp:1:5: note: candidate function not viable: requires 1 argument, but 2 were provided\n\
                    \x20   1 | int f(int);\n\
                    a.cpp:9:1: warning: unused\n";
        assert_eq!(shortened(said), said);
    }
}
