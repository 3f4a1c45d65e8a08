import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { createClassificationArchive, fileStorage, inferenceService, Trainer } from 'orchard-nlp';
import { type Decision, expectedCalibrationError, type ModelResult } from '../src/families/index.js';
import { Random } from '../src/system/index.js';
import { type LabelledTexts, readers } from './datasets/labelled-texts.js';
import { machine } from './report.js';

/**
 * What holding scores back by their evidence does (docs/lexical.md): classifiers trained on few and on many rows are asked
 * held-out texts and texts of another dataset, as they answer and without `evidence` in their config.json. Expected
 * calibration error, how many scores are shown as 1.00, and how many answers are none of the labels.
 * Usage: `npm run bench -- scores <datasets folder> [dataset …] [--rows 20,200,2000] [--test 500]`
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '20,200,2000' }, test: { type: 'string', default: '500' } },
});
const [datasets, ...asked] = positionals;
if (datasets === undefined) {
  console.error('give the folder of the datasets: npm run bench -- scores <datasets folder> [dataset …]');
  process.exit(2);
}
const names = asked.length > 0 ? asked : ['sst2', 'twitter_financial', 'ag_news', 'massive_en'];
const folder = await mkdtemp(join(tmpdir(), 'orchard-scores-'));

function some<Item>(items: readonly Item[], count: number): Item[] {
  const random = Random.fromSeed(1);
  const left = [...items];
  return Array.from({ length: Math.min(count, left.length) }, () => left.splice(random.integer(left.length), 1)).flat();
}

/** @returns the model's folder. */
async function train(name: string, { type, train: all }: LabelledTexts, rows: number): Promise<string> {
  const archive = join(folder, `${name}-${rows}.zip`);
  const labelled = some(all, rows).map(({ text, labels: [label = ''] }) => ({ text, label }));
  (await createClassificationArchive({ type, name: 'some', rows: labelled }, archive))._unsafeUnwrap();
  const storage = fileStorage(join(folder, 'storage'));
  await using trainer = new Trainer({ storage, seed: 1 });
  const model_config = { name: 'some', type, family: 'Papaya', size: 'mini' } as const;
  const job = await trainer.createTrainingJob({ dataset_url: pathToFileURL(archive).href, model_config });
  const { id } = job._unsafeUnwrap();
  const ended = (await trainer.waitForTrainingJob(id))._unsafeUnwrap();
  if (ended.error !== undefined) throw new Error(ended.error.message);
  return (await storage.openFolder(id)) ?? '';
}

/** A copy of a model whose scores are as the blend gives them. */
async function withoutEvidence(directory: string): Promise<string> {
  const copy = await mkdtemp(join(folder, 'plain-'));
  await cp(directory, copy, { recursive: true });
  const path = join(copy, 'config.json');
  const config = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify({ ...config, orchard: { ...config.orchard, evidence: undefined } }));
  return copy;
}

const shareOf = <Item>(items: readonly Item[], holds: (item: Item) => boolean): string =>
  `${((100 * items.filter(holds).length) / Math.max(1, items.length)).toFixed(1)} %`;
const isOne = ({ scores }: ModelResult): boolean => (scores[0] ?? 0) >= 0.995;

async function measure(name: string, rows: number, foreign: readonly string[]) {
  const dataset = readers[name]?.(datasets ?? '');
  if (dataset === undefined) throw new Error(`no dataset ${name}`);
  const directory = await train(name, dataset, rows);
  const plain = await withoutEvidence(directory);
  await using service = closing(inferenceService({ workers: 1 }));
  const test = some(dataset.test, Number(values.test));
  const texts = test.map(({ text }) => text);
  const before = (await service.predict(plain, texts)).results;
  const after = (await service.predict(directory, texts, { noneOfThese: true })).results;
  const others = (await service.predict(directory, foreign, { noneOfThese: true })).results;
  const othersBefore = (await service.predict(plain, foreign)).results;
  const decisions = (results: readonly ModelResult[]) =>
    results.map(
      ({ labels, scores }, at): Decision => ({
        confidence: scores[0] ?? 0,
        right: labels[0] === test[at]?.labels[0],
      }),
    );
  const right = after.filter((_, at) => decisions(after)[at]?.right);
  return {
    dataset: name,
    rows,
    accuracy: shareOf(decisions(after), (each) => each.right),
    'ECE before': expectedCalibrationError(decisions(before)).toFixed(3),
    'ECE after': expectedCalibrationError(decisions(after)).toFixed(3),
    '1.00 before': shareOf(before, isOne),
    '1.00 after': shareOf(after, isOne),
    'foreign above .9 before': shareOf(othersBefore, ({ scores }) => (scores[0] ?? 0) > 0.9),
    'foreign above .9 after': shareOf(others, ({ scores }) => (scores[0] ?? 0) > 0.9),
    'right, told none': shareOf(right, ({ none_of_these }) => none_of_these === true),
    'foreign, told none': shareOf(others, ({ none_of_these }) => none_of_these === true),
  };
}

function closing<Service extends { close(): Promise<void> }>(service: Service) {
  return Object.assign(service, { [Symbol.asyncDispose]: () => service.close() });
}

console.log(machine());
const table: object[] = [];
// Texts that no label fits: questions to a bank, another script, and nonsense.
const foreign = [
  ...some(readers.banking77?.(datasets).test ?? [], 100).map(({ text }) => text),
  ...some(readers.massive_ja?.(datasets).test ?? [], 50).map(({ text }) => text),
  ...Array.from({ length: 50 }, (_, at) => nonsense(at)),
];
try {
  for (const name of names) {
    for (const rows of values.rows.split(',').map(Number)) {
      table.push(await measure(name, rows, foreign));
      console.log(JSON.stringify(table.at(-1)));
    }
  }
} finally {
  await rm(folder, { recursive: true });
}
console.table(table);

/** Words of random letters. */
function nonsense(seed: number): string {
  const random = Random.fromSeed(seed);
  const word = () =>
    Array.from({ length: 3 + random.integer(6) }, () => String.fromCharCode(97 + random.integer(26))).join('');
  return Array.from({ length: 3 + random.integer(6) }, word).join(' ');
}
