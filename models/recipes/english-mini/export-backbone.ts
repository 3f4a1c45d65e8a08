import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bertConfigOfSize, bertParameters } from '../../../src/encoder/index.js';
import type { NamedTensor } from '../../../src/model-folder/index.js';
import { englishTokenizer, loadTokenizer, tokenizerConfig } from '../../../src/tokenizer/index.js';
import { encodeHalfPrecision } from './half-precision.js';
import { writeCurve } from './student/curve.js';
import { ENCODER_PREFIX } from './student/distillation-head.js';
import { readStudent } from './student/student-checkpoint.js';
import type { WorkFolder } from './work-folder.js';

const TARGET = new URL('../../backbones/english-mini/', import.meta.url);

/** Writes the annealed student as a BertModel that any BERT library loads; the projection stays behind. */
export function exportBackbone(work: WorkFolder): void {
  const json = englishTokenizer();
  const { vocabularySize } = loadTokenizer(json)._unsafeUnwrap();
  const config = bertConfigOfSize('mini', vocabularySize);
  const { state, weights } = readStudent(work.annealed);
  const encoder = new Map<string, NamedTensor>();
  for (const { name } of bertParameters(config, ENCODER_PREFIX)) {
    const tensor = weights.get(name);
    if (tensor === undefined) throw new Error(`${work.annealed}: it holds no ${name}`);
    encoder.set(name, tensor);
  }
  mkdirSync(TARGET, { recursive: true });
  const write = (file: string, content: string | Uint8Array) => writeFileSync(new URL(file, TARGET), content);
  const writeJson = (file: string, content: unknown) =>
    write(file, `${JSON.stringify(content, undefined, 2)}\n`);
  writeJson('config.json', { architectures: ['BertModel'], ...config, torch_dtype: 'float16' });
  writeJson('tokenizer.json', json);
  writeJson('tokenizer_config.json', tokenizerConfig(json, config.max_position_embeddings));
  write('model.safetensors', encodeHalfPrecision(encoder));
  writeCurve(fileURLToPath(new URL('curve', TARGET)), state.curve);
  copyFileSync(new URL('card.md', import.meta.url), new URL('README.md', TARGET));
  console.log(`written to ${fileURLToPath(TARGET)}`);
}
