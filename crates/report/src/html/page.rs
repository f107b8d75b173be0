//! The frame of every page: its head, what must be known before the numbers, and its parts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// A page that loads nothing: style and script are in it.
pub(crate) struct Page<'a> {
    /// The title of the window.
    pub title: String,
    /// The command that made it, such as `stats`.
    pub command: &'a str,
    pub heading: &'a str,
    /// What stands below the heading.
    pub about: Markup,
    /// What must be known before the numbers.
    pub notices: Markup,
    pub parts: Vec<Part>,
}

/// A part of a page, which the navigation leads to.
pub(crate) struct Part {
    pub id: &'static str,
    pub heading: &'static str,
    pub content: Markup,
}

impl Page<'_> {
    pub(crate) fn render(&self) -> String {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header {
                        p.command { "cellworks " (self.command) }
                        h1 { (self.heading) }
                        p.parts { (self.about) }
                        nav aria-label="Parts of this page" {
                            @for part in &self.parts { a href={ "#" (part.id) } { (part.heading) } }
                        }
                    }
                    main {
                        (self.notices)
                        @for part in &self.parts {
                            section id=(part.id) { h2 { (part.heading) } (part.content) }
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
