//! The binding of a job: placements on several computers in the notations of launchers.

// Sources: mpirun(1) of Open MPI 4.1, srun(1) of Slurm, and the host files of Hydra, the launcher
// of MPICH. docs/mapping.md says what was tried with which version.

use std::fmt::Write;

use crate::binding::Binding;

/// The node and the CPU of each task of a job. Task i is rank i. The methods write the binding for
/// launchers, which start the processes of a job.
///
/// ```
/// use cellworks_mapping::JobBinding;
///
/// // Task 0 is on CPU 4 of n01, task 1 on CPU 0 of n02, and task 2 on CPU 5 of n01.
/// let nodes = ["n01", "n02"].map(str::to_owned).to_vec();
/// let job = JobBinding::new(nodes, vec![(0, 4), (1, 0), (0, 5)]);
/// assert_eq!(job.rankfile(), "rank 0=n01 slot=4\nrank 1=n02 slot=0\nrank 2=n01 slot=5\n");
/// assert_eq!(job.on(0).cpus(), [4, 5]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobBinding {
    nodes: Vec<String>,
    tasks: Vec<(usize, usize)>,
}

impl JobBinding {
    /// Binds each task to a node, by its number in `nodes`, and to a CPU of this node. CPUs have
    /// the numbers of the operating system. Without `nodes` all tasks are on this computer, node 0.
    ///
    /// # Panics
    ///
    /// If a task is on a node that `nodes` does not have.
    pub fn new(nodes: Vec<String>, tasks: Vec<(usize, usize)>) -> Self {
        for (task, (node, _)) in tasks.iter().enumerate() {
            assert!(
                *node < nodes.len().max(1),
                "task {task} is on node {node}, and there are {} nodes",
                nodes.len()
            );
        }
        Self { nodes, tasks }
    }

    /// Returns the names of the nodes. Empty if all tasks are on this computer.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// Returns the node and the CPU of task 0, of task 1 and so on.
    pub fn tasks(&self) -> &[(usize, usize)] {
        &self.tasks
    }

    /// Returns the binding of the tasks on a node, in the order of the tasks.
    pub fn on(&self, node: usize) -> Binding {
        let tasks = self.tasks.iter().filter(|(on, _)| *on == node);
        Binding::to(tasks.map(|(_, cpu)| *cpu).collect())
    }

    /// Returns a rankfile of Open MPI 4, in the order of the ranks. It takes `mpirun
    /// --use-hwthread-cpus --mca rmaps_rank_file_physical 1`: otherwise `mpirun` reads the numbers
    /// as those of cores, or binds no rank where cores have several hardware threads.
    pub fn rankfile(&self) -> String {
        let mut text = String::new();
        for (rank, (node, cpu)) in self.tasks.iter().enumerate() {
            let _ = writeln!(text, "rank {rank}={} slot={cpu}", self.name(*node));
        }
        text
    }

    /// Returns a host file for `srun --distribution=arbitrary`: the node of each task.
    pub fn slurm_hosts(&self) -> String {
        let names = self.tasks.iter().map(|(node, _)| self.name(*node));
        names.fold(String::new(), |text, name| text + name + "\n")
    }

    /// Returns the value of `srun --cpu-bind`. Slurm applies one list to all nodes, so the result
    /// is `None` if there is no list that suits all of them.
    pub fn slurm(&self) -> Option<String> {
        common(self.cpus_of_nodes()).map(|cpus| Binding::to(cpus).slurm())
    }

    /// Returns a host file of Hydra, the launcher of MPICH: a line for each run of successive tasks
    /// on one node.
    pub fn hydra_hosts(&self) -> String {
        let mut text = String::new();
        for run in self.runs() {
            let _ = writeln!(text, "{}:{}", self.name(run[0].0), run.len());
        }
        text
    }

    /// Returns the value of `-bind-to` of Hydra, as in `user:6,4,2`. Hydra applies one list to each
    /// line of the host file, so the result is `None` if there is no list that suits all of them.
    pub fn hydra(&self) -> Option<String> {
        let runs = self.runs();
        let lists = runs.map(|run| run.iter().map(|(_, cpu)| *cpu).collect());
        let cpus = common(lists.collect())?;
        let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
        Some(format!("user:{}", cpus.join(",")))
    }

    /// Returns a line for each node that has tasks: its name, and its CPUs that have a task, as in
    /// `n01 0-2,8`. Kubernetes, container engines and cpuset(7) take this list of CPUs.
    pub fn cpusets(&self) -> String {
        let mut text = String::new();
        for (node, cpus) in self.cpus_of_nodes().into_iter().enumerate() {
            if !cpus.is_empty() {
                let list = Binding::to(cpus).cpu_list();
                let _ = writeln!(text, "{} {list}", self.name(node));
            }
        }
        text
    }

    fn cpus_of_nodes(&self) -> Vec<Vec<usize>> {
        let mut of_nodes = vec![Vec::new(); self.nodes.len().max(1)];
        for (node, cpu) in &self.tasks {
            of_nodes[*node].push(*cpu);
        }
        of_nodes
    }

    fn runs(&self) -> impl Iterator<Item = &[(usize, usize)]> {
        self.tasks.chunk_by(|one, next| one.0 == next.0)
    }

    fn name(&self, node: usize) -> &str {
        self.nodes.get(node).map_or("localhost", String::as_str)
    }
}

/// Returns the longest list, if each other list is how it begins.
fn common(lists: Vec<Vec<usize>>) -> Option<Vec<usize>> {
    let longest = lists.iter().max_by_key(|list| list.len())?;
    let is_one = lists.iter().all(|list| longest.starts_with(list));
    is_one.then(|| longest.clone())
}
