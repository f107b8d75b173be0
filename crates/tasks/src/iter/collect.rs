//! The collections into which a loop collects its items.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

/// A collection that [`ParallelIterator::collect`](crate::ParallelIterator::collect) returns. Only
/// this crate implements it.
pub trait FromParallelIterator<T>: Sized {
    #[doc(hidden)]
    fn from_lists_of(items: impl Lists<T>) -> Self
    where
        T: Send;
}

/// A loop over items of the type `T` that can collect them.
#[doc(hidden)]
pub trait Lists<T> {
    /// Returns the items in vectors, in order.
    fn lists(self) -> Vec<Vec<T>>
    where
        T: Send;

    /// Returns the results of `f` for the items, in order, or an error of `f`.
    fn try_lists<U: Send, E: Send>(
        self,
        f: impl Fn(T) -> Result<U, E> + Sync,
    ) -> Result<Vec<Vec<U>>, E>;
}

/// Collections that can be made from lists, and results that have such a collection.
macro_rules! collections {
    ($([$($life:lifetime)?; $($generic:tt)*] $collection:ty, $item:ty, |$lists:ident| $make:expr;)+) => {$(
        impl<$($life,)? $($generic)*> FromParallelIterator<$item> for $collection {
            fn from_lists_of(items: impl Lists<$item>) -> Self
            where
                $item: Send,
            {
                let $lists = items.lists();
                $make
            }
        }

        impl<$($life,)? Failed: Send, $($generic)*> FromParallelIterator<Result<$item, Failed>>
            for Result<$collection, Failed>
        where
            $item: Send,
        {
            fn from_lists_of(items: impl Lists<Result<$item, Failed>>) -> Self {
                let $lists = items.try_lists(|item| item)?;
                Ok($make)
            }
        }

        impl<$($life,)? $($generic)*> FromParallelIterator<Option<$item>> for Option<$collection>
        where
            $item: Send,
        {
            fn from_lists_of(items: impl Lists<Option<$item>>) -> Self {
                let $lists = items.try_lists(|item| item.ok_or(())).ok()?;
                Some($make)
            }
        }
    )+};
}

collections! {
    [; T] Vec<T>, T, |lists| into_vec(lists);
    [; T] Box<[T]>, T, |lists| into_vec(lists).into();
    [; T] Arc<[T]>, T, |lists| into_vec(lists).into();
    [; T] VecDeque<T>, T, |lists| into_vec(lists).into();
    [; T] LinkedList<T>, T, |lists| lists.into_iter().flatten().collect();
    [; T: Ord] BinaryHeap<T>, T, |lists| into_vec(lists).into();
    [; T: Ord] BTreeSet<T>, T, |lists| lists.into_iter().flatten().collect();
    [; K: Ord, V] BTreeMap<K, V>, (K, V), |lists| lists.into_iter().flatten().collect();
    [; T: Eq + Hash, H: BuildHasher + Default] HashSet<T, H>, T, |lists| {
        let mut all = HashSet::with_capacity_and_hasher(length(&lists), H::default());
        all.extend(lists.into_iter().flatten());
        all
    };
    [; K: Eq + Hash, V, H: BuildHasher + Default] HashMap<K, V, H>, (K, V), |lists| {
        let mut all = HashMap::with_capacity_and_hasher(length(&lists), H::default());
        all.extend(lists.into_iter().flatten());
        all
    };
    [;] String, String, |lists| into_vec(lists).concat();
    [;] String, char, |lists| lists.into_iter().flatten().collect();
    ['t;] String, &'t str, |lists| into_vec(lists).concat();
    [;] (), (), |lists| drop(lists);
}

fn length<T>(lists: &[Vec<T>]) -> usize {
    lists.iter().map(Vec::len).sum()
}

fn into_vec<T>(mut lists: Vec<Vec<T>>) -> Vec<T> {
    if lists.len() == 1 {
        return lists.swap_remove(0);
    }
    let mut all = Vec::with_capacity(length(&lists));
    lists.iter_mut().for_each(|list| all.append(list));
    all
}
