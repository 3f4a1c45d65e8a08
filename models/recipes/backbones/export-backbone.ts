import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Encoder, newBert } from '../../../src/encoder/index.js';
import { encodeByteRows, type NamedTensor } from '../../../src/models/index.js';
import { loadTokenizer, tokenizerConfig } from '../../../src/text/index.js';
import { readCorpusRecord } from './corpus/corpus-record.js';
import { dataSheet, probesIn } from './data-sheet.js';
import { TargetFolder } from './distillation/target-folder.js';
import { mannersOf } from './distillation/teachers.js';
import type { Recipe } from './recipe.js';
import { MAX_PASSAGE_TOKENS } from './settings.js';
import { writeCurve } from './student/curve.js';
import { ENCODER_PREFIX } from './student/objective.js';
import { sizeInWords } from './student/shape.js';
import { readStudent, type StudentState } from './student/student-checkpoint.js';
import { type StudentSettings, shapeOf } from './student/student-settings.js';
import type { WorkFolder } from './work-folder.js';

export const BACKBONES = new URL('../../backbones/', import.meta.url);

export interface ExportOptions {
  /** Folder of the backbone that the student was grown from. */
  readonly grownFrom?: string | undefined;
  /** Folder of all backbones. */
  readonly target?: URL;
}

/** File beside a backbone that says what it has read. */
export const DATA_SHEET_FILE = 'DATA.md';

/**
 * Writes the annealed student as a BertModel with 8-bit weights, its card and its data sheet; the heads that it was
 * trained with are left out.
 * @throws Error if it is larger than its size may be, or the corpus has no record.
 */
export async function exportBackbone(
  recipe: Recipe,
  work: WorkFolder,
  settings: StudentSettings,
  { grownFrom, target = BACKBONES }: ExportOptions = {},
): Promise<void> {
  const name = recipe.name(settings.size);
  const folder = new URL(`${name}/`, target);
  const json = recipe.tokenizer(work);
  const { vocabularySize } = loadTokenizer(json);
  const encoder = newBert(shapeOf(settings), vocabularySize);
  const bytes = sizeInWords(encoder, settings.size);
  const { state, weights } = await readStudent(work.annealed);
  const tensors = encoderWeights(weights, encoder, work.annealed);
  const corpus = readCorpusRecord(work.corpusRecord);
  if (corpus === undefined) throw new Error(`no ${work.corpusRecord}; run the step "corpus" again`);
  const teachers = recipe.teachers.map((each) => new TargetFolder(work.targets(each)).record());
  mkdirSync(folder, { recursive: true });
  const write = (file: string, content: string | Uint8Array) => writeFileSync(new URL(file, folder), content);
  const writeJson = (file: string, content: unknown) => write(file, `${JSON.stringify(content, undefined, 2)}\n`);
  writeJson('config.json', { architectures: [encoder.className], ...encoder.config });
  writeJson('tokenizer.json', json);
  writeJson('tokenizer_config.json', tokenizerConfig(json, encoder.maxTokens));
  write('model.safetensors', encodeByteRows(tensors));
  write('README.md', card(recipe, { name, size: settings.size, encoder, state, tensors, grownFrom }));
  const probes = probesIn(work.probes);
  const { leftOut, sheet: words } = recipe;
  const start = grownFrom === undefined ? undefined : basename(grownFrom);
  const facts = { name, encoder, state, corpus, leftOut, words, teachers, grownFrom: start, probes };
  write(DATA_SHEET_FILE, dataSheet(facts));
  writeCurve(fileURLToPath(new URL('curve', folder)), state.curve);
  console.log(`${bytes} of weights written to ${fileURLToPath(folder)}`);
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

interface CardFacts {
  readonly name: string;
  readonly size: string;
  readonly encoder: Encoder;
  readonly state: StudentState;
  readonly tensors: ReadonlyMap<string, NamedTensor>;
  readonly grownFrom: string | undefined;
}

const MARKED =
  'it sees capitals only if `token_type_ids` are 1 for the pieces that have them, as in models of entities';

/** The language's card.md with its {{placeholders}} filled in. */
function card({ language, teachers, cased, capitalsShown, options, sheet }: Recipe, facts: CardFacts): string {
  const { name, size, encoder, state, tensors, grownFrom } = facts;
  const numbers = [...tensors.values()].reduce((sum, { values }) => sum + values.length, 0);
  const words: Readonly<Record<string, string>> = {
    name,
    size,
    options: [`--size ${size}`, ...options].join(' '),
    case: cased ? 'cased' : 'lowercase',
    caseless: cased ? '' : `, and case: ${capitalsShown ? MARKED : 'it reads everything in lower case'}`,
    use: cased
      ? 'A `Trainer` starts models from it if you pass its folder as `backbone`.'
      : `Orchard starts English \`${size}\` models${capitalsShown ? ' that find entities' : ''} from it.`,
    layers: `${encoder.layers}`,
    width: `${encoder.width}`,
    heads: `${encoder.heads}`,
    pieces: encoder.vocabularySize.toLocaleString('en'),
    weights: `${(numbers / 1e6).toFixed(1)} million`,
    tokens: `${Math.round(state.tokens / 1e6)} million`,
    teachers: teachers.map(teacherLink).join(', '),
    start:
      grownFrom === undefined
        ? 'random weights, with word embeddings made from the co-occurrences of tokens in its corpus'
        : `the weights of orchard-${basename(grownFrom)}`,
    tellingSentence: sheet.tellingSentence,
  };
  const template = readFileSync(new URL(`${language}/card.md`, import.meta.url), 'utf8');
  return template.replaceAll(/\{\{(\w+)\}\}/gu, (_, placeholder: string) => {
    const fact = words[placeholder];
    if (fact === undefined) throw new Error(`${language}/card.md: no fact for the placeholder {{${placeholder}}}`);
    return fact;
  });
}

function teacherLink(name: string): string {
  const { home, licence } = mannersOf(name);
  return `[${name}](${home}) (${licence})`;
}
