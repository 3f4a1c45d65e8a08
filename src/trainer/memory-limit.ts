import { totalmem } from 'node:os';

/** What the application and the system keep for themselves. */
const SHARE_FOR_TRAINING = 0.75;

/** Three quarters of the memory that this process may use: the machine's, or less in a container. In bytes. */
export function defaultMemoryLimit(): number {
  const constrained = process.constrainedMemory();
  const allowed = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.floor(SHARE_FOR_TRAINING * allowed);
}
