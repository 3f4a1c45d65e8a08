import { instantiate, type Kernel, requireKernel } from './answer-kernels.js';
import type { Arena } from './arena.js';

/** Kernels of the forward pass; assembly/ says what each does. Addresses are byte offsets into the arena: nothing is checked. */
export interface ForwardKernels {
  readonly addRows: Kernel;
  readonly attend: Kernel;
  readonly gatherBytes: Kernel;
  readonly gatherFloats: Kernel;
  readonly gatherPacked: Kernel;
  readonly geluOfValues: Kernel;
  readonly meanRows: Kernel;
  readonly multiplyBytes: Kernel;
  readonly multiplyFloats: Kernel;
  readonly normalizeRows: Kernel;
  readonly packBytes: Kernel;
  readonly packFloats: Kernel;
  readonly restoreSums: Kernel;
  readonly restoreThroughGelu: Kernel;
  readonly roundValues: Kernel;
}

export function loadForwardKernels(arena: Arena): ForwardKernels {
  const exports = instantiate(arena);
  const kernel = (name: keyof ForwardKernels) => requireKernel(exports, name);
  return {
    addRows: kernel('addRows'),
    attend: kernel('attend'),
    gatherBytes: kernel('gatherBytes'),
    gatherFloats: kernel('gatherFloats'),
    gatherPacked: kernel('gatherPacked'),
    geluOfValues: kernel('geluOfValues'),
    meanRows: kernel('meanRows'),
    multiplyBytes: kernel('multiplyBytes'),
    multiplyFloats: kernel('multiplyFloats'),
    normalizeRows: kernel('normalizeRows'),
    packBytes: kernel('packBytes'),
    packFloats: kernel('packFloats'),
    restoreSums: kernel('restoreSums'),
    restoreThroughGelu: kernel('restoreThroughGelu'),
    roundValues: kernel('roundValues'),
  };
}
