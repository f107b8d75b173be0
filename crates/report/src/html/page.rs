//! The frame of every page: its head, the warnings before the numbers, and its parts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::words::Words;

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// A page that contains its style and its script, and loads no other file.
pub(crate) struct Page<'a> {
    pub command: &'a str,
    pub heading: &'a str,
    pub about: Markup,
    pub notices: Markup,
    /// The names for parts of the machine in `notices` and `parts`: on a computer, CPU for SPE.
    pub words: Words<'a>,
    pub parts: Vec<Part>,
}

/// A part of a page, with a link in the navigation.
pub(crate) struct Part {
    id: &'static str,
    heading: &'static str,
    /// The content. A part whose content is empty is left out of the page.
    content: Markup,
}

impl Part {
    pub(crate) fn new(id: &'static str, heading: &'static str, content: Markup) -> Self {
        Self {
            id,
            heading,
            content,
        }
    }
}

impl Page<'_> {
    pub(crate) fn render(&self) -> String {
        let parts = || self.parts.iter().filter(|part| !part.content.0.is_empty());
        // Only plain words are translated, so the HTML stays valid.
        let translated = |markup: &Markup| PreEscaped(self.words.say(&markup.0));
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.heading) " – cellworks " (self.command) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header {
                        p.command { "cellworks " (self.command) }
                        h1 { (self.heading) }
                        p.parts { (self.about) }
                        nav aria-label="Parts of this page" {
                            @for part in parts() { a href={ "#" (part.id) } { (part.heading) } }
                        }
                    }
                    main {
                        (translated(&self.notices))
                        @for part in parts() {
                            section id=(part.id) { h2 { (part.heading) } (translated(&part.content)) }
                        }
                    }
                    div #hover role="status" hidden {}
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
        .into_string()
    }
}

/// Returns warnings as a box with a heading, or nothing if there are none. `kind` is `doubt` or
/// `warning`.
pub(crate) fn notice(kind: &'static str, heading: &str, sentences: &[String]) -> Markup {
    html! {
        @if !sentences.is_empty() {
            aside class=(kind) role=[(kind == "doubt").then_some("alert")] {
                h2 { (heading) }
                ul { @for sentence in sentences { li { (sentence) } } }
            }
        }
    }
}
