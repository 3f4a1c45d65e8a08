import { fileURLToPath } from 'node:url';
import { Contestant } from './contestant.js';
import type { Models, SubjectModels, SubjectName } from './models.js';

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));
/** This process's own arguments load the TypeScript. */
const node = (name: string) => [process.execPath, ...process.execArgv, script(name)];

/** What starts Orchard as a contestant. */
export const orchardCommand: readonly string[] = node('orchard-contestant.ts');

/** A library on models of one precision. */
interface Plan {
  readonly name: string;
  /** Ratios refer to the reference. */
  readonly role: 'ours' | 'reference' | 'other';
  readonly precision: 'float32' | 'int8';
  readonly command: readonly string[];
  /** The numbers of threads that it may do best with. */
  readonly threadCounts: readonly number[];
}

/** A library that runs, once with each number of threads. */
export interface Side extends Plan {
  readonly contestants: readonly { readonly threads: number; readonly contestant: Contestant }[];
}

export interface SideOptions {
  readonly workers: number;
  /** A Python with onnxruntime and tokenizers. */
  readonly python?: string | undefined;
}

function plansOf({ workers, python }: SideOptions): Plan[] {
  const orchard = { role: 'ours', command: orchardCommand, threadCounts: [workers] } as const;
  const peer = { command: node('transformers-contestant.ts'), threadCounts: [1, 2] } as const;
  const plans: Plan[] = [
    { ...orchard, name: 'Orchard float32', precision: 'float32' },
    { ...orchard, name: 'Orchard int8', precision: 'int8' },
    { ...peer, name: 'transformers.js', role: 'reference', precision: 'float32' },
    { ...peer, name: 'transformers.js q8', role: 'other', precision: 'int8' },
  ];
  if (python === undefined) return plans;
  const command = [python, script('onnxruntime_contestant.py')];
  return [...plans, { ...peer, name: 'onnxruntime in Python', role: 'other', precision: 'float32', command }];
}

/** Starts every library on the models of a subject. @returns those that run, and why others don't. */
export async function openSides(
  models: Models,
  subject: SubjectName,
  options: SideOptions,
): Promise<{ readonly sides: readonly Side[]; readonly notes: readonly string[] }> {
  const sides: Side[] = [];
  const notes: string[] = [];
  for (const plan of plansOf(options)) {
    const found = await models.of(subject, plan.precision);
    const side = found === undefined ? 'the trainer kept float32' : await open(plan, found, options.workers);
    if (typeof side !== 'string') sides.push(side);
    else notes.push(`${subject}, ${plan.name}: left out, ${side}`);
  }
  return { sides, notes };
}

/** @returns the reason as text if it does not run. */
async function open(plan: Plan, found: SubjectModels, workers: number): Promise<Side | string> {
  const dtype = plan.precision === 'int8' ? 'q8' : 'fp32';
  const contestants: { threads: number; contestant: Contestant }[] = [];
  for (const threads of plan.threadCounts) {
    const contestant = await Contestant.start(plan.command, { ...found, workers, dtype, threads });
    if (typeof contestant === 'string') return contestant;
    contestants.push({ threads, contestant });
  }
  return { ...plan, contestants };
}

export async function closeSides(sides: readonly Side[]): Promise<void> {
  const contestants = sides.flatMap((side) => side.contestants);
  await Promise.all(contestants.map(({ contestant }) => contestant.stop()));
}
