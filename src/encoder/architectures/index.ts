import type { Architecture } from '../architecture.js';
import { bert } from './bert.js';
import { debertaV2 } from './deberta-v2.js';
import { modernBert } from './modernbert.js';

/** Every kind of encoder that can be run here. */
export const architectures: readonly Architecture[] = [bert, debertaV2, modernBert];
