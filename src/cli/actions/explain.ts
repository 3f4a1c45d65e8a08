import { styleText } from 'node:util';
import * as z from 'zod';
import { DEVICES } from '../../device-names.js';
import { type AnswerExplanation, loadModel, type Model } from '../../easy/index.js';
import type { ExplainedAnswer, ExplainedWord } from '../../families/index.js';
import { onOneLine } from '../answers/answer-writer.js';
import { checked } from '../checked.js';
import { closing } from '../closing.js';
import type { CommandRun } from '../command-definition.js';
import { FAILED } from '../failure.js';
import { type GivenTexts, givenTexts } from '../input/given-texts.js';
import { inputFormats } from '../input/texts.js';
import { outcomeOf } from '../outcome.js';
import { numberSchema } from './shared-settings.js';
import { grouped } from './table.js';

const explainSchema = z.strictObject({
  model: z.string().min(1),
  texts: z.array(z.string()).optional(),
  input: z.string().min(1).optional(),
  'input-format': z.enum(inputFormats).optional(),
  'text-column': z.string().min(1).optional(),
  label: z.string().min(1).optional(),
  device: z.enum(DEVICES).optional(),
  threads: numberSchema.pipe(z.int().min(1)).optional(),
});

/** `orchard explain`: which words moved the answers. */
export async function explain(run: CommandRun): Promise<number> {
  const { model: name, label, device, threads, ...source } = checked(explainSchema, run.given);
  const input = await givenTexts(source, run.terminal);
  run.output.closed.addEventListener('abort', input.stop);
  try {
    const opened = await outcomeOf(
      loadModel(name, { ...(device && { device }), ...(threads && { threads }) }),
    );
    return await closing(opened, (model) => explainAll(model, input, label, run));
  } finally {
    input.stop();
  }
}

/** @returns the exit code */
async function explainAll(
  model: Model,
  input: GivenTexts,
  label: string | undefined,
  { output, isJson, terminal }: CommandRun,
): Promise<number> {
  const isColoured = output.isTerminal && !terminal.env.NO_COLOR;
  let failures = 0;
  for await (const each of input.texts) {
    const explained = 'text' in each ? await model.explain(each.text, { label }) : undefined;
    if (explained?.isOk() && 'text' in each) {
      const lines = isJson
        ? [JSON.stringify({ ...each, ...explained.value })]
        : linesOf(each.text, explained.value, isColoured);
      for (const line of lines) await output.line(line);
    } else {
      failures += 1;
      const problem = explained?.isErr() ? explained.error.message : 'problem' in each ? each.problem : '';
      output.warn(`${input.name} ${grouped(each.line)}: ${problem}`);
      if (isJson) await output.json({ line: each.line, error: problem });
    }
    if (output.closed.aborted) break;
  }
  return failures > 0 ? FAILED : 0;
}

/** One for each answer explained. */
function linesOf(text: string, { explained }: AnswerExplanation, isColoured: boolean): readonly string[] {
  return explained.map((each) => {
    const { answer, score } = each;
    return `${onOneLine(answer)}\t${score.toFixed(4)}\t${onOneLine(withWeights(text, each, isColoured))}`;
  });
}

/** The text, each word with what it adds. */
function withWeights(text: string, { words }: ExplainedAnswer, isColoured: boolean): string {
  const most = Math.max(0, ...words.map(({ weight }) => Math.abs(weight)));
  let done = 0;
  const pieces = words.flatMap((each) => {
    const before = text.slice(done, each.start);
    done = each.start + each.word.length;
    return [before, isColoured ? coloured(each, most) : `${each.word}(${signed(each.weight)})`];
  });
  return [...pieces, text.slice(done)].join('');
}

const signed = (weight: number): string => `${weight < 0 ? '' : '+'}${weight.toFixed(2)}`;

/** Words that move an answer less than this share of the strongest one stay as they are. */
const SHOWN_SHARE = 0.2;

/** Green speaks for the answer, red against it. */
function coloured({ word, weight }: ExplainedWord, most: number): string {
  if (Math.abs(weight) <= SHOWN_SHARE * most) return word;
  return styleText(weight > 0 ? 'green' : 'red', word);
}
