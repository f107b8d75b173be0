//! Checks that no files of a crate need each other in a circle, because a reader cannot understand
//! such files one after the other.
//!
//! A file needs another file if it names an item that the other file defines, by `use` or by a path
//! that begins with `crate`, `self` or `super`. A re-export is no definition: the test follows the
//! re-export to the file that defines the name. A file also needs another file if it calls a method
//! that the other file gives to a type (`impl Type` without a trait). The test knows the type of
//! `self`, of parameters, and of their fields. Modules of tests do not count.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// The needs that may close a circle: a file, the file that it needs, and the reason. A circle
/// without one of these needs is an error, even if it leads through the same files as an allowed
/// circle.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "tasks/src/scope/closure.rs",
        "tasks/src/worker/mod.rs",
        "a closure is given the worker that runs it, and a worker has a queue of closures",
    ),
    (
        "tasks/src/phase/work.rs",
        "tasks/src/worker/mod.rs",
        "the body of a task is given the worker that runs it, and a worker has a queue of tasks",
    ),
];

#[test]
fn no_files_of_a_crate_need_each_other() {
    let mut circles = Vec::new();
    let mut closing = Vec::new();
    for one in &*CRATES {
        let mut needs = one.needs();
        let mut removed: Vec<_> = ALLOWED.iter().collect();
        removed.retain(|(file, needed, _)| needs.remove(file, needed));
        removed.retain(|(file, needed, _)| needs.way(needed, file).is_some());
        closing.extend(removed);
        circles.extend(needs.circles());
    }
    circles.sort();
    assert!(
        circles.is_empty(),
        "{} circles of files that need each other; move what is named to where it belongs:\n\n{}",
        circles.len(),
        circles.join("\n"),
    );
    for allowed @ (file, needed, _) in ALLOWED {
        assert!(
            closing.contains(&allowed),
            "the need of {file} for {needed} closes no circle any more; take it out of the list"
        );
    }
}

#[test]
fn a_new_circle_through_the_same_files_is_found() {
    let mut needs = Needs::default();
    for (file, needed) in [("work", "worker"), ("worker", "queue"), ("queue", "work")] {
        needs.add(file, needed, "Name");
    }
    let circle = "  queue needs Name of\n  work needs Name of\n  worker needs Name of\n  queue\n";
    assert_eq!(needs.circles(), BTreeSet::from([circle.to_owned()]));
    assert!(needs.remove("work", "worker"));
    assert_eq!(needs.circles(), BTreeSet::new());

    for (file, new, circle) in [
        (
            "work",
            "queue",
            "  queue needs Name of\n  work needs New of\n  queue\n",
        ),
        (
            "queue",
            "worker",
            "  queue needs New of\n  worker needs Name of\n  queue\n",
        ),
    ] {
        needs.add(file, new, "New");
        assert_eq!(needs.circles(), BTreeSet::from([circle.to_owned()]));
        assert!(needs.remove(file, new));
    }
}

#[test]
fn a_circle_by_a_method_is_found() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("circle");
    fs::create_dir_all(&folder).unwrap();
    let whole = "mod part; pub struct Whole; impl Whole { fn begin(&self) { self.go_on(); } }";
    fs::write(folder.join("lib.rs"), whole).unwrap();
    let part = "use crate::Whole; impl Whole { pub fn go_on(&self) {} }";
    fs::write(folder.join("part.rs"), part).unwrap();
    let circles = Crate::read(&folder.join("lib.rs")).needs().circles();
    assert_eq!(circles.len(), 1);
    assert!(circles.first().unwrap().contains("needs Whole::go_on of"));
}

/// The root of a crate re-exports items for the users of the crate. Within the crate, a path names
/// the module that has the item, so that a reader sees which file is needed.
#[test]
fn no_file_names_an_item_by_a_re_export_of_the_root() {
    let found: Vec<_> = CRATES.iter().flat_map(Crate::named_by_the_root).collect();
    assert!(
        found.is_empty(),
        "name the module that has the item:\n{}",
        found.join("\n")
    );
}

/// Reading all files takes seconds, so both tests use what was read once.
static CRATES: LazyLock<Vec<Crate>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut crates = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let source = entry.unwrap().path().join("src");
        for root in ["lib.rs", "main.rs"] {
            if source.join(root).is_file() {
                crates.push(Crate::read(&source.join(root)));
            }
        }
    }
    crates
});

type ModulePath = Vec<String>;

/// The modules of a crate, and their imports from each other.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

