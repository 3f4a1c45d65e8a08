import * as z from 'zod';
import type { Columns } from '../../easy/index.js';

const column = z.string().min(1).optional();

/** Options that say what a file's columns are called. */
export const columnFields = {
  'text-column': column,
  'label-column': column,
  'question-column': column,
  'passage-column': column,
};

export function columnsOf(
  settings: {
    readonly [Name in keyof typeof columnFields]?: string | undefined;
  },
): Columns {
  return {
    text: settings['text-column'],
    label: settings['label-column'],
    question: settings['question-column'],
    passage: settings['passage-column'],
  };
}
