//! The parts of a machine: SPEs in Cells, memory modules, and the distances between them.

use std::collections::BTreeSet;
use std::fmt;

use crate::capabilities::Capabilities;
use crate::id::{CellId, ModuleId, SpeId};

/// The parts of a machine. In each Cell, programs should first use the SPEs with the lowest ids.
///
/// ```
/// use cellworks_machine::{CellId, Distance, ModuleId, SpeId, SpeSite, Topology};
///
/// let site = |cell| SpeSite { cell: CellId::new(cell), core: None, place: String::new() };
/// let blade = Topology::new("a small blade", vec![ModuleId::new(0), ModuleId::new(1)], vec![site(0), site(0), site(1)]);
/// let spe = SpeId::new;
/// assert_eq!(blade.distance(spe(0), spe(1)), Distance::SameCell);
/// assert_eq!(blade.distance(spe(0), spe(2)), Distance::AcrossModules);
/// assert_eq!(blade.spes_of(CellId::new(1)).collect::<Vec<_>>(), [spe(2)]);
/// ```
#[derive(Clone, Debug)]
pub struct Topology {
    name: String,
    /// The nearest memory module of each Cell.
    cells: Vec<ModuleId>,
    spes: Vec<SpeSite>,
    /// The nearest memory module of each SPE, if it differs between SPEs of one Cell.
    modules_of_spes: Option<Vec<ModuleId>>,
    /// All memory modules, by ascending number.
    modules: Vec<ModuleId>,
    place_of_ppe: Option<String>,
    last_level_cache_bytes: Option<usize>,
    cache_levels: Option<usize>,
    capabilities: Capabilities,
}

/// The place of one SPE.
#[derive(Clone, Debug)]
pub struct SpeSite {
    /// The Cell of the SPE.
    pub cell: CellId,
    /// The identifier of the core, if other SPEs may share it. SPEs share a core if they are
    /// hardware threads of this core, or if they run on the same CPU.
    pub core: Option<u32>,
    /// The user-visible name of the place, such as `CPU 3`. May be empty.
    pub place: String,
}

/// The distance between two SPEs, from near to far. [`Topology::name_of`] returns the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// The same SPE.
    Same,
    /// Two SPEs on one core, such as two hardware threads of a host's core.
    SameCore,
    /// SPEs of one Cell. On a host, their cores share a last-level cache.
    SameCell,
    /// SPEs of two Cells that have the same nearest memory module.
    AcrossCells,
    /// SPEs of two Cells with different nearest memory modules, as on blades and NUMA hosts.
    AcrossModules,
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Distance {
    const fn name(self) -> &'static str {
        match self {
            Self::Same => "same SPE",
            Self::SameCore => "same core",
            Self::SameCell => "same Cell",
            Self::AcrossCells => "across Cells",
            Self::AcrossModules => "across memory modules",
        }
    }
}

impl Topology {
    /// Returns a machine: `cells[c]` is the memory module nearest to Cell `c`, and `spes[s]` is the
    /// place of SPE `s`. The memory modules are those from 0 to the highest in `cells`.
    ///
    /// # Panics
    ///
    /// Panics if there is no Cell, or an SPE refers to a Cell that is not in `cells`.
    pub fn new(name: impl Into<String>, cells: Vec<ModuleId>, spes: Vec<SpeSite>) -> Self {
        assert!(!cells.is_empty(), "a machine has at least one Cell");
        for (index, site) in spes.iter().enumerate() {
            assert!(
                site.cell.index() < cells.len(),
                "SPE {index} sits in {}, but the machine has {} Cells",
                site.cell,
                cells.len()
            );
        }
        let highest = cells.iter().max().map_or(0, |module| module.index());
        Self {
            name: name.into(),
            cells,
            spes,
            modules_of_spes: None,
            modules: (0..=highest as u16).map(ModuleId::new).collect(),
            place_of_ppe: None,
            last_level_cache_bytes: None,
            cache_levels: None,
            capabilities: Capabilities::default(),
        }
    }

    /// Returns the machine with at least `count` memory modules. Added modules are near no Cell.
    #[must_use]
    pub fn with_modules(mut self, count: u16) -> Self {
        let has = self.modules.len() as u16;
        self.modules.extend((has..count).map(ModuleId::new));
        self
    }