#[derive(Default)]
struct Module {
    file: PathBuf,
    aliases: HashMap<String, ModulePath>,
    globs: Vec<ModulePath>,
    defines: BTreeSet<String>,
    /// The items of this crate that the module names, by paths from the root.
    uses: BTreeSet<ModulePath>,
    /// The methods that the module gives to types, each with the path of its type.
    methods: BTreeSet<(ModulePath, String)>,
    /// The type of each field of each structure of this module.
    fields: HashMap<(String, String), ModulePath>,
    calls: Vec<Call>,
}

/// A call of a method: of `of`, or of a field of it.
struct Call {
    of: ModulePath,
    fields: Vec<String>,
    method: String,
}

impl Crate {
    fn read(root: &Path) -> Self {
        let mut found = Self::default();
        found.read_file(root, Vec::new(), root.parent().unwrap().to_owned());
        found
    }

    fn read_file(&mut self, file: &Path, path: ModulePath, children: PathBuf) {
        let text = fs::read_to_string(file).unwrap();
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        self.read_items(file, path, &children, &parsed.items);
    }

    fn read_items(&mut self, file: &Path, path: ModulePath, children: &Path, items: &[Item]) {
        let mut module = Module {
            file: file.to_owned(),
            ..Module::default()
        };
        for item in items {
            if let Some(name) = defined_name(item) {
                module.defines.insert(name);
            }
            let Item::Mod(inner) = item else {
                continue;
            };
            if is_for_tests(&inner.attrs) {
                continue;
            }
            let name = inner.ident.to_string();
            let inner_path = [path.as_slice(), std::slice::from_ref(&name)].concat();
            let inner_children = children.join(&name);
            if let Some((_, items)) = &inner.content {
                self.read_items(file, inner_path, &inner_children, items);
                continue;
            }
            let beside = children.join(format!("{name}.rs"));
            let within = inner_children.join("mod.rs");
            let inner_file = if beside.is_file() { beside } else { within };
            self.read_file(&inner_file, inner_path, inner_children);
        }
        let mut names = Names {
            path: &path,
            module: &mut module,
            is_type: None,
            typed: HashMap::new(),
        };
        for item in items {
            if !is_for_tests(attributes(item)) {
                names.visit_item(item);
            }
        }
        self.modules.insert(path, module);
    }

    /// Returns the file that defines the item at a path from the root, or `None` if the item is not
    /// in this crate.
    fn definer(&self, path: &[String], depth: usize) -> Option<&Path> {
        // Two re-exports may refer to each other without end.
        if depth > 20 {
            return None;
        }
        let deepest = (0..=path.len())
            .rev()
            .find(|&length| self.modules.contains_key(&path[..length]))?;
        let module = &self.modules[&path[..deepest]];
        let Some(name) = path.get(deepest) else {
            return Some(&module.file);
        };
        if let Some(to) = module.aliases.get(name) {
            let to = [to, &path[deepest + 1..]].concat();
            return self.definer(&to, depth + 1);
        }
        if module.defines.contains(name) {
            return Some(&module.file);
        }
        module.globs.iter().find_map(|glob| {
            let to = [glob, &path[deepest..]].concat();
            self.definer(&to, depth + 1)
        })
    }

    fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for module in self.modules.values() {
            for path in &module.uses {
                if let Some(to) = self.definer(path, 0)
                    && to != module.file
                {
                    needs.add(&short(&module.file), &short(to), &path.join("::"));
                }
            }
        }
        let mut methods: HashMap<_, &Path> = HashMap::new();
        for module in self.modules.values() {
            for (of, method) in &module.methods {
                if let Some(of) = self.type_at(of) {
                    methods.insert((of, method), &module.file);
                }
            }
        }
        for module in self.modules.values() {
            for call in &module.calls {
                if let Some(of) = self.receiver(call)
                    && let Some(&to) = methods.get(&(of.clone(), &call.method))
                    && to != module.file
                {
                    let name = format!("{}::{}", of.1, call.method);
                    needs.add(&short(&module.file), &short(to), &name);
                }
            }
        }
        needs
    }

    /// Returns the file that defines the type at a path, and the name of the type.
    fn type_at(&self, path: &[String]) -> Option<(PathBuf, String)> {
        Some((self.definer(path, 0)?.to_owned(), path.last()?.clone()))
    }

    /// Returns the type whose method is called, if this crate defines it.
    fn receiver(&self, call: &Call) -> Option<(PathBuf, String)> {
        let mut of = self.type_at(&call.of)?;
        for field in &call.fields {
            let fields = (of.1, field.clone());
            let in_file = self.modules.values().filter(|module| module.file == of.0);
            let types = in_file.filter_map(|module| module.fields.get(&fields));
            of = types.filter_map(|path| self.type_at(path)).next()?;
        }
        Some(of)
    }

    /// Returns each path by which a file names an item through a re-export of the root.
    fn named_by_the_root(&self) -> Vec<String> {
        let root = &self.modules[&ModulePath::new()];
        // A path may begin with an item of the root, or with an alias of a module. For example,
        // `cfg` attributes of `threads` choose which module has the alias `sanitizer`.
        let is_of_the_root = |name: &String| {
            let to = root.aliases.get(name);
            root.defines.contains(name) || to.is_some_and(|to| self.modules.contains_key(to))
        };
        let is_re_export = |path: &ModulePath| {
            path.first().is_some_and(|name| !is_of_the_root(name))
                && self.definer(path, 0).is_some()
        };
        let mut found = Vec::new();
        for module in self.modules.values().filter(|it| it.file != root.file) {
            let named = module.uses.iter().filter(|&path| is_re_export(path));
            found.extend(
                named.map(|path| format!("  {}: crate::{}", short(&module.file), path.join("::"))),
            );
        }
        found
    }
}

