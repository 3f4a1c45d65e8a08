import { createHash } from 'node:crypto';
import { MAX_QUERY_CHARACTERS } from '../../contract/index.js';
import { invalid, quoted, type TrainingRow } from '../../datasets/index.js';
import { foldText } from '../../families/index.js';
import { embed } from '../../search/index.js';
import { isPauseDue, mapWithPauses, pause, Random, SourceReader, withPauses } from '../../system/index.js';
import { trainingLanguage } from '../../training/index.js';
import { centralTexts } from '../suggest-texts.js';
import { readUnlabelled } from '../training/read-apart.js';
import type { TaughtText } from './ask-teacher.js';
import type { DistillSettings } from './distill-options.js';
import { textOf } from './student-task.js';

/** Which texts the teacher is asked, and what each of them is for. */

const MOST_TEXTS = 1_000_000;

/** Different texts, in their order. @throws ValidationError, DatasetError, AbortedError as soon as the signal fires */
export async function textsOf({ texts, signal }: DistillSettings): Promise<readonly string[]> {
  const limits = { mostTexts: MOST_TEXTS, mostCharacters: MAX_QUERY_CHARACTERS };
  if (typeof texts === 'string') return readUnlabelled({ rows: texts, ...limits }, { signal });
  const different = new Map<string, string>();
  let position = 0;
  for await (const text of new SourceReader(texts, { doing: 'the distillation', signal })) {
    if (typeof text !== 'string') throw invalid(['texts', position], `found ${quoted(text)}; give a text`);
    if (text.length > MAX_QUERY_CHARACTERS) {
      throw invalid(
        ['texts', position],
        `the text has ${text.length.toLocaleString('en-US')} UTF-16 code units, and the limit is ${MAX_QUERY_CHARACTERS.toLocaleString('en-US')}; shorten it`,
      );
    }
    position += 1;
    const key = foldText(text);
    if (key !== '' && !different.has(key)) different.set(key, text);
    if (different.size > MOST_TEXTS)
      throw invalid(
        ['texts'],
        `there are more than ${MOST_TEXTS.toLocaleString('en-US')} different texts; give a sample`,
      );
    if (isPauseDue()) await pause(signal);
  }
  if (different.size === 0) throw invalid(['texts'], 'all texts are blank; give at least two texts with words');
  return [...different.values()];
}

const MOST_JUDGED = 500;

/** Sets rows aside for figures. */
export function divided(rows: readonly TrainingRow[], seed: number) {
  const { aside: judged, rest: learned } = setAside(rows, MOST_JUDGED, `rows ${seed}`);
  return { judged, learned };
}

/** Sets a tenth of the rows aside, by the hash of their texts: so the same ones, whatever else there is. */
function setAside(rows: readonly TrainingRow[], most: number, salt: string) {
  const aside = new Set(byHash(rows, textOf, salt).slice(0, tenthOf(rows, most)));
  return { aside: [...aside], rest: rows.filter((row) => !aside.has(row)) };
}

const tenthOf = (items: readonly unknown[], most: number): number => Math.min(most, Math.floor(items.length * 0.1));

/** As many texts as are wanted, in the order in which they were given. */
export async function chosenTexts(
  texts: readonly string[],
  count: number,
  settings: DistillSettings,
): Promise<readonly string[]> {
  if (texts.length <= count) return texts;
  const { seed, choose, signal } = settings;
  const order = await ranked(texts, (text) => text, `texts ${seed}`);
  if (choose !== 'central') {
    const some = new Set(order.slice(0, count));
    return texts.filter((text) => some.has(text));
  }
  const compared = order.slice(0, Math.max(MOST_COMPARED, 2 * count));
  const vectors = await vectorsOf(compared, settings);
  const evenly = compared.map(() => 1);
  const central = await withPauses(centralTexts(vectors, evenly, count, Random.fromSeed(seed)), signal);
  const some = new Set(central.map((at) => compared[at]));
  return texts.filter((text) => some.has(text));
}

/** Each takes a vector in memory. */
const MOST_COMPARED = 20_000;

/** By `base`, or by the small encoder of the language. */
async function vectorsOf(texts: readonly string[], settings: DistillSettings) {
  const { base, language, modelLoader, device, signal } = settings;
  const model = base ?? `${trainingLanguage({ language })}-mini`;
  const vectors = await embed(texts, { model, device, signal, ...(modelLoader && { modelLoader }) });
  if (vectors.isOk()) return vectors.value;
  if (base !== undefined || vectors.error.code !== 'not_found') throw vectors.error;
  throw invalid(['choose'], `choosing central texts needs an encoder for ${language}; name one with \`base\``);
}

function rankOf(text: string, salt: string): number {
  return createHash('sha256').update(`${salt}\0${text}`).digest().readUIntBE(0, 6);
}

/** In an order that looks random, which depends on each text alone: of more texts, the first ones stay in their order. */
function byHash<Item>(items: readonly Item[], textOf: (item: Item) => string, salt: string): Item[] {
  const keyed = items.map((item) => ({ item, rank: rankOf(textOf(item), salt) }));
  return keyed.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
}

/** The same with pauses. */
export async function ranked<Item>(
  items: readonly Item[],
  textOf: (item: Item) => string,
  salt: string,
): Promise<Item[]> {
  const keyed = await mapWithPauses(items, (item) => ({ item, rank: rankOf(textOf(item), salt) }));
  return keyed.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
}

/** A tenth of the texts measures, and an equal share chooses the best epoch. Each has at most so many texts. */
const MOST_HELD_OUT = 1000;
/** Fewer texts with an answer than this can't measure anything. */
const FEWEST_MEASURED = 20;
/** Below, `train` learns from all rows, and judges them in folds. */
const FEWEST_WITH_DEV = 1000;

interface SplitOptions {
  readonly seed: number;
  readonly temperature: number;
  /** Whether the caller gave rows for dev. */
  readonly hasDev: boolean;
}

/**
 * What is learned, what chooses the best epoch, and which texts measure. Dev has labelled rows, too: thresholds that fit the
 * teacher's answers alone would miss labels that it seldom gives.
 */
export function splitTaught(
  taught: readonly TaughtText[],
  rows: readonly TrainingRow[],
  { seed, temperature, hasDev }: SplitOptions,
) {
  const part = tenthOf(taught, MOST_HELD_OUT);
  const heldOutCount = taught.length < FEWEST_MEASURED ? 0 : part;
  // Softened texts can't show how sure the student should be, so dev has the teacher's own probabilities.
  const needsDev = !hasDev && (taught.length >= FEWEST_WITH_DEV || (temperature !== 1 && heldOutCount > 0));
  const order = byHash(taught, ({ text }) => text, `split ${seed}`);
  const heldOut = new Set(order.slice(0, heldOutCount));
  const dev = new Set(needsDev ? order.slice(heldOutCount, heldOutCount + part) : []);
  const labelled = setAside(rows, needsDev ? MOST_HELD_OUT : 0, `dev rows ${seed}`);
  return {
    heldOut: taught.filter((each) => heldOut.has(each)),
    dev: { texts: taught.filter((each) => dev.has(each)), rows: labelled.aside },
    train: { texts: taught.filter((each) => !heldOut.has(each) && !dev.has(each)), rows: labelled.rest },
  };
}
