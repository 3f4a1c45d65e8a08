import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ok, type Result } from 'neverthrow';
import { accountServices, createHandler } from '../src/http/index.js';
import {
  checkData,
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  crossValidate,
  embed,
  loadModel,
  type OrchardError,
  search,
  type TrainingEvent,
  train,
  tune,
} from '../src/index.js';
import { memoryStorage } from '../src/storage/index.js';
import { machine } from './report.js';
import { type Stalls, stallsDuring } from './stalls/longest-piece.js';

/**
 * How long each public function and the upload of rows keep the application's thread from other work: the longest piece of
 * processor time and of time between two turns of its event loop, while each handles many rows. Columns: time of the call,
 * longest piece of processor time, longest piece of time, memory. The first call of each loads its code and is not counted.
 * Usage: `npm run bench -- stalls [--rows 100000] [--only <part of a name>]`.
 */

const { values: options } = parseArgs({
  options: { rows: { type: 'string', default: '100000' }, only: { type: 'string', default: '' } },
});
type Call = () => Promise<Result<unknown, OrchardError>>;

/** Calls with a number of rows. */
async function callsWith(count: number, folder: string): Promise<Readonly<Record<string, Call>>> {
  const texts = Array.from({ length: count }, (_, row) => `the ${row}th sentence is about things of kind ${row % 7}`);
  const labelled = texts.map((text, row) => ({ text, label: `kind ${row % 7}` }));
  const answered = texts.map((question, row) => ({ question, passage: `things of kind ${row % 997}` }));
  const tagged = texts.map((text) => {
    const tokens = text.split(' ');
    return { tokens, tags: tokens.map((_, word) => (word === 1 ? 'B-NUMBER' : 'O')) };
  });
  const at = (name: string) => join(folder, name);
  const file = async (name: string, lines: readonly string[]) => {
    await writeFile(at(name), `${lines.join('\n')}\n`);
    return at(name);
  };
  const [textFile, questionFile, wordFile] = [
    await file('texts.csv', ['text,label', ...labelled.map(({ text, label }) => `${text},${label}`)]),
    await file('questions.csv', ['question,passage', ...answered.map((row) => `${row.question},${row.passage}`)]),
    await file(
      'words.conll',
      tagged.map(({ tokens, tags }) => `${tokens.map((token, word) => `${token} ${tags[word]}`).join('\n')}\n`),
    ),
  ];
  const options = { name: 'stalls', type: 'multiclass-text-classification' } as const;
  const questions = answered.map(({ question, passage: context }) => ({ question, context }));
  const sentences = tagged.map(({ tokens: words, tags }) => ({ words, tags }));
  const zip = at('made.zip');
  const model = (await loadModel('customer-review'))._unsafeUnwrap();
  const judged = labelled.map(({ text }, row) => ({ text, label: model.labels[row % 2] ?? '' }));
  // A tenth of the texts: all others are only waited for.
  const some = texts.slice(0, Math.ceil(count / 10));
  return {
    'createClassificationArchive, file': async () =>
      createClassificationArchive({ ...options, rows: { path: textFile } }, zip),
    'createClassificationArchive, array': async () => createClassificationArchive({ ...options, rows: labelled }, zip),
    'createSequenceArchive, file': async () => createSequenceArchive({ name: 'stalls', rows: { path: wordFile } }, zip),
    'createSequenceArchive, array': async () => createSequenceArchive({ name: 'stalls', rows: sentences }, zip),
    'createRetrievalArchive, file': async () =>
      createRetrievalArchive({ name: 'stalls', rows: { path: questionFile } }, zip),
    'createRetrievalArchive, array': async () => createRetrievalArchive({ name: 'stalls', rows: questions }, zip),
    'train, texts in a file': async () => untilStep(async (run) => train({ path: textFile, ...run })),
    'train, texts in an array': async () => untilStep(async (run) => train({ rows: labelled, ...run })),
    'train, words in a file': async () => untilStep(async (run) => train({ path: wordFile, ...run })),
    'train, words in an array': async () => untilStep(async (run) => train({ rows: tagged, ...run })),
    'train, questions in a file': async () => untilStep(async (run) => train({ path: questionFile, ...run })),
    'train, questions in an array': async () => untilStep(async (run) => train({ rows: answered, ...run })),
    'tune, texts in an array': async () => untilStep(async (run) => tune({ rows: labelled, trials: 2, ...run })),
    'crossValidate, texts in an array': async () => untilStep(async (run) => crossValidate({ rows: labelled, ...run })),
    'crossValidate, words in a file': async () => untilStep(async (run) => crossValidate({ path: wordFile, ...run })),
    'checkData, texts in a file': async () => checkData({ path: textFile, maxJudged: 100 }),
    'checkData, texts in an array': async () => checkData({ rows: labelled, maxJudged: 100 }),
    'checkData, words in a file': async () => checkData({ path: wordFile, maxJudged: 100 }),
    'checkData, questions in an array': async () => checkData({ rows: answered, maxJudged: 100 }),
    'evaluate, array': async () => model.evaluate(judged.slice(0, some.length), { resamples: 100 }),
    'predict, array': async () => model.predict(some),
    'embed, array': async () => embed(some),
    'search, array': async () => search(some),
    'POST /page/uploads, texts': await upload(
      'rows.csv',
      options.type,
      count,
      (row) => `t${row},l${row % 7}\n`,
      'text,label\n',
    ),
    'POST /page/uploads, words': await upload('rows.conll', 'named-entity-recognition', count, (row) =>
      row % 8 ? `w${row} ${row % 2 ? 'B-P' : 'O'}\n` : '\n',
    ),
    'POST /page/uploads, questions': await upload(
      ...([
        'questions.csv',
        'question-answering',
        count,
        (row: number) => `q${row},p${row}\n`,
        'question,passage\n',
      ] as const),
    ),
    close: async () => ok(await model.close()),
  };
}

