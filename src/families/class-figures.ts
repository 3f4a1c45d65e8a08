import type { ClassFigures } from '../model-folder/index.js';

/**
 * Precision, recall and F1 of a class, 0 where there is nothing to divide by.
 * @param right how often it was given and is true. @param wrong given only. @param missed true only.
 */
export function figuresOf(right: number, wrong: number, missed: number): Omit<ClassFigures, 'label'> {
  return {
    precision: share(right, right + wrong),
    recall: share(right, right + missed),
    f1: share(2 * right, 2 * right + wrong + missed),
    support: right + missed,
  };
}

/** 0 of nothing. */
export function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
