import { lostInput } from '../system/index.js';
import { UsageError } from './command.js';

interface Output {
  /** As typed; undefined if nothing is written. */
  readonly path: string | undefined;
  readonly flag: string;
  /** The files and folders that the command reads. What isn't one, such as the name of a model, is skipped. */
  readonly inputs: readonly (string | undefined)[];
}

/** An output must not replace what the command reads. @throws UsageError */
export async function requireNotRead({ path, flag, inputs }: Output): Promise<void> {
  const lost = await lostInput(path, { inputs });
  if (lost === undefined) return;
  throw new UsageError(`${flag}: writing ${path} would destroy ${lost}, which is read; give another path`);
}
