import { basename } from 'node:path';
import { onnxExecutor } from '../../../../src/graph/index.js';
import { loadTokenizer } from '../../../../src/text/index.js';
import type { Recipe } from '../recipe.js';
import { MAX_PASSAGE_TOKENS } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { computeTargets, fileHash, shardsOf, textHash } from './compute-targets.js';
import { givenVectors, storeVectors } from './given-vectors.js';
import { Teacher } from './load-teacher.js';
import { type Plan, tracksOf } from './plan.js';
import { TargetFolder } from './target-folder.js';
import { mannersOf } from './teachers.js';

/** Options of the command that computes targets. */
export const targetOptions = {
  teacher: { type: 'string' },
  texts: { type: 'string', default: '200000' },
  'shard-of': { type: 'string', default: '1/1' },
  int8: { type: 'boolean', default: false },
} as const;

export interface TargetsAsked {
  /** Folder of the teacher, or of vectors that it gave; its name is one of the plan's. */
  readonly teacher: string;
  readonly plan: Plan;
  /** Those of the whole corpus. */
  readonly passages: readonly string[];
  readonly threads: number;
  readonly texts: string;
  readonly 'shard-of': string;
  readonly int8: boolean;
}

/** Texts over which the ranges of a teacher's 8-bit arithmetic are found. */
const CALIBRATION_TEXTS = 128;

/** Stores what the plan asks of one teacher. @throws Error if the plan has none of this name. */
export async function askTeacher(recipe: Recipe, work: WorkFolder, asked: TargetsAsked): Promise<void> {
  const { plan, passages, int8 } = asked;
  const name = basename(asked.teacher);
  const planned = plan.teachers.find((each) => each.name === name);
  if (planned === undefined) throw new Error(`the plan has no teacher ${name}`);
  const json = recipe.tokenizer(work);
  const student = loadTokenizer(json);
  const folder = new TargetFolder(work.targets(name));
  const count = Number(asked.texts);
  const { prefix, pooling, licence } = mannersOf(name);
  const hashes = { corpus: fileHash(work.passages), tokenizer: textHash(JSON.stringify(json)) };
  const manners = { name, prefix, pooling, licence, ...hashes };
  const given = givenVectors(asked.teacher);
  if (given !== undefined) {
    const record = { ...manners, arithmetic: 'float32' as const, width: given.width };
    return storeVectors(folder, record, given, passages, { student, count });
  }
  if (pooling === 'own') throw new Error(`${asked.teacher} has no vectors, which another program computes`);
  const tracks = tracksOf(planned);
  const calibration = int8 ? passages.slice(0, CALIBRATION_TEXTS).map((text) => prefix + text) : undefined;
  const executor = onnxExecutor({ threads: asked.threads });
  const teacher = await Teacher.load(asked.teacher, executor, tracks, calibration);
  const arithmetic = int8 ? ('int8' as const) : ('float32' as const);
  const record = { ...manners, arithmetic, width: teacher.width };
  const rules = { teacher: teacher.tokenizer, student, prefix, pooling, maxTokens: MAX_PASSAGE_TOKENS };
  const shards = shardsOf(asked['shard-of']);
  await computeTargets(folder, record, passages, { teacher, rules, tracks, count, shards });
  await teacher.release();
}