/// Maps each file to the files that it needs, each with one of the needed names.
#[derive(Default)]
struct Needs(BTreeMap<String, BTreeMap<String, String>>);

impl Needs {
    fn add(&mut self, file: &str, needed: &str, name: &str) {
        let names = self.0.entry(file.to_owned()).or_default();
        names.entry(needed.to_owned()).or_insert(name.to_owned());
    }

    /// Removes a need, and returns whether there was one.
    fn remove(&mut self, file: &str, needed: &str) -> bool {
        let needed_by = self.0.get_mut(file);
        needed_by.is_some_and(|names| names.remove(needed).is_some())
    }

    /// Returns the files of the shortest way along needs, from `start` to the file before `end`.
    fn way<'a>(&'a self, start: &'a str, end: &str) -> Option<Vec<&'a str>> {
        let mut from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(file) = queue.pop_front() {
            for to in self.0.get(file).into_iter().flat_map(|to| to.keys()) {
                if to == end {
                    let before = |file: &&'a str| from.get(file).copied();
                    let mut way: Vec<_> = std::iter::successors(Some(file), before).collect();
                    way.reverse();
                    return Some(way);
                }
                if to != start {
                    from.entry(to).or_insert_with(|| {
                        queue.push_back(to);
                        file
                    });
                }
            }
        }
        None
    }

    /// Returns the shortest circle through each file that is in a circle, each circle once.
    fn circles(&self) -> BTreeSet<String> {
        let files = self.0.keys();
        let circles = files.filter_map(|file| Some(self.circle(self.way(file, file)?)));
        circles.collect()
    }

    /// Returns the text of a circle, from the circle's first file in alphabetical order.
    fn circle(&self, mut files: Vec<&str>) -> String {
        let first = (0..files.len()).min_by_key(|&index| files[index]).unwrap();
        files.rotate_left(first);
        let next = files.iter().cycle().skip(1);
        let lines = files
            .iter()
            .zip(next)
            .map(|(&file, &to)| format!("  {file} needs {} of\n", self.0[file][to]));
        format!("{}  {}\n", lines.collect::<String>(), files[0])
    }
}

/// The path of a file, relative to the folder of crates.
fn short(file: &Path) -> String {
    let text = file.to_string_lossy();
    text.rsplit_once("../")
        .map_or(&*text, |(_, path)| path)
        .to_owned()
}

struct Names<'a> {
    path: &'a ModulePath,
    module: &'a mut Module,
    /// The type that an `impl` is for.
    is_type: Option<ModulePath>,
    /// The types of the parameters of a function.
    typed: HashMap<String, ModulePath>,
}

impl Names<'_> {
    /// Returns the path from the root, if the written path leads into this crate.
    fn absolute(&self, written: &[String]) -> Option<ModulePath> {
        let mut base = self.path.clone();
        match written.first()?.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                let up = written.iter().take_while(|part| *part == "super").count();
                base.truncate(base.len() - up);
                return Some([&base, &written[up..]].concat());
            }
            _ => return None,
        }
        Some([&base, &written[1..]].concat())
    }

    fn add_use(&mut self, tree: &UseTree, before: &[String], is_export: bool) {
        match tree {
            UseTree::Path(path) => {
                let before = [before, &[path.ident.to_string()]].concat();
                self.add_use(&path.tree, &before, is_export);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_use(tree, before, is_export);
                }
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.add_name(before, name.clone(), name, is_export);
            }
            UseTree::Rename(rename) => {
                let (name, as_name) = (rename.ident.to_string(), rename.rename.to_string());
                self.add_name(before, name, as_name, is_export);
            }
            UseTree::Glob(_) => {
                if let Some(path) = self.absolute_or_child(before) {
                    if is_export {
                        self.module.globs.push(path);
                    } else {
                        self.module.uses.insert(path);
                    }
                }
            }
        }
    }

    fn add_name(&mut self, before: &[String], name: String, as_name: String, is_export: bool) {
        let mut written = before.to_vec();
        if name != "self" {
            written.push(name);
        }
        let Some(path) = self.absolute_or_child(&written) else {
            return;
        };
        if !is_export {
            self.module.uses.insert(path.clone());
        }
        // A child module may import the names that its parent imports.
        self.module.aliases.insert(as_name, path);
    }

    /// Does the same as [`absolute`](Self::absolute), but a `use` may also begin with a child of
    /// this module.
    fn absolute_or_child(&self, written: &[String]) -> Option<ModulePath> {
        self.absolute(written).or_else(|| {
            let first = written.first()?;
            let is_child = self.module.defines.contains(first);
            is_child.then(|| [self.path.as_slice(), written].concat())
        })
    }
}