    /// Returns the same machine with exactly these memory modules. Their numbers may have gaps, as
    /// those of a computer's NUMA nodes. Call this method last.
    ///
    /// # Panics
    ///
    /// Panics if a module that is nearest to a Cell or an SPE is not among them.
    ///
    /// ```
    /// use cellworks_machine::{ModuleId, Topology};
    /// let modules = [0, 2].map(ModuleId::new);
    /// let machine = Topology::new("node 1 has no memory", modules.to_vec(), Vec::new())
    ///     .with_exactly_modules(modules.to_vec());
    /// assert_eq!(machine.modules().collect::<Vec<_>>(), modules);
    /// ```
    #[must_use]
    pub fn with_exactly_modules(mut self, mut modules: Vec<ModuleId>) -> Self {
        modules.sort_unstable();
        modules.dedup();
        let of_spes = self.modules_of_spes.iter().flatten();
        for nearest in self.cells.iter().chain(of_spes) {
            assert!(modules.contains(nearest), "{nearest} is near a part");
        }
        self.modules = modules;
        self
    }

    /// Returns the same machine with `modules[s]` as the memory module nearest to SPE `s`, for
    /// Cells with several modules (sub-NUMA clustering). The default is the module of the Cell.
    ///
    /// # Panics
    ///
    /// Panics if the number of modules is not the number of SPEs.
    ///
    /// ```
    /// use cellworks_machine::{CellId, Distance, ModuleId, SpeId, SpeSite, Topology};
    /// let site = |cell| SpeSite { cell: CellId::new(cell), core: None, place: String::new() };
    /// let modules = [0, 1, 0].map(ModuleId::new);
    /// let machine = Topology::new("two Cells", vec![modules[0]; 2], [0, 0, 1].map(site).to_vec())
    ///     .with_modules_of_spes(modules.to_vec());
    /// assert_eq!(machine.modules().len(), 2);
    /// let spe = SpeId::new;
    /// assert_eq!(machine.module_of(spe(1)), modules[1]);
    /// assert_eq!(machine.distance(spe(0), spe(2)), Distance::AcrossCells);
    /// assert_eq!(machine.distance(spe(1), spe(2)), Distance::AcrossModules);
    /// ```
    #[must_use]
    pub fn with_modules_of_spes(mut self, modules: Vec<ModuleId>) -> Self {
        let (spes, given) = (self.spes.len(), modules.len());
        assert_eq!(given, spes, "{given} memory modules for {spes} SPEs");
        let highest = modules.iter().map(|module| module.index()).max();
        self.modules_of_spes = Some(modules);
        self.with_modules(highest.map_or(0, |highest| highest as u16 + 1))
    }

    /// Returns the same machine with these capabilities.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Returns the capabilities, by default [`Capabilities::default`].
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Returns the name of the machine.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns all SPEs, ordered by id.
    pub fn spes(&self) -> impl ExactSizeIterator<Item = SpeId> + Clone + use<> {
        (0..self.spes.len() as u16).map(SpeId::new)
    }

