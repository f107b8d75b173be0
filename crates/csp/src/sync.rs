//! Types that threads share: those of std, or in model checks those of loom or shuttle.

#[cfg(any(loom, shuttle))]
pub(crate) use self::modelled::*;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use self::real::*;

#[cfg(not(loom))]
pub(crate) use self::cell::UnsafeCell;
#[cfg(not(loom))]
pub(crate) use cellworks_machine::barrier;
#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell;

/// Locks a mutex of std. A panic leaves the data in the mutexes of this crate valid.
pub(crate) fn locked<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(not(any(loom, shuttle)))]
mod real {
    pub(crate) use crossbeam_utils::Backoff;
    pub(crate) use std::sync::Arc;
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };

    pub(crate) fn spin() {
        std::hint::spin_loop();
    }

    /// Returns an identifier, other than 0, that no other living OS thread has.
    #[inline(always)]
    pub(crate) fn os_thread() -> usize {
        thread_local! {
            static ADDRESS: u8 = const { 0 };
        }
        ADDRESS.with(|address| std::ptr::from_ref(address).addr())
    }
}

#[cfg(not(loom))]
mod cell {
    /// An `UnsafeCell` of std with the interface of loom's `UnsafeCell`, which records accesses.
    #[derive(Debug, Default)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        #[inline]
        pub(crate) fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline]
        pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
            access(self.0.get())
        }
    }
}

/// The barrier between a side of a [ring buffer](crate::way::ring) and the process that excludes
/// this side. The side executes the light half, and the process the heavy half. A model may leave
/// out one half, to show that the model then fails.
#[cfg(loom)]
pub(crate) mod barrier {
    use std::cell::Cell;

    use cellworks_machine::barrier;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Half {
        Light,
        Heavy,
    }

    thread_local! {
        /// The omitted half. All threads of a model share this, as they run on one OS thread.
        static LEFT_OUT: Cell<Option<Half>> = const { Cell::new(None) };
    }

    pub(crate) fn light() {
        if LEFT_OUT.get() != Some(Half::Light) {
            barrier::light();
        }
    }

    pub(crate) fn heavy() {
        if LEFT_OUT.get() != Some(Half::Heavy) {
            barrier::heavy();
        }
    }

    #[cfg(test)]
    pub(crate) fn without(half: Half, model: impl FnOnce()) {
        struct Restores;
        impl Drop for Restores {
            fn drop(&mut self) {
                LEFT_OUT.set(None);
            }
        }
        LEFT_OUT.set(Some(half));
        let _restores = Restores;
        model();
    }
}

#[cfg(any(loom, shuttle))]
mod modelled {
    #[cfg(loom)]
    use loom as modeller;
    #[cfg(shuttle)]
    use shuttle as modeller;

    #[cfg(test)]
    pub(crate) use modeller::sync::{Condvar, Mutex};
    #[cfg(test)]
    pub(crate) use modeller::thread;

    pub(crate) use modeller::sync::Arc;
    use modeller::sync::atomic;
    pub(crate) use modeller::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

    pub(crate) fn spin() {
        modeller::thread::yield_now();
    }

    /// Returns an identifier, other than 0, that no other thread of a model has.
    pub(crate) fn os_thread() -> usize {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(1);
        modeller::thread_local! {
            static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        NUMBER.with(|number| *number)
    }

    /// Replaces the `Backoff` of crossbeam: `snooze` lets the other threads run.
    pub(crate) struct Backoff;

    impl Backoff {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn snooze(&self) {
            modeller::thread::yield_now();
        }
    }

    /// Executes a fence after a sequentially consistent store, because loom models sequential
    /// consistency only for fences. Because of this fence, sequentially consistent loads need no
    /// fence of their own, as on x86-64.
    fn behind<R>(order: Ordering, result: R) -> R {
        if order == Ordering::SeqCst {
            atomic::fence(Ordering::SeqCst);
        }
        result
    }

    macro_rules! atomic {
        ($name:ident, $value:ty) => {
            #[derive(Debug)]
            pub(crate) struct $name(atomic::$name);

            #[allow(dead_code, reason = "not every operation is used with every type")]
            impl $name {
                pub(crate) fn new(value: $value) -> Self {
                    Self(atomic::$name::new(value))
                }

                pub(crate) fn load(&self, order: Ordering) -> $value {
                    self.0.load(order)
                }

                pub(crate) fn store(&self, value: $value, order: Ordering) {
                    behind(order, self.0.store(value, order));
                }

                pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                    behind(order, self.0.swap(value, order))
                }

                pub(crate) fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                    behind(order, self.0.fetch_or(value, order))
                }

                pub(crate) fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                    behind(order, self.0.fetch_and(value, order))
                }

                pub(crate) fn compare_exchange(
                    &self,
                    current: $value,
                    new: $value,
                    order: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    behind(order, self.0.compare_exchange(current, new, order, failure))
                }
            }
        };
    }
    atomic!(AtomicBool, bool);
    atomic!(AtomicU64, u64);

    impl Default for AtomicBool {
        fn default() -> Self {
            Self::new(false)
        }
    }
}
