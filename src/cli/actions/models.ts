import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { NotFoundError } from '../../errors.js';
import { CARD_FILE } from '../../model-folder/index.js';
import {
  type ListedModel,
  listModels,
  type ModelProgress,
  pullModel,
  verifyModel,
} from '../../model-loader/index.js';
import type { UsageTerms } from '../../usage-terms.js';
import { checked } from '../checked.js';
import type { CommandRun } from '../command-definition.js';
import { FAILED } from '../failure.js';
import { interruptible } from '../interruption.js';
import { outcomeOf } from '../outcome.js';
import { Progress } from '../progress.js';
import { alignedLines, grouped } from './table.js';
import { hindrance } from './usage-terms.js';

const directory = z.string().min(1).optional();
const listSchema = z.strictObject({ directory });
const namedSchema = z.strictObject({ name: z.string().min(1), directory });
const pullSchema = z.strictObject({ name: z.string().min(1), from: z.string().min(1).optional(), directory });

/** `orchard models list` */
export async function list({ given, output, isJson }: CommandRun): Promise<number> {
  const models = await outcomeOf(listModels(placeOf(checked(listSchema, given))));
  if (isJson) for (const each of models) await output.json(each);
  else {
    for (const line of alignedLines(models.map(cells))) await output.line(line);
    for (const each of models.filter(isBound))
      await output.line(`\n${each.name}: ${hindrance(each.licence)}`);
  }
  return 0;
}

function cells({ name, kind, bytes, source, directory, licence }: ListedModel): readonly string[] {
  return [
    name,
    kind,
    `${(bytes / 1e6).toFixed(1)} MB`,
    licence?.commercial_use === false ? 'not for commercial use' : '',
    source ?? 'not here',
    directory ?? `orchard models pull ${name}`,
  ];
}

const isBound = (model: ListedModel): model is ListedModel & { licence: UsageTerms } =>
  model.licence?.commercial_use === false;

/** `orchard models card` */
export async function card({ given, output, isJson }: CommandRun): Promise<number> {
  const { name, ...place } = checked(namedSchema, given);
  const models = await outcomeOf(listModels(placeOf(place)));
  const found = models.find((each) => each.name === name);
  if (found?.directory === undefined) {
    const what = found ? `it is not here; orchard models pull ${name}` : 'orchard models lists what there is';
    throw new NotFoundError('pretrained model', name, what);
  }
  const markdown = await readFile(join(found.directory, CARD_FILE), 'utf8');
  const { licence } = found;
  if (isJson) await output.json({ name, card: markdown, ...(licence && { licence }) });
  else await output.write(markdown);
  return 0;
}

/** `orchard models pull` */
export async function pull({ given, terminal, output, isJson }: CommandRun): Promise<number> {
  const { name, from, ...place } = checked(pullSchema, given);
  const options = { ...placeOf(place), ...(from !== undefined && { from }) };
  const progress = new Progress(terminal);
  const onProgress = ({ file, receivedBytes, totalBytes }: ModelProgress) =>
    progress.show(totalBytes ? receivedBytes / totalBytes : undefined, `${name} ${file}`);
  const pulling = interruptible((signal) => outcomeOf(pullModel(name, { ...options, signal, onProgress })));
  const pulled = await pulling.finally(() => progress.clear());
  if (isJson) await output.json(pulled);
  else await output.line(`${name}: ${grouped(pulled.bytes)} bytes in ${pulled.directory}`);
  if (pulled.licence?.commercial_use === false) output.warn(`${name}: ${hindrance(pulled.licence)}`);
  return 0;
}

/** `orchard models verify` */
export async function verify({ given, output, isJson }: CommandRun): Promise<number> {
  const { name, ...place } = checked(namedSchema, given);
  const verified = await outcomeOf(verifyModel(name, placeOf(place)));
  const { problems } = verified;
  if (isJson) await output.json(verified);
  else if (problems.length === 0) await output.line(`${name}: whole, ${grouped(verified.bytes)} bytes`);
  else for (const { file, problem } of problems) await output.line(`${name} ${file}: ${problem}`);
  return problems.length === 0 ? 0 : FAILED;
}

/** Where pulled models are, if it was said. */
function placeOf({ directory }: { readonly directory?: string | undefined }): {
  readonly directory?: string;
} {
  return directory === undefined ? {} : { directory };
}
