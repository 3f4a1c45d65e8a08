import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import {
  CONFIG_FILE,
  decodeWeights,
  encodeSafetensors,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
  WEIGHTS_FILE,
} from '../../../src/models/index.js';
import { BACKBONES } from './export-backbone.js';
import type { WorkFolder } from './work-folder.js';

/**
 * Writes the exported backbone into the work folder with float16 weights: a BertModel that any BERT library
 * loads.
 * @param name of the backbone: `english-mini`.
 */
export function floatBackbone(name: string, work: WorkFolder, backbones = BACKBONES): void {
  const from = fileURLToPath(new URL(name, backbones));
  const to = join(work.path, name);
  mkdirSync(to, { recursive: true });
  for (const file of [TOKENIZER_FILE, TOKENIZER_CONFIG_FILE]) copyFileSync(join(from, file), join(to, file));
  const json: unknown = JSON.parse(readFileSync(join(from, CONFIG_FILE), 'utf8'));
  const config = { ...z.record(z.string(), z.unknown()).parse(json), torch_dtype: 'float16' };
  writeFileSync(join(to, CONFIG_FILE), `${JSON.stringify(config, undefined, 2)}\n`);
  const file = join(from, WEIGHTS_FILE);
  const weights = decodeWeights(readFileSync(file), file);
  writeFileSync(join(to, WEIGHTS_FILE), encodeSafetensors(weights, { format: 'pt' }, { floats: 'F16' }));
  console.log(`written to ${to}`);
}
