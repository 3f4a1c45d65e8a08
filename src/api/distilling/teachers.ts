import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Device, familyNameOf, ModelFolderError, type ModelType, orThrow } from '../../contract/index.js';
import { type EntityRange, type EntityRow, invalid } from '../../datasets/index.js';
import { meanDoubts } from '../../families/index.js';
import { Bm25Index } from '../../lexical/index.js';
import { CONFIG_FILE, type ModelLoader, ONNX_FILE, readConfig } from '../../models/index.js';
import { embed, findEncoder, scorePairs } from '../../search/index.js';
import { chunksOf, isPauseDue, pause, withPauses } from '../../system/index.js';
import type { Answer } from '../answers.js';
import type { ModelCost, ModelTeacher, Teacher, TeacherCall, TeacherFunction } from '../distill.js';
import type { Model } from '../model.js';
import { loadModel, OpenModel } from '../open-model.js';
import { checkedAnswer } from './teacher-answers.js';

/** Teachers, each as something that answers texts. */

export interface OpenTeacher {
  /** For people. */
  readonly name: string;
  /** What answers are kept under. */
  readonly identity: string;
  /** What its answers are for, if that is known: a function doesn't say. */
  readonly says: { readonly type: ModelType; readonly labels: readonly string[] } | undefined;
  /** Whether a call may fail for a passing reason. */
  readonly mayFail: boolean;
  ask(texts: readonly string[], call: TeacherCall): PromiseLike<readonly unknown[]> | readonly unknown[];
  /** @param texts to measure the time with. Undefined for a function, and for a model that scores passages. */
  cost?(texts: readonly string[]): Promise<ModelCost>;
  close(): Promise<void>;
}

export interface TeacherOptions {
  readonly modelLoader: ModelLoader | undefined;
  /** Where a model that is opened here answers. */
  readonly device: Device | undefined;
  readonly teacherName: string | undefined;
  /** Retrieval: what is searched. */
  readonly passages: readonly string[] | undefined;
  readonly signal: AbortSignal | undefined;
}

/** @throws ValidationError, and what loading a model throws */
export async function openTeacher(teacher: Teacher, options: TeacherOptions): Promise<OpenTeacher> {
  if (typeof teacher === 'function') return functionTeacher(teacher, options.teacherName ?? 'function');
  if (options.teacherName !== undefined) {
    throw invalid(['teacherName'], 'does not apply to a teacher that is a model; leave it out');
  }
  const given = isList(teacher) ? teacher : [teacher];
  const opened: OpenTeacher[] = [];
  try {
    for (const each of given) opened.push(await openOne(each, options));
    const [first, ...others] = opened;
    if (first === undefined) throw invalid(['teacher'], 'give at least one model');
    return others.length === 0 ? first : averaged(first, others);
  } catch (thrown) {
    await closeAll(opened);
    throw thrown;
  }
}

const isList = (teacher: Exclude<Teacher, TeacherFunction>): teacher is readonly ModelTeacher[] =>
  Array.isArray(teacher);

async function closeAll(teachers: readonly OpenTeacher[]): Promise<void> {
  await Promise.all(teachers.map((each) => each.close()));
}

function functionTeacher(ask: TeacherFunction, name: string): OpenTeacher {
  return { name, identity: `function ${name}`, says: undefined, mayFail: true, ask, close: async () => undefined };
}

async function openOne(teacher: ModelTeacher, options: TeacherOptions): Promise<OpenTeacher> {
  const { modelLoader, device, passages, signal } = options;
  if (passages !== undefined) return passageTeacher(teacher, passages, options);
  if (typeof teacher !== 'string') return modelTeacher(teacher, async () => undefined);
  const model = await orThrow(
    loadModel(teacher, { signal, ...(device && { device }), ...(modelLoader && { modelLoader }) }),
  );
  try {
    return await modelTeacher(model, () => model.close());
  } catch (thrown) {
    await model.close();
    throw thrown;
  }
}

async function modelTeacher(model: Model, close: () => Promise<void>): Promise<OpenTeacher> {
  const { name, type, labels, readsPairs, rules, directory } = model;
  if (readsPairs)
    throw invalid(
      ['teacher'],
      `${name} reads pairs of texts, but \`texts\` has single texts; train on labelled rows of pairs instead`,
    );
  if (type === 'question-answering')
    throw invalid(['passages'], `${name} answers questions; give the \`passages\` that the student answers from`);
  return {
    name,
    identity: `model ${await folderHash(directory, JSON.stringify(rules))}`,
    says: { type, labels },
    mayFail: false,
    ask: async (texts, { signal }) => {
      if (model instanceof OpenModel && model.kind === 'entities') {
        const answers = await model.answersWithDoubts(texts, signal);
        return answers.map(({ answer, doubts }) => {
          const entities = answerOf(answer);
          return doubts.length === 0 ? entities : { entities, doubts };
        });
      }
      return (await orThrow(model.predict(texts, { signal }))).map(answerOf);
    },
    cost: async (texts) => ({ bytes: await bytesToAnswer(directory), ...(await timeOf(model, texts)) }),
    close,
  };
}