    /// Returns all Cells.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = CellId> + Clone + use<> {
        (0..self.cells.len() as u16).map(CellId::new)
    }

    /// Returns all memory modules, by ascending number. The numbers of a computer's modules are
    /// those of its NUMA nodes, and may have gaps.
    pub fn modules(&self) -> impl ExactSizeIterator<Item = ModuleId> + Clone + use<> {
        self.modules.clone().into_iter()
    }

    /// Returns the SPEs of one Cell, ordered by id.
    pub fn spes_of(&self, cell: CellId) -> impl Iterator<Item = SpeId> + Clone + '_ {
        self.spes()
            .filter(move |spe| self.spes[spe.index()].cell == cell)
    }

    /// Returns the Cell of an SPE.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no such SPE.
    #[track_caller]
    pub fn cell_of(&self, spe: SpeId) -> CellId {
        self.spe(spe).cell
    }

    /// Returns the user-visible name of an SPE's place, such as `CPU 3`, which may be empty.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no such SPE.
    #[track_caller]
    pub fn place_of(&self, spe: SpeId) -> &str {
        &self.spe(spe).place
    }

    #[track_caller]
    fn spe(&self, spe: SpeId) -> &SpeSite {
        self.spes.get(spe.index()).unwrap_or_else(|| {
            panic!(
                "{spe} was named, but {} has {} SPEs, 0 to {}; use `topology().spes()`",
                self.name,
                self.spes.len(),
                self.spes.len().saturating_sub(1)
            )
        })
    }

    /// Returns the same machine with `place` as the user-visible name of the PPE's place.
    #[must_use]
    pub fn with_place_of_ppe(mut self, place: impl Into<String>) -> Self {
        self.place_of_ppe = Some(place.into());
        self
    }

    /// Returns the user-visible name of the PPE's place, such as `CPU 0`, if it has one.
    pub fn place_of_ppe(&self) -> Option<&str> {
        self.place_of_ppe.as_deref()
    }

    /// Returns the same machine with a last-level cache of `bytes` bytes for each Cell.
    #[must_use]
    pub fn with_last_level_cache(mut self, bytes: usize) -> Self {
        self.last_level_cache_bytes = Some(bytes);
        self
    }

    /// Returns the size of a Cell's last-level cache in bytes, if it is known.
    pub fn last_level_cache_bytes(&self) -> Option<usize> {
        self.last_level_cache_bytes
    }

    /// Returns the same machine with `levels` levels of caches.
    #[must_use]
    pub fn with_cache_levels(mut self, levels: usize) -> Self {
        self.cache_levels = Some(levels);
        self
    }

    /// Returns the number of levels of caches, if it is known.
    pub fn cache_levels(&self) -> Option<usize> {
        self.cache_levels
    }

    /// Returns the memory module nearest to an SPE.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no such SPE.
    #[track_caller]
    pub fn module_of(&self, spe: SpeId) -> ModuleId {
        let cell = self.cell_of(spe);
        match &self.modules_of_spes {
            Some(modules) => modules[spe.index()],
            None => self.nearest_module(cell),
        }
    }

    /// Returns the memory module nearest to a Cell. If the Cell's SPEs have different [nearest
    /// modules](Self::module_of), this is the module of the SPEs that a program should use first.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no such Cell.
    pub fn nearest_module(&self, cell: CellId) -> ModuleId {
        self.cells[cell.index()]
    }

    /// Returns the user-visible name of a distance on this machine. If the machine has two Cells,
    /// the distance between them is `other Cell`. With more Cells, the name of
    /// [`Distance::AcrossModules`] is `across Cells` if each Cell has its own nearest module, or
    /// else `across memory modules`.
    ///
    /// ```
    /// use cellworks_machine::{Distance, ModuleId, Topology};
    /// let name = |nearest_modules: &[u16]| {
    ///     let cells = nearest_modules.iter().copied().map(ModuleId::new).collect();
    ///     Topology::new("a machine", cells, Vec::new()).name_of(Distance::AcrossModules)
    /// };
    /// assert_eq!(name(&[0, 1]), "other Cell");
    /// assert_eq!(name(&[0, 1, 2]), "across Cells");
    /// assert_eq!(name(&[0, 0, 1, 1]), "across memory modules");
    /// ```
    pub fn name_of(&self, distance: Distance) -> &'static str {
        let modules: BTreeSet<ModuleId> = self.cells.iter().copied().collect();
        let each_has_its_own = modules.len() == self.cells.len();
        match distance {
            Distance::AcrossCells | Distance::AcrossModules if self.cells.len() == 2 => {
                "other Cell"
            }
            Distance::AcrossModules if each_has_its_own => Distance::AcrossCells.name(),
            distance => distance.name(),
        }
    }

    /// Returns the distance between two SPEs.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no such SPE.
    #[track_caller]
    pub fn distance(&self, a: SpeId, b: SpeId) -> Distance {
        let (of_a, of_b) = (self.spe(a), self.spe(b));
        if a == b {
            Distance::Same
        } else if of_a.core.is_some() && of_a.core == of_b.core {
            Distance::SameCore
        } else if of_a.cell == of_b.cell {
            Distance::SameCell
        } else if self.module_of(a) == self.module_of(b) {
            Distance::AcrossCells
        } else {
            Distance::AcrossModules
        }
    }
}
