import { adaptiveThreads } from '../adaptive-threads.js';
import type { GraphExecutor } from '../executor.js';
import { onnxExecutor } from './onnx-executor.js';

/**
 * ONNX Runtime on the processor, for graphs that run again and again.
 * @param threads that a run uses. While other processes keep the machine busy, they sleep while they wait for each other
 *   where that is faster. How many they are stays the same, and so do all results, bit by bit.
 */
export function cpuExecutor(threads: number): GraphExecutor {
  const wide = onnxExecutor({ threads });
  if (threads === 1) return wide;
  return adaptiveThreads({ narrow: onnxExecutor({ threads, spinning: false }), wide });
}
