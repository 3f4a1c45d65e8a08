import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeByteRows } from '../../../../src/model-folder/index.js';
import { encoderWeights } from '../export-backbone.js';
import { writeCurve } from '../student/curve.js';
import { readSmallEncoder } from '../student/grow-student.js';
import { readStudent } from '../student/student-checkpoint.js';
import type { WorkFolder } from '../work-folder.js';
import { supervisedCurve } from './supervise.js';

export interface SupervisedExport {
  /** Folder of the backbone that went on learning. */
  readonly start: string;
  /** Where the result is put. Default: over the start. */
  readonly target?: string;
  /** What the card is told of this stage, as Markdown with a heading. */
  readonly section: string;
}

const KEPT = ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'curve.csv', 'curve.svg'];
const CURVE = 'supervised';
/** What the card of a backbone without this stage says, and what comes before it is said. */
const NO_LABELS = 'never their labels';
const BEFORE = '## What it has read';

/** Writes the backbone with the weights that it has after {@link supervise}, and what its card says of that. */
export function exportSupervised(
  work: WorkFolder,
  { start, target = start, section }: SupervisedExport,
): void {
  const { config } = readSmallEncoder(start);
  const { state, weights } = readStudent(work.annealed);
  mkdirSync(target, { recursive: true });
  if (target !== start) for (const file of KEPT) copyFileSync(join(start, file), join(target, file));
  writeFileSync(
    join(target, 'model.safetensors'),
    encodeByteRows(encoderWeights(weights, config, work.annealed)),
  );
  writeCurve(join(target, CURVE), state.curve, supervisedCurve);
  const card = supervisedCard(readFileSync(join(start, 'README.md'), 'utf8'), section);
  writeFileSync(join(target, 'README.md'), card);
  console.log(`written to ${target}`);
}

/** @throws where the card is not one of a backbone without this stage. */
export function supervisedCard(card: string, section: string): string {
  if (!(card.includes(NO_LABELS) && card.includes(BEFORE))) {
    throw new Error(
      `the card says neither "${NO_LABELS}" nor has it "${BEFORE}": has it learned labels before?`,
    );
  }
  return card
    .replace(NO_LABELS, 'and no labels but those said above')
    .replace(BEFORE, `${section.trim()}\n\n${BEFORE}`);
}
