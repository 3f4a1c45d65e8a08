import { stat } from 'node:fs/promises';
import * as z from 'zod';
import { DEVICES } from '../../device-names.js';
import { openSearch, type SearchIndex, search } from '../../easy/index.js';
import { onOneLine } from '../answers/answer-writer.js';
import { checked } from '../checked.js';
import { closing } from '../closing.js';
import type { CommandRun } from '../command-definition.js';
import { FAILED } from '../failure.js';
import { type GivenTexts, givenTexts } from '../input/given-texts.js';
import { inputFormats } from '../input/texts.js';
import { interruptible } from '../interruption.js';
import { outcomeOf } from '../outcome.js';
import type { Output } from '../output.js';
import { UsageError } from '../usage-error.js';
import { numberSchema } from './shared-settings.js';
import { grouped } from './table.js';

const searchSchema = z.strictObject({
  passages: z.string().min(1),
  questions: z.array(z.string()).optional(),
  'input-format': z.enum(inputFormats).optional(),
  'text-column': z.string().min(1).optional(),
  top: numberSchema.pipe(z.int().min(1)).default(3),
  model: z.string().min(1).optional(),
  language: z.string().min(1).optional(),
  save: z.string().min(1).optional(),
  device: z.enum(DEVICES).optional(),
});
type SearchSettings = z.infer<typeof searchSchema>;

/** `orchard search`: the passages that answer questions best. */
export async function searchPassages(run: CommandRun): Promise<number> {
  const settings = checked(searchSchema, run.given);
  const opened = await interruptible((signal) => indexOf(settings, run, signal));
  return closing(opened, async (index) => {
    const { questions = [], save } = settings;
    if (save !== undefined) {
      await outcomeOf(index.save(save));
      run.output.note(`${grouped(index.size)} passages are kept in ${save}`);
      if (questions.length === 0) return 0;
    }
    return answerAll(index, await givenTexts({ texts: questions }, run.terminal), settings.top, run);
  });
}

/** @returns the exit code */
async function answerAll(
  index: SearchIndex,
  asked: GivenTexts,
  top: number,
  run: CommandRun,
): Promise<number> {
  const { output } = run;
  output.closed.addEventListener('abort', asked.stop);
  let failures = 0;
  for await (const each of asked.texts) {
    if ('text' in each) await answer(index, each, top, run);
    else {
      failures += 1;
      output.warn(`${asked.name} ${grouped(each.line)}: ${each.problem}`);
    }
    if (output.closed.aborted) break;
  }
  return failures > 0 ? FAILED : 0;
}

async function answer(
  index: SearchIndex,
  { line, text }: { readonly line: number; readonly text: string },
  k: number,
  { output, isJson }: CommandRun,
): Promise<void> {
  const found = await outcomeOf(index.search(text, { k }));
  if (isJson) return output.json({ line, question: text, passages: found });
  if (line > 1) await output.line('');
  for (const { score, passage } of found) await output.line(`${score.toFixed(4)}\t${onOneLine(passage)}`);
}

/** An index that was kept, or one of the passages of a file. */
async function indexOf(
  settings: SearchSettings,
  { terminal, output }: CommandRun,
  signal: AbortSignal,
): Promise<SearchIndex> {
  const { passages: path, model, language, device } = settings;
  if (await isFolder(path)) {
    if (model !== undefined) throw new UsageError('--model: an index has one already; leave it away');
    if (language !== undefined) throw new UsageError('--language: an index has one already; leave it away');
    return outcomeOf(openSearch(path, { device, signal }));
  }
  const passages = await passagesOf(settings, output, terminal);
  return outcomeOf(search(passages, { model, device, language, signal }));
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

/** @throws what a file throws that isn't there. What can't be read of it is told, and left out. */
async function passagesOf(
  { passages: input, ...format }: SearchSettings,
  output: Output,
  terminal: CommandRun['terminal'],
): Promise<readonly string[]> {
  const source = { input, 'input-format': format['input-format'], 'text-column': format['text-column'] };
  const given = await givenTexts(source, terminal);
  const passages: string[] = [];
  for await (const each of given.texts) {
    if ('text' in each) passages.push(each.text);
    else output.warn(`${given.name} ${grouped(each.line)}: ${each.problem}`);
  }
  return passages;
}
