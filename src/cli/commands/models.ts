import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NotFoundError, orThrow, pretrainedModelNames, type UsageTerms } from '../../contract/index.js';
import { grouped } from '../../datasets/index.js';
import type { ListedModel, ModelProgress } from '../../models/index.js';
import { type Command, command } from '../command.js';
import { alignedLines } from '../format.js';
import { argument, option } from '../parameters.js';
import { interruptible, Progress } from '../terminal.js';

const name = { ...argument('<name>', 'name of a model or backbone'), suggestions: pretrainedModelNames };
const directory = option(
  '--directory <folder>',
  'folder of downloaded models; or set ORCHARD_MODELS_DIRECTORY (default: a folder in the user cache)',
);

const listCommand = command({
  name: 'list',
  summary: 'list all models, and show which are on this machine',
  parameters: { directory },
  async run({ settings, output }) {
    const models = await listed(settings.directory);
    if (output.isJson) for (const each of models) await output.result(each, []);
    else for (const line of alignedLines(models.map(cellsOf))) await output.line(line);
    for (const each of output.isJson ? [] : models) {
      if (isRestricted(each.licence)) await output.line(`\n${each.name}: ${restriction(each.licence)}`);
    }
  },
});

const cardCommand = command({
  name: 'card',
  summary: 'print the card of a model: data, licences, metrics, weaknesses',
  parameters: { name, directory },
  async run({ settings, output }) {
    const { CARD_FILE } = await import('../../models/index.js');
    const found = (await listed(settings.directory)).find((each) => each.name === settings.name);
    if (found?.directory === undefined) {
      const hint = found ? `not on this machine; run ${pullOf(settings.name)}` : 'orchard models lists all models';
      throw new NotFoundError('pretrained model', settings.name, hint);
    }
    const { licence } = found;
    const card = await readFile(join(found.directory, CARD_FILE), 'utf8');
    if (output.isJson) await output.result({ name: found.name, card, ...(licence && { licence }) }, []);
    else await output.write(card);
  },
});

const pullCommand = command({
  name: 'pull',
  summary: 'download a model, and check each file by its SHA-256',
  parameters: {
    name,
    from: option(
      '--from <place>',
      'folder or URL with catalogue/ and backbones/; or set ORCHARD_MODELS_FROM (default: the installed package)',
    ),
    directory,
  },
  async run({ settings: { name, from, directory }, terminal, output }) {
    const { pullModel } = await import('../../models/index.js');
    const progress = new Progress(terminal);
    const options = {
      ...placeOf(directory),
      ...(from !== undefined && { from }),
      onProgress: ({ file, receivedBytes, totalBytes }: ModelProgress) =>
        progress.show(totalBytes ? receivedBytes / totalBytes : undefined, `${name} ${file}`),
    };
    const pulling = interruptible((signal) => orThrow(pullModel(name, { ...options, signal })));
    const pulled = await pulling.finally(() => progress.clear());
    await output.result(pulled, `${name}: ${grouped(pulled.bytes)} bytes in ${pulled.directory}`);
    if (isRestricted(pulled.licence)) output.warn(`${name}: ${restriction(pulled.licence)}`);
  },
});

const verifyCommand = command({
  name: 'verify',
  summary: 'check the files of a model on this machine by their SHA-256',
  parameters: { name, directory },
  async run({ settings: { name, directory }, output }) {
    const { verifyModel } = await import('../../models/index.js');
    const verified = await orThrow(verifyModel(name, placeOf(directory)));
    const { problems, bytes } = verified;
    const lines = problems.map(({ file, problem }) => `${name} ${file}: ${problem}`);
    await output.result(verified, lines.length > 0 ? lines : `${name}: complete, ${grouped(bytes)} bytes`);
    if (lines.length > 0) output.fail();
  },
});

export const modelsCommand: Command = {
  name: 'models',
  summary: 'list, describe, download and check pretrained models and backbones',
  parameters: {},
  commands: [{ ...listCommand, isDefault: true }, cardCommand, pullCommand, verifyCommand],
};

function placeOf(directory: string | undefined): { readonly directory?: string } {
  return directory === undefined ? {} : { directory };
}

async function listed(directory: string | undefined): Promise<readonly ListedModel[]> {
  const { listModels } = await import('../../models/index.js');
  const models = await orThrow(listModels(placeOf(directory)));
  return models.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/** Pretrained models before backbones, and those for any use first. */
function rankOf({ kind, licence }: ListedModel): number {
  return (kind === 'backbone' ? 2 : 0) + Number(isRestricted(licence));
}

function cellsOf({ name, kind, bytes, source, directory, licence }: ListedModel): readonly string[] {
  return [
    name,
    kind,
    `${(bytes / 1e6).toFixed(1)} MB`,
    isRestricted(licence) ? 'not for commercial use' : 'any use',
    source ?? 'not here',
    directory ?? pullOf(name),
  ];
}

/** What brings a model to this machine. No installed package has it, so it needs a source. */
function pullOf(name: string): string {
  return `orchard models pull ${name} --from <folder or URL>`;
}

function isRestricted(licence: UsageTerms | undefined): licence is UsageTerms {
  return licence?.commercial_use === false;
}

function restriction({ reasons, alternative }: UsageTerms): string {
  const because = `not for commercial use without permission from the owners of the data: ${reasons.join('; ')}.`;
  return alternative === undefined ? because : `${because} Instead: ${alternative}`;
}
