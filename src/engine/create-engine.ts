import { adamW } from './adamw-optimizer.js';
import type { Engine, EngineOptions } from './engine.js';
import { GradientEngine } from './gradient-engine.js';
import { ResidentEngine } from './resident-engine.js';

/**
 * The engine for an executor: weights, gradients and the optimizer's state stay in the executor's memory where it has
 * one and the optimizer can be computed there; else they lie in this process's.
 */
export function createEngine(options: EngineOptions): Promise<Engine> {
  const { executor, optimizer = adamW() } = options;
  const { resident } = executor;
  if (resident === undefined || optimizer.update === undefined) return GradientEngine.create(options);
  return ResidentEngine.create(resident, { slots: optimizer.slots, update: optimizer.update }, options);
}
