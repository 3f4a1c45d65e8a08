import { execFile } from 'node:child_process';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { median } from '../report.js';
import type { Runtime } from '../runtimes.js';

/** Plain JavaScript, so that no compiler takes time. */
export const libraries = ['orchard', 'transformers'] as const;
export type Library = (typeof libraries)[number];
export const parts = ['import', 'worker', 'model', 'answer', 'total'] as const;
/** Milliseconds; a library may lack a part. */
export type Times = Readonly<Partial<Record<(typeof parts)[number], number>>>;

export interface FirstQuestion {
  /** Folder of the models. */
  readonly catalogue: string;
  /** A classifier with 8-bit weights. */
  readonly model: string;
  readonly query: string;
  /** The checkpoint of transformers that the model is the export of, in float32. Orchard loads the checkpoint then. */
  readonly checkpoint?: string;
  /** The option `runtime` of Orchard. Default auto. */
  readonly engine?: string;
}

/** One fresh process. @param threads of a run, in transformers.js */
export async function firstAnswer(
  { command: [program = '', ...args] }: Runtime,
  library: Library,
  { catalogue, model, query, checkpoint, engine = 'auto' }: FirstQuestion,
  threads = 1,
): Promise<Times> {
  const script = fileURLToPath(new URL(`${library}.mjs`, import.meta.url));
  const place =
    checkpoint !== undefined && library === 'orchard'
      ? [dirname(checkpoint), basename(checkpoint)]
      : [catalogue, model];
  const asked = [script, ...place, query, `${threads}`, checkpoint === undefined ? 'q8' : 'fp32', engine];
  const { stdout } = await promisify(execFile)(program, [...args, ...asked]);
  return JSON.parse(stdout);
}

export interface FirstAnswers {
  readonly runtime: string;
  readonly library: Library;
  /** Of each round; empty where the library does not run. */
  readonly times: readonly Times[];
}

/** Of transformers.js, one and two, of which the faster counts. */
const THREADS: Readonly<Record<Library, readonly number[]>> = { orchard: [1], transformers: [1, 2] };

/** Rounds take turns, and every other one reverses the order. */
export async function compareFirstAnswers(
  runtimes: readonly Runtime[],
  question: FirstQuestion,
  rounds: number,
): Promise<readonly FirstAnswers[]> {
  const sides = runtimes.flatMap((runtime) =>
    libraries.flatMap((library) =>
      THREADS[library].map((threads) => {
        const times: Times[] = [];
        return { runtime, library, threads, times };
      }),
    ),
  );
  const failed = new Set<unknown>();
  for (let round = 0; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : [...sides].reverse()) {
      if (failed.has(side)) continue;
      try {
        side.times.push(await firstAnswer(side.runtime, side.library, question, side.threads));
      } catch (thrown) {
        console.error(`${side.library} in ${side.runtime.name}: ${thrown}`);
        failed.add(side);
      }
    }
  }
  const total = ({ times }: Pick<FirstAnswers, 'times'>) => median(times.flatMap((each) => each.total ?? []));
  return runtimes.flatMap((runtime) =>
    libraries.flatMap((library) => {
      const own = sides.filter((side) => side.runtime === runtime && side.library === library);
      const [best] = own.sort((a, b) => total(a) - total(b));
      return best === undefined ? [] : [{ runtime: runtime.name, library, times: best.times }];
    }),
  );
}

/** Medians, and the least total, as Markdown; the ratio is transformers.js' median total divided by Orchard's. */
export function firstAnswersTable(answers: readonly FirstAnswers[]): string {
  const total = (runtime: string, library: Library) => {
    const side = answers.find((each) => each.runtime === runtime && each.library === library);
    return median(side?.times.flatMap((times) => times.total ?? []) ?? []);
  };
  const rows = answers.map(({ runtime, library, times }) => {
    const of = (part: (typeof parts)[number]) => times.flatMap((each) => each[part] ?? []);
    const cells = [
      ...parts.map((part) => median(of(part))),
      times.length === 0 ? Number.NaN : Math.min(...of('total')),
    ];
    const ratio = library === 'orchard' ? total(runtime, 'transformers') / total(runtime, 'orchard') : Number.NaN;
    const shown = [...cells.map((ms) => ms.toFixed(0)), `${ratio.toFixed(2)}×`];
    return `| ${runtime} | ${library} | ${shown.map((cell) => (cell.startsWith('NaN') ? '' : cell)).join(' | ')} |`;
  });
  const header = `| | first answer, ms | ${parts.join(' | ')} | least | ratio |`;
  return [header, `|${' --- |'.repeat(parts.length + 4)}`, ...rows].join('\n');
}
