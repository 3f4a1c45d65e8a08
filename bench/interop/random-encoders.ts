import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compareWithOracle, readOracle } from '../../test/support/encoder-oracle.js';

const SCRIPT = fileURLToPath(new URL('random_encoders.py', import.meta.url));

/** Largest differences that count as equal: of states and logits, and of gradients. */
const FORWARD_TOLERANCE = 1e-5;
const GRADIENT_TOLERANCE = 1e-4;

/** What Python's transformers and we compute with one random encoder. */
export interface EncoderRow {
  readonly model_type: string;
  /** Versions of transformers and PyTorch. */
  readonly library: string;
  readonly states: string;
  readonly exported: string;
  readonly logits: string;
  readonly gradients: string;
  /** Tensors whose gradients were compared. */
  readonly tensors: number;
  readonly equal: boolean;
}

/**
 * Has Python write small random encoders of every architecture and what it computes with them, and compares.
 * @param folder an empty one.
 * @returns a row for each by its name, or the reason as text if Python writes none.
 */
export async function compareRandomEncoders(
  folder: string,
  python: string,
): Promise<Record<string, EncoderRow> | string> {
  const { stdout, stderr, error, status } = spawnSync(python, [SCRIPT, folder], { encoding: 'utf8' });
  if (error) return `${python} does not start`;
  if (status !== 0) return stderr.trim().slice(-300);
  const rows: Record<string, EncoderRow> = {};
  for (const name of stdout.trim().split('\n')) rows[name] = await rowOf(join(folder, name));
  return rows;
}

async function rowOf(folder: string): Promise<EncoderRow> {
  const oracle = readOracle(folder);
  const { states, exported, logits, gradients, compared } = await compareWithOracle(oracle);
  const shown = (difference: number): string => difference.toExponential(1);
  return {
    model_type: oracle.encoder.modelType,
    library: oracle.writtenBy,
    states: shown(states),
    exported: shown(exported),
    logits: shown(logits),
    gradients: shown(gradients),
    tensors: compared,
    equal: Math.max(states, exported, logits) <= FORWARD_TOLERANCE && gradients <= GRADIENT_TOLERANCE,
  };
}