/** Less says nothing, and takes a line of many labels. */
const LEAST_SHARE = 1e-6;

function answerOf(answer: Answer): unknown {
  if (answer.kind === 'passages') return null;
  if (answer.kind === 'entities')
    return answer.entities.map(({ type, start, end, score }) => ({ type, start, end, score }));
  const shares = answer.scores.filter(({ score }) => score >= LEAST_SHARE);
  return Object.fromEntries(shares.map(({ label, score }) => [label, Number(score.toFixed(6))]));
}

/** Files that don't change what a model answers. */
const WITHOUT_EFFECT = /(?:^|\/)\.|\.(?:md|html)$|distillation\.json$/;

async function folderHash(directory: string, more: string): Promise<string> {
  const hash = createHash('sha256').update(more);
  const names = (await readdir(directory, { recursive: true })).filter((name) => !WITHOUT_EFFECT.test(name)).sort();
  for (const name of names) {
    const path = join(directory, name);
    if (!(await stat(path)).isFile()) continue;
    hash.update(`\0${name.replaceAll('\\', '/')}\0`);
    for await (const chunk of chunksOf(path)) hash.update(chunk);
    if (isPauseDue()) await pause();
  }
  return hash.digest('hex').slice(0, 32);
}

/** Of the graph, the tokenizer and the lexical expert. Undefined of a folder of another library. */
export async function bytesToAnswer(directory: string): Promise<number> {
  const { orchard } = await readConfig(directory);
  const names = [orchard.graph ?? ONNX_FILE, 'tokenizer.json', ...orchard.files];
  const sizes = names.map(async (name) => (await stat(join(directory, name)).catch(() => undefined))?.size ?? 0);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

const WARM_UP = 3;
const TIMED = 40;

/** The median of texts that are asked one by one. */
export async function timeOf(model: Model, texts: readonly string[]): Promise<Pick<ModelCost, 'millisecondsPerText'>> {
  const times: number[] = [];
  for (const text of [...texts.slice(0, WARM_UP), ...texts.slice(0, TIMED)]) {
    const startedAt = performance.now();
    await orThrow(model.predict(text));
    times.push(performance.now() - startedAt);
  }
  const sorted = times.slice(Math.min(WARM_UP, texts.length)).sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  return median === undefined ? {} : { millisecondsPerText: median };
}

/** A cross-encoder scores each candidate together with the question; any other encoder by the cosine of their vectors. */
async function passageTeacher(
  teacher: ModelTeacher,
  passages: readonly string[],
  { modelLoader, device, signal }: TeacherOptions,
): Promise<OpenTeacher> {
  const model = typeof teacher === 'string' ? teacher : teacher.directory;
  const name = typeof teacher === 'string' ? teacher : teacher.name;
  const { directory } = await findEncoder(model, { modelLoader, signal });
  const known = {
    name,
    mayFail: false,
    says: { type: 'question-answering', labels: [] },
    close: async () => undefined,
  } as const;
  const options = { model, device, ...(modelLoader && { modelLoader }) };
  const identity = `model ${await folderHash(directory, '')}`;
  if (await isCrossEncoder(directory)) {
    return {
      ...known,
      identity,
      ask: async (questions, call) => {
        const pairs = questions.flatMap((question, at) =>
          (call.candidates[at] ?? []).map((passage) => [question, passage] as const),
        );
        const scores = [...(await orThrow(scorePairs(pairs, { ...options, signal: call.signal })))];
        return questions.map((_, at) => scores.splice(0, call.candidates[at]?.length ?? 0));
      },
    };
  }
  const vectors = await orThrow(embed(passages, { ...options, prompt: 'document', signal }));
  const vectorOf = new Map(passages.map((passage, at) => [passage, vectors[at] ?? new Float32Array()]));
  return {
    ...known,
    identity,
    ask: async (questions, call) => {
      const asked = await orThrow(embed(questions, { ...options, prompt: 'query', signal: call.signal }));
      return questions.map((_, at) => {
        const own = asked[at] ?? new Float32Array();
        return (call.candidates[at] ?? []).map((passage) => cosine(own, vectorOf.get(passage) ?? own));
      });
    },
  };
}

/** @throws ModelFolderError */
async function isCrossEncoder(directory: string): Promise<boolean> {
  const file = join(directory, CONFIG_FILE);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new ModelFolderError(file, 'it is missing', { cause });
  });
  const { architectures, orchard } = { architectures: undefined, orchard: undefined, ...JSON.parse(text) };
  if (orchard !== undefined) return orchard?.parts === 'pair';
  return (
    Array.isArray(architectures) && architectures.some((name) => String(name).endsWith('ForSequenceClassification'))
  );
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [dot, squaresA, squaresB] = [0, 0, 0];
  for (const [at, value] of a.entries()) {
    const other = b[at] ?? 0;
    dot += value * other;
    squaresA += value * value;
    squaresB += other * other;
  }
  return dot / Math.sqrt(squaresA * squaresB || 1);
}

