/** Groups of arrays and numbers that kernels take as arguments. */
import type { Kernels } from './kernels.js';

/** The scalars of one AdamW step; see {@link Kernels.adamW}. */
export interface AdamWScalars {
  /** Multiplies every gradient first: clipping and the mean over accumulated batches. */
  readonly gradientScale: number;
  readonly beta1: number;
  readonly beta2: number;
  /** 1 − learning rate · weight decay. */
  readonly shrink: number;
  /** learning rate / (1 − beta1^t), t counting steps from 1. */
  readonly stepSize: number;
  /** 1 / √(1 − beta2^t). */
  readonly rootScale: number;
  readonly epsilon: number;
}

/** The arrays of one AdamW step, all of one length. */
export interface AdamWArrays {
  readonly weights: Float32Array;
  readonly gradients: Float32Array;
  readonly firstMoments: Float32Array;
  readonly secondMoments: Float32Array;
}

/** A one-vs-rest SVM under training; see {@link Kernels.svmPass}. All views lie in one arena. */
export interface SvmProblem {
  /** Columns of `weights` and `alphas`, a multiple of 4; unused ones at the end are allowed. */
  readonly outputs: number;
  /** Where each row's features start; one more entry at the end. [rows + 1] */
  readonly starts: Int32Array;
  /** Feature ids, each below the rows of `weights`, and the values beside them. [features of all rows] */
  readonly ids: Int32Array;
  readonly values: Float32Array;
  /** x·x of each row. [rows] */
  readonly squares: Float32Array;
  /** Where each row's active outputs start; one more entry at the end. [rows + 1] */
  readonly labelStarts: Int32Array;
  readonly labels: Int32Array;
  /**
   * 1 / (2C) of each output: first for rows where it is inactive, then for rows where it is active. [2,
   * outputs]
   */
  readonly slacks: Float32Array;
  /** [features, outputs] */
  readonly weights: Float32Array;
  /** Dual variables. [rows, outputs] */
  readonly alphas: Float32Array;
  /** [3, outputs] */
  readonly scratch: Float32Array;
}

/** The arrays of AdaGrad; see {@link Kernels.adaGradRows}. */
export interface AdaGradArrays {
  readonly table: Float32Array;
  /** Sums of squared gradients, above 0. */
  readonly squares: Float32Array;
  readonly gradients: Float32Array;
}

/** Lists of row numbers, one list after the other. */
export interface IdBags {
  readonly ids: Int32Array;
  /** Where each bag's ids start; one more entry at the end. [bags + 1] */
  readonly starts: Int32Array;
}