interface Run {
  readonly signal: AbortSignal;
  readonly onProgress: (event: TrainingEvent) => void;
}

/** Stops a training run at its first step: what comes before it is what depends on the thread that asks. */
async function untilStep(
  start: (run: Run) => Promise<Result<unknown, OrchardError>>,
): Promise<Result<unknown, OrchardError>> {
  const stop = new AbortController();
  const result = await start({
    signal: stop.signal,
    onProgress: (event) => {
      if (event.type === 'progress' && event.phase === 'train') stop.abort();
    },
  });
  return result.isErr() && result.error.code === 'aborted' ? ok(undefined) : result;
}

const UPLOAD_BYTES = 16 * 2 ** 20;

/** An upload of short rows: as many as fit, where many are asked for. */
async function upload(
  name: string,
  type: string,
  count: number,
  line: (row: number) => string,
  header = '',
): Promise<Call> {
  const services = accountServices({ storage: memoryStorage() });
  const handler = createHandler({ ...services, authenticate: () => ({ app_id: 'acme', tier: 'pro' }) });
  const lines = [header];
  let bytes = header.length;
  for (let row = 0; bytes < UPLOAD_BYTES - 100 && (count > FEW || row < count); row += 1) {
    const next = line(row);
    bytes += next.length;
    lines.push(next);
  }
  const body = Buffer.from(lines.join(''));
  const headers = {
    ...{ 'x-api-key': 'any', 'content-type': 'text/plain', 'content-length': `${body.length}` },
    ...{ 'x-file-name': name, 'x-model-type': type },
  };
  return async () => {
    const response = await handler(new Request('http://test/page/uploads', { method: 'POST', headers, body }));
    if (response.status !== 200) throw new Error(`${response.status}: ${(await response.text()).slice(0, 200)}`);
    return ok(undefined);
  };
}

/** Rows that go to a thread, too, so that the first call of each has loaded all code. */
const FEW = 600;

const folder = await mkdtemp(join(tmpdir(), 'orchard-stalls-'));
console.log(`${machine()}; ${options.rows} rows`);
const warmUp = await callsWith(FEW, folder);
const measured = await callsWith(Number(options.rows), folder);
const table: Record<string, Stalls> = {};
for (const [what, call] of Object.entries(measured)) {
  if (what === 'close' || !what.includes(options.only)) continue;
  await warmUp[what]?.();
  table[what] = await stallsDuring(async () => (await call())._unsafeUnwrap());
  const { seconds, processorMs, wallMs, mebibytes } = table[what];
  const figures = [
    `${seconds.toFixed(1)} s`,
    `${processorMs.toFixed(0)} ms`,
    `${wallMs.toFixed(0)} ms`,
    `${mebibytes.toFixed(0)} MiB`,
  ];
  console.log(`${what.padEnd(40)} ${figures.map((each) => each.padStart(10)).join('')}`);
}
await Promise.all([warmUp.close?.(), measured.close?.()]);
await rm(folder, { recursive: true });
process.exit(); // services of uploads stay open
