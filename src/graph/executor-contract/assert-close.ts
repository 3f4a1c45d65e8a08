import assert from 'node:assert/strict';
import type { TensorData } from '../executor.js';

/** Largest relative error of an executor's numbers. */
const TOLERANCE = 1e-5;

export function assertClose(actual: TensorData, expected: TensorData): void {
  const [given, wanted] = [actual, expected].map(({ data }) => Array.from(data, Number));
  for (const [index, value] of (wanted ?? []).entries()) {
    const got = given?.[index] ?? Number.NaN;
    assert(
      Math.abs(got - value) <= TOLERANCE * Math.max(1, Math.abs(value)),
      `element ${index}: ${got}, expected ${value}`,
    );
  }
}
