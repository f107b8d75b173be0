//! The rules for the addresses and sizes of commands and of elements of lists.

use super::address::{EffectiveAddress, LsAddr};
use super::fault::{MfcFault, Misalignment, Operation};
use super::limits::{LIST_ELEMENT_BYTES, LOCK_LINE_BYTES, MAX_LIST_BYTES, MAX_TRANSFER_BYTES};
use super::opcode::Opcode;

/// Checks the size and the alignment of a transfer or list element (CBEA p.57 table 7-6).
#[inline]
pub(super) fn check_shape(
    operation: Operation,
    lsa: LsAddr,
    ea: EffectiveAddress,
) -> Result<(), MfcFault> {
    let bytes = operation.bytes;
    let fault = |why| Err(MfcFault::DmaAlignment { operation, why });
    if bytes > MAX_TRANSFER_BYTES {
        return fault(Misalignment::TooLarge);
    }
    let need = match bytes {
        0 => 1,
        1 | 2 | 4 | 8 => bytes,
        _ if bytes.is_multiple_of(16) => 16,
        _ => return fault(Misalignment::Size),
    };
    // `need` is a power of two, so a mask can replace a division.
    if lsa.0 & (need - 1) != 0 {
        return fault(Misalignment::LocalStore {
            lsa,
            multiple_of: need,
        });
    }
    if lsa.0 % 16 != ea.eal() % 16 {
        return fault(Misalignment::Offset { lsa, ea });
    }
    Ok(())
}

/// Checks the parameters of a list command (CBEA p.57 table 7-6, s.7.5.3 p.60, p.116).
pub(super) fn check_list(operation: Operation, lsa: LsAddr, list: LsAddr) -> Result<(), MfcFault> {
    let fault = |why| Err(MfcFault::DmaAlignment { operation, why });
    if operation.bytes > MAX_LIST_BYTES {
        fault(Misalignment::ListTooLong)
    } else if !operation.bytes.is_multiple_of(LIST_ELEMENT_BYTES) {
        fault(Misalignment::ListSize)
    } else if !list.0.is_multiple_of(LIST_ELEMENT_BYTES) {
        fault(Misalignment::ListAddress { list })
    } else if !lsa.0.is_multiple_of(8) {
        fault(Misalignment::ListLocalStore { lsa })
    } else {
        Ok(())
    }
}

/// Checks that the operation's bytes at `lsa` lie in the local store.
#[inline]
pub(super) fn check_local_store(
    operation: Operation,
    lsa: LsAddr,
    local_store_bytes: u32,
) -> Result<(), MfcFault> {
    let end = u64::from(lsa.0) + u64::from(operation.bytes);
    if operation.bytes == 0 || end <= u64::from(local_store_bytes) {
        Ok(())
    } else {
        Err(MfcFault::LocalStoreRange {
            operation,
            lsa,
            local_store_bytes,
        })
    }
}

/// Checks that the operation's bytes at `ea` end at or below 2^64.
#[inline]
pub(super) fn check_effective_range(
    operation: Operation,
    ea: EffectiveAddress,
) -> Result<(), MfcFault> {
    match u64::from(operation.bytes).checked_sub(1) {
        Some(to_last) if ea.0.checked_add(to_last).is_none() => {
            Err(MfcFault::DataSegment { operation, ea })
        }
        _ => Ok(()),
    }
}

/// Checks the local-store line that contains `lsa`, and returns its address (CBEA p.57, note 1).
pub(super) fn check_line(
    opcode: Opcode,
    lsa: LsAddr,
    local_store_bytes: u32,
) -> Result<LsAddr, MfcFault> {
    let line = LsAddr(lsa.0 & !(LOCK_LINE_BYTES - 1));
    let operation = Operation {
        opcode,
        element: None,
        bytes: LOCK_LINE_BYTES,
    };
    check_local_store(operation, line, local_store_bytes)?;
    Ok(line)
}
