//! The frame of every page: its head, the warnings before the numbers, and its parts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::Words;

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// A page that loads no other file: it contains its style and its script.
pub(crate) struct Page<'a> {
    /// The command that made the page, such as `stats`.
    pub command: &'a str,
    pub heading: &'a str,
    /// The text below the heading.
    pub about: Markup,
    /// The warnings that a reader must see before the numbers.
    pub notices: Markup,
    /// The words in which the notices and parts are shown.
    pub words: Words<'a>,
    pub parts: Vec<Part>,
}

/// A part of a page, with a link in the navigation.
pub(crate) struct Part {
    id: &'static str,
    heading: &'static str,
    /// The content. If it is `None`, the page does not have this part.
    content: Option<Markup>,
}

impl Part {
    pub(crate) fn new(id: &'static str, heading: &'static str, content: Option<Markup>) -> Self {
        Self {
            id,
            heading,
            content,
        }
    }
}

impl Page<'_> {
    pub(crate) fn render(&self) -> String {
        let parts = || self.parts.iter().filter(|part| part.content.is_some());
        // The replaced words and their replacements contain no `<`, `&` or quote, so the markup
        // does not change.
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
                            section id=(part.id) { h2 { (part.heading) } @if let Some(content) = &part.content { (translated(content)) } }
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

/// Warnings before the numbers, as sentences. `kind` is `doubt` or `warning`.
pub(crate) fn notice(kind: &'static str, heading: &str, sentences: &[String]) -> Markup {
    html! {
        aside class=(kind) role=[(kind == "doubt").then_some("alert")] {
            h2 { (heading) }
            ul { @for sentence in sentences { li { (sentence) } } }
        }
    }
}
