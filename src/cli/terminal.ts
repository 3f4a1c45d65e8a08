import type { Readable, Writable } from 'node:stream';

/** A stream that may end at a person's terminal. */
interface MayBeTerminal {
  readonly isTTY?: boolean;
  /** Characters of a line, if it is one. */
  readonly columns?: number;
}

/** What a command reads and writes. Tests bring their own. */
export interface Terminal {
  readonly stdin: Readable & MayBeTerminal;
  readonly stdout: Writable & MayBeTerminal;
  readonly stderr: Writable & MayBeTerminal;
  readonly env: NodeJS.ProcessEnv;
}

/** Those of this process. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process;
  return { stdin, stdout, stderr, env };
}
