import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ModelSize } from '../../../src/contract/index.js';
import { type Encoder, newEncoder } from '../../../src/encoder/index.js';
import { encodeByteRows, type NamedTensor } from '../../../src/safetensors/index.js';
import { loadTokenizer, tokenizerConfig } from '../../../src/tokenizer/index.js';
import type { Recipe } from './recipe.js';
import { MAX_PASSAGE_TOKENS } from './settings.js';
import { writeCurve } from './student/curve.js';
import { ENCODER_PREFIX } from './student/objective.js';
import { readStudent, type StudentState } from './student/student-checkpoint.js';
import type { WorkFolder } from './work-folder.js';

export const BACKBONES = new URL('../../backbones/', import.meta.url);

export interface ExportOptions {
  /** Folder of the backbone that the student was grown from. */
  readonly grownFrom?: string | undefined;
  /** Folder of all backbones. */
  readonly target?: URL;
}

/**
 * Writes the annealed student as a BertModel with 8-bit weights; the heads that it was trained with are left
 * out.
 */
export async function exportBackbone(
  recipe: Recipe,
  work: WorkFolder,
  size: ModelSize,
  { grownFrom, target = BACKBONES }: ExportOptions = {},
): Promise<void> {
  const folder = new URL(`${recipe.language}-${size}/`, target);
  const json = recipe.tokenizer(work);
  const { vocabularySize } = loadTokenizer(json);
  const encoder = newEncoder(size, vocabularySize);
  const { state, weights } = await readStudent(work.annealed);
  const tensors = encoderWeights(weights, encoder, work.annealed);
  mkdirSync(folder, { recursive: true });
  const write = (file: string, content: string | Uint8Array) => writeFileSync(new URL(file, folder), content);
  const writeJson = (file: string, content: unknown) =>
    write(file, `${JSON.stringify(content, undefined, 2)}\n`);
  writeJson('config.json', { architectures: [encoder.className], ...encoder.config });
  writeJson('tokenizer.json', json);
  writeJson('tokenizer_config.json', tokenizerConfig(json, encoder.maxTokens));
  write('model.safetensors', encodeByteRows(tensors));
  write('README.md', card(recipe, size, encoder, state, tensors, grownFrom));
  writeCurve(fileURLToPath(new URL('curve', folder)), state.curve, recipe.curve);
  console.log(`written to ${fileURLToPath(folder)}`);
}

function encoderWeights(
  weights: ReadonlyMap<string, NamedTensor>,
  encoder: Encoder,
  file: string,
): Map<string, NamedTensor> {
  const found = new Map<string, NamedTensor>();
  for (const { name, shape } of encoder.parameters(ENCODER_PREFIX)) {
    const tensor = weights.get(name);
    if (tensor?.shape.join() !== shape.join()) throw new Error(`${file}: it holds no ${name} [${shape}]`);
    found.set(name, name.endsWith(POSITIONS) ? repeatedPositions(tensor) : tensor);
  }
  return found;
}

const POSITIONS = 'position_embeddings.weight';

/**
 * Fills the positions that were not trained with the vectors of the trained ones, repeatedly, except the
 * first, which is that of [CLS] (as in Longformer, Beltagy et al. 2020): a better start than noise.
 */
export function repeatedPositions({ shape, values }: NamedTensor): NamedTensor {
  const [positions = 0, width = 0] = shape;
  const repeated = values.slice();
  const period = MAX_PASSAGE_TOKENS - 1;
  for (let position = MAX_PASSAGE_TOKENS; position < positions; position += 1) {
    const source = 1 + ((position - 1) % period);
    repeated.copyWithin(position * width, source * width, (source + 1) * width);
  }
  return { shape, values: repeated };
}

/** The language's card.md with its {{placeholders}} filled in. */
function card(
  { language }: Recipe,
  size: ModelSize,
  encoder: Encoder,
  { tokens }: StudentState,
  tensors: ReadonlyMap<string, NamedTensor>,
  grownFrom: string | undefined,
): string {
  const numbers = [...tensors.values()].reduce((sum, { values }) => sum + values.length, 0);
  const facts: Readonly<Record<string, string>> = {
    size,
    layers: `${encoder.layers}`,
    width: `${encoder.width}`,
    heads: `${encoder.heads}`,
    pieces: encoder.vocabularySize.toLocaleString('en'),
    weights: `${(numbers / 1e6).toFixed(1)} million`,
    tokens: `${Math.round(tokens / 1e6)} million`,
    start:
      grownFrom === undefined
        ? 'random weights'
        : `orchard-${basename(grownFrom)}, which it has in it and grew from`,
  };
  const template = readFileSync(new URL(`${language}/card.md`, import.meta.url), 'utf8');
  return template.replaceAll(/\{\{(\w+)\}\}/gu, (_, name: string) => {
    const fact = facts[name];
    if (fact === undefined) throw new Error(`${language}/card.md: no fact for the placeholder {{${name}}}`);
    return fact;
  });
}