impl Names<'_> {
    /// Returns the path of a type, without the references and boxes around it.
    fn type_path(&self, written: &syn::Type) -> Option<ModulePath> {
        let syn::Type::Path(written) = written else {
            return match written {
                syn::Type::Reference(reference) => self.type_path(&reference.elem),
                _ => None,
            };
        };
        let last = written.path.segments.last()?;
        if let "Arc" | "Box" | "Rc" = last.ident.to_string().as_str()
            && let syn::PathArguments::AngleBracketed(of) = &last.arguments
            && let Some(syn::GenericArgument::Type(inner)) = of.args.first()
        {
            return self.type_path(inner);
        }
        let names: Vec<_> = written
            .path
            .segments
            .iter()
            .map(|it| it.ident.to_string())
            .collect();
        if names == ["Self"] {
            return self.is_type.clone();
        }
        Some(
            self.absolute(&names)
                .unwrap_or_else(|| [self.path.as_slice(), &names].concat()),
        )
    }

    /// Returns the type and the fields of a receiver such as `self.queue`.
    fn receiver(&self, written: &syn::Expr) -> Option<(ModulePath, Vec<String>)> {
        match written {
            syn::Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                let of = if name == "self" {
                    self.is_type.as_ref()
                } else {
                    self.typed.get(&name)
                };
                Some((of?.clone(), Vec::new()))
            }
            syn::Expr::Field(field) => {
                let (of, mut fields) = self.receiver(&field.base)?;
                match &field.member {
                    syn::Member::Named(name) => fields.push(name.to_string()),
                    syn::Member::Unnamed(_) => return None,
                }
                Some((of, fields))
            }
            syn::Expr::Reference(inner) => self.receiver(&inner.expr),
            syn::Expr::Paren(inner) => self.receiver(&inner.expr),
            _ => None,
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of = self.type_path(&item.self_ty);
        if item.trait_.is_none()
            && let Some(of) = &of
        {
            for item in &item.items {
                if let syn::ImplItem::Fn(method) = item
                    && !is_for_tests(&method.attrs)
                {
                    self.module
                        .methods
                        .insert((of.clone(), method.sig.ident.to_string()));
                }
            }
        }
        let before = std::mem::replace(&mut self.is_type, of);
        visit::visit_item_impl(self, item);
        self.is_type = before;
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        for field in &item.fields {
            if let (Some(name), Some(of)) = (&field.ident, self.type_path(&field.ty)) {
                let field = (item.ident.to_string(), name.to_string());
                self.module.fields.insert(field, of);
            }
        }
        visit::visit_item_struct(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.typed.clear();
        for input in &signature.inputs {
            if let syn::FnArg::Typed(input) = input
                && let syn::Pat::Ident(name) = &*input.pat
                && let Some(of) = self.type_path(&input.ty)
            {
                self.typed.insert(name.ident.to_string(), of);
            }
        }
        visit::visit_signature(self, signature);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let Some((of, fields)) = self.receiver(&call.receiver) {
            let method = call.method.to_string();
            self.module.calls.push(Call { of, fields, method });
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_export = !matches!(item.vis, Visibility::Inherited);
        self.add_use(&item.tree, &[], is_export);
    }

    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {
        // A nested module is read on its own.
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let written: Vec<_> = path
            .segments
            .iter()
            .map(|it| it.ident.to_string())
            .collect();
        let leads_on = written.len() > 1;
        if let Some(path) = leads_on.then(|| self.absolute_or_child(&written)).flatten() {
            self.module.uses.insert(path);
        }
        visit::visit_path(self, path);
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let meta = attribute.meta.require_list();
        meta.is_ok_and(|meta| {
            let words = meta.tokens.to_string();
            meta.path.is_ident("cfg") && words.contains("test") && !words.contains("not (test")
        })
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn defined_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}
