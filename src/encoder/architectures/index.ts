import type { Architecture } from '../architecture.js';
import { bert } from './bert.js';

/** Every kind of encoder that can be run here. */
export const architectures: readonly Architecture[] = [bert];