/** @throws ValidationError for teachers of other labels, or for other texts */
function averaged(first: OpenTeacher, others: readonly OpenTeacher[]): OpenTeacher {
  const all = [first, ...others];
  const { type, labels } = first.says ?? {};
  for (const { name, says } of others) {
    const isAlike = says?.type === type && isSameSet(says?.labels ?? [], labels ?? []);
    if (isAlike) continue;
    const msg = `${first.name} is a ${type} model with the labels ${labels?.join(', ')}, but ${name} is a ${says?.type} model with ${says?.labels.join(', ')}; average only teachers with the same type and labels`;
    throw invalid(['teacher'], msg);
  }
  return {
    name: all.map(({ name }) => name).join(' + '),
    identity: `average of ${all.map(({ identity }) => identity).join(', ')}`,
    says: first.says,
    mayFail: false,
    async ask(texts, call) {
      const answers: (readonly unknown[])[] = [];
      for (const each of all) answers.push(await each.ask(texts, call));
      return texts.map((text, at) => {
        const own = answers.map((each) => each[at]);
        return type !== undefined && familyNameOf[type] === 'Grapefruit' ? commonEntities(own, text) : averageOf(own);
      });
    },
    async cost(texts) {
      const costs = await Promise.all(all.map(async (each): Promise<ModelCost> => (await each.cost?.(texts)) ?? {}));
      return { ...sumOf('bytes', costs), ...sumOf('millisecondsPerText', costs) };
    },
    close: () => closeAll(all),
  };
}

/** Nothing if one of the costs lacks the part. */
function sumOf(part: keyof ModelCost, costs: readonly ModelCost[]): ModelCost {
  const values = costs.flatMap((cost) => cost[part] ?? []);
  return values.length < costs.length ? {} : { [part]: values.reduce((sum, value) => sum + value, 0) };
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((each) => b.includes(each));
}

/** Probabilities: their mean. Scores of passages: the mean of standard scores. */
function averageOf(answers: readonly unknown[]): unknown {
  const [first] = answers;
  if (isScores(first)) return meanOf(answers.filter(isScores).map(standardScores));
  const sums: Record<string, number> = {};
  for (const answer of answers) {
    for (const [label, share] of Object.entries(answer ?? {})) {
      sums[label] = (sums[label] ?? 0) + Number(share) / answers.length;
    }
  }
  return sums;
}

function isScores(answer: unknown): answer is number[] {
  return Array.isArray(answer) && answer.length > 0 && answer.every((each) => typeof each === 'number');
}

function standardScores(scores: readonly number[]): number[] {
  const mean = scores.reduce((sum, each) => sum + each, 0) / scores.length;
  const variance = scores.reduce((sum, each) => sum + (each - mean) ** 2, 0) / scores.length;
  return scores.map((each) => (each - mean) / Math.sqrt(variance || 1));
}

function meanOf(lists: readonly (readonly number[])[]): number[] {
  const [first = []] = lists;
  return first.map((_, at) => lists.reduce((sum, list) => sum + (list[at] ?? 0), 0) / lists.length);
}

/** Entities that most teachers find, and the mean of the probabilities of tags. */
function commonEntities(given: readonly unknown[], text: string): unknown {
  const answers = given.map((answer) => entitiesIn(answer, text));
  const votes = new Map<string, { readonly entity: EntityRange; count: number }>();
  for (const { entities } of answers) {
    for (const { start, end, type } of entities) {
      const key = `${start} ${end} ${type}`;
      const before = votes.get(key) ?? { entity: { start, end, type }, count: 0 };
      before.count += 1;
      votes.set(key, before);
    }
  }
  const entities = [...votes.values()].flatMap(({ entity, count }) => (2 * count > answers.length ? [entity] : []));
  const doubts = meanDoubts(text, entities, answers);
  return doubts.length === 0 ? entities : { entities, doubts };
}

/** Of a model's answer. */
function entitiesIn(answer: unknown, text: string): Omit<EntityRow, 'text'> {
  const checked = checkedAnswer(answer, text, { kind: 'entities', isMultilabel: false, labels: undefined });
  return 'problem' in checked || checked.kind !== 'entities' ? { entities: [] } : checked;
}

/** Passages that a teacher scores for each question: those that BM25 finds. */
const CANDIDATES = 10;

/**
 * The passages to score for each question: the best by BM25 and, where fewer share a word with it, the first ones.
 * @param isEnglish whether words are compared by their stems
 */
export async function candidatesFor(
  questions: readonly string[],
  passages: readonly string[],
  isEnglish: boolean,
  signal: AbortSignal | undefined,
): Promise<readonly (readonly string[])[]> {
  const index = await withPauses(Bm25Index.indexing(passages, { stem: isEnglish }), signal);
  const found: string[][] = [];
  for (const question of questions) {
    if (isPauseDue()) await pause(signal);
    const ids = index.search(question, CANDIDATES).map(({ id }) => id);
    for (let id = 0; ids.length < Math.min(CANDIDATES, passages.length); id += 1) if (!ids.includes(id)) ids.push(id);
    found.push(ids.map((id) => passages[id] ?? ''));
  }
  return found;
}
