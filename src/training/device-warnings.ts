import type { DatasetWarning } from '../datasets/index.js';

/** That a training goes on, or starts, on the CPU in place of a device. @param reason in words that "so" can follow. */
export function deviceWarning(reason: string): DatasetWarning {
  return { kind: 'device', count: 1, message: `${reason}, so the CPU computes instead`, examples: [] };
}
