//! The one place from which this crate takes what threads share: std's, or loom's when it is model-checked.

#[cfg(loom)]
pub(crate) use self::modelled::*;
#[cfg(not(loom))]
pub(crate) use self::real::*;

#[cfg(not(loom))]
mod real {
    pub(crate) use crossbeam_utils::Backoff;
    pub(crate) use std::sync::Arc;
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };

    /// Lets who is in the middle of a few instructions finish them.
    pub(crate) fn spin() {
        std::hint::spin_loop();
    }

    /// As std's, with the interface of loom's, which sees who accesses it.
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

#[cfg(loom)]
mod modelled {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::Arc;
    use loom::sync::atomic;
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

    /// Lets the others run.
    pub(crate) fn spin() {
        loom::thread::yield_now();
    }

    /// Lets the others run.
    pub(crate) struct Backoff;

    impl Backoff {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn snooze(&self) {
            loom::thread::yield_now();
        }
    }

    /// loom knows sequential consistency of fences only. So here a store that is said to be sequentially consistent has one
    /// behind it, which orders it before the loads that follow. Those of others need none then: as on x86-64.
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
