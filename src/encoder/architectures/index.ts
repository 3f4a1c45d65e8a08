import type { Architecture } from '../architecture.js';
import { albert } from './albert.js';
import { bert } from './bert.js';
import { debertaV2 } from './deberta-v2.js';
import { distilbert } from './distilbert.js';
import { electra } from './electra.js';
import { modernBert } from './modernbert.js';
import { mpnet } from './mpnet.js';
import { roberta } from './roberta.js';

/** Every kind of encoder that can be run here. */
export const architectures: readonly Architecture[] = [
  bert,
  roberta,
  electra,
  distilbert,
  mpnet,
  albert,
  debertaV2,
  modernBert,
];
