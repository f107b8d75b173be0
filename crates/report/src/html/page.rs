//! The frame of every page: its head, what must be known before the numbers, and its parts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::Words;

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// A page that loads nothing: style and script are in it.
pub(crate) struct Page<'a> {
    /// The command that made it, such as `stats`.
    pub command: &'a str,
    pub heading: &'a str,
    /// What stands below the heading.
    pub about: Markup,
    /// What must be known before the numbers.
    pub notices: Markup,
    /// In which the notices and parts are shown.
    pub words: Words<'a>,
    pub parts: Vec<Part>,
}

/// A part of a page, which the navigation leads to.
pub(crate) struct Part {
    id: &'static str,
    heading: &'static str,
    /// `None` if there is nothing to show: then there is no such part.
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
        // Words stand for words without `<`, `&` or a quote, so that markup stays what it is.
        let said = |markup: &Markup| PreEscaped(self.words.say(&markup.0));
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
                        (said(&self.notices))
                        @for part in parts() {
                            section id=(part.id) { h2 { (part.heading) } @if let Some(content) = &part.content { (said(content)) } }
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

/// Sentences that must be known before the numbers; `kind` is `doubt` or `warning`.
pub(crate) fn notice(kind: &'static str, heading: &str, sentences: &[String]) -> Markup {
    html! {
        aside class=(kind) role=[(kind == "doubt").then_some("alert")] {
            h2 { (heading) }
            ul { @for sentence in sentences { li { (sentence) } } }
        }
    }
}
