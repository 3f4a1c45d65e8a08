import { adaptiveThreads } from '../adaptive-threads.js';
import type { GraphExecutor } from '../executor.js';
import { sameNumbersWith } from './gemm-blocks.js';
import { onnxExecutor } from './onnx-executor.js';

/**
 * ONNX Runtime on the processor, for graphs that run again and again.
 * @param threads the most that a run may use. While other processes keep the machine busy, it uses one where that is
 *   faster and gives the same bits.
 */
export function cpuExecutor(threads: number): GraphExecutor {
  const narrow = onnxExecutor({ threads: 1 });
  if (threads === 1) return narrow;
  const wide = onnxExecutor({ threads });
  return adaptiveThreads({ narrow, wide, sameNumbers: sameNumbersWith(threads) });
}
