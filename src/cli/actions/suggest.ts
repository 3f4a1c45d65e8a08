import * as z from 'zod';
import { DEVICES } from '../../device-names.js';
import { loadModel, type Model, type SuggestedText, suggestTexts } from '../../easy/index.js';
import { checked } from '../checked.js';
import { closing } from '../closing.js';
import type { CommandRun } from '../command-definition.js';
import { FAILED } from '../failure.js';
import { type GivenTexts, givenTexts } from '../input/given-texts.js';
import { inputFormats } from '../input/texts.js';
import { interruptible } from '../interruption.js';
import { outcomeOf } from '../outcome.js';
import { Progress } from '../progress.js';
import { numberSchema } from './shared-settings.js';
import { grouped } from './table.js';

const suggestSchema = z.strictObject({
  model: z.string().min(1),
  texts: z.array(z.string()).optional(),
  input: z.string().min(1).optional(),
  'input-format': z.enum(inputFormats).optional(),
  'text-column': z.string().min(1).optional(),
  count: numberSchema.pipe(z.int().min(1)).optional(),
  seed: numberSchema.optional(),
  device: z.enum(DEVICES).optional(),
  threads: numberSchema.pipe(z.int().min(1)).optional(),
});

/** `orchard suggest`: which texts to label next. */
export async function suggest(run: CommandRun): Promise<number> {
  const { model: name, count, seed, device, threads, ...source } = checked(suggestSchema, run.given);
  const input = await givenTexts(source, run.terminal);
  try {
    return await interruptible(async (signal) => {
      const service = { signal, ...(device && { device }), ...(threads && { threads }) };
      return closing(await outcomeOf(loadModel(name, service)), (model) =>
        suggestFrom(model, input, run, { count, seed, signal }),
      );
    });
  } finally {
    input.stop();
  }
}

type Options = NonNullable<Parameters<typeof suggestTexts>[2]>;

/** A line that can't be read is told, and the rest goes on. */
async function suggestFrom(
  model: Model,
  input: GivenTexts,
  { terminal, output, isJson }: CommandRun,
  options: Options,
): Promise<number> {
  const progress = new Progress(terminal);
  let failures = 0;
  const lines: number[] = [];
  async function* texts() {
    for await (const each of input.texts) {
      if ('text' in each) {
        lines.push(each.line);
        yield each.text;
      } else {
        failures += 1;
        progress.clear();
        output.warn(`${input.name} ${grouped(each.line)}: ${each.problem}`);
      }
      progress.show(input.fraction(), `${grouped(lines.length)} texts`);
    }
  }
  const suggested = await outcomeOf(suggestTexts(model, texts(), options)).finally(() => progress.clear());
  const placed = suggested.map(({ index, ...rest }: SuggestedText) => ({ line: lines[index] ?? 0, ...rest }));
  for (const each of placed) {
    const { line, uncertainty, text } = each;
    if (isJson) await output.json(each);
    else await output.line(`${uncertainty.toFixed(4)}\t${line}\t${text.replace(/\s+/g, ' ')}`);
  }
  return failures > 0 ? FAILED : 0;
}
