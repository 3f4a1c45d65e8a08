import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const SCRIPT = fileURLToPath(new URL('python_peer.py', import.meta.url));
const answerSchema = z.union([
  z.strictObject({
    library: z.string(),
    ids: z.array(z.array(z.int())),
    outputs: z.array(z.array(z.number())),
  }),
  /** Package that has to be installed first. */
  z.strictObject({ missing: z.string() }),
  z.strictObject({ failure: z.string() }),
]);

/** Token ids and outputs of each text, or why there are none. */
export type PythonAnswer = z.infer<typeof answerSchema>;

/** How Python loads a folder; python_peer.py has a function for each. */
export type Loading = 'sequence-classification' | 'token-classification' | 'mean-classification' | 'sentence-vectors';

export interface PythonFolder {
  readonly path: string;
  readonly load: Loading;
}

/**
 * Runs the texts through every folder.
 * @returns one answer per folder, or the reason as text if Python does not run.
 */
export function runInPython(
  folders: readonly PythonFolder[],
  texts: readonly string[],
  python: string,
): PythonAnswer[] | string {
  const { stdout, stderr, error, status } = spawnSync(python, [SCRIPT], {
    input: JSON.stringify({ folders, texts }),
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  if (error) return `${python} does not start`;
  if (status !== 0) return stderr.trim().slice(-300);
  return stdout
    .trim()
    .split('\n')
    .map((line) => answerSchema.parse(JSON.parse(line)));
}
