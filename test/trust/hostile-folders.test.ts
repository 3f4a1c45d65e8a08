import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { TextModel } from '../../src/inference/text-model.js';
import { readBackbone } from '../../src/training/backbone.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { type TinyModels, tinyModels } from './tiny-models.js';

const TEXT = 'the lamp is great';

describe('a hostile model folder', () => {
  let models: TinyModels;
  let read: (directory: string) => Promise<unknown>;
  beforeAll(async () => {
    models = await tinyModels(await mkdtemp(join(tmpdir(), 'orchard-test-')));
    read = async (directory) => {
      const model = await TextModel.load(directory, 1);
      try {
        return (await model.predict([TEXT])).results;
      } finally {
        await model.release();
      }
    };
  });

  /** A folder of one of the models with a change. */
  async function folder(name: string, change: (directory: string) => unknown): Promise<string> {
    const directory = join(temporaryDirectory(), 'model');
    await cp(models[name] ?? '', directory, { recursive: true });
    await change(directory);
    return directory;
  }

  const refusal = async (name: string, change: (directory: string) => unknown) =>
    failureOf('model_folder', async () => read(await folder(name, change)));

  it('is read if nothing is wrong with it', async () => {
    for (const directory of Object.values(models)) expect(await read(directory)).toHaveLength(1);
  });

  it.each([
    '../../../etc/passwd',
    '/etc/passwd',
    '/dev/zero',
    'onnx/../../x',
    './config.json',
    '',
    'a\\..\\b',
    'C:\\x',
    'config.json:stream',
    'CON',
    'nul.txt',
    'onnx/com1.onnx',
    'x.',
    'a\u0000b',
  ])('names no file outside itself and no device: %j', async (file) => {
    const error = await refusal('classifier', (directory) =>
      edit(directory, 'config.json', (config) => config.orchard.files.push(file)),
    );
    expect(error.message).toMatch(/config\.json: orchard\.files\.1: expected the name of a file inside the folder$/);
  });

  it.each(['config.json', 'tokenizer.json', 'lexical.safetensors', 'onnx/model_quantized.onnx'])(
    'links to nothing outside itself: %s',
    async (file) => {
      const error = await refusal('classifier', async (directory) => {
        await rename(join(directory, file), `${directory}.away`);
        await symlink(`${directory}.away`, join(directory, file));
      });
      expect(error.file).toContain(file);
      expect(error.reason).toMatch(/a link to a place outside the folder; put the file itself there$/);
    },
  );

  it('may link to files within itself, and to the blobs of the Hugging Face cache', async () => {
    const within = await folder('classifier', async (directory) => {
      await rename(join(directory, 'lexical.safetensors'), join(directory, 'other'));
      await symlink('other', join(directory, 'lexical.safetensors'));
    });
    expect(await read(within)).toHaveLength(1);

    const repository = temporaryDirectory();
    const snapshot = join(repository, 'snapshots', 'c0ffee');
    await cp(models.classifier ?? '', snapshot, { recursive: true });
    await mkdir(join(repository, 'blobs'));
    for (const file of ['config.json', 'onnx/model_quantized.onnx']) {
      const blob = join(repository, 'blobs', file.replace('/', '-'));
      await rename(join(snapshot, file), blob);
      await symlink(blob, join(snapshot, file));
    }
    expect(await read(snapshot)).toHaveLength(1);
  });

  it.skipIf(process.platform === 'win32')('waits for no pipe and reads no device', async () => {
    for (const file of ['config.json', 'lexical.safetensors', 'onnx/model_quantized.onnx']) {
      const pipe = await refusal('classifier', async (directory) => {
        await rm(join(directory, file));
        execFileSync('mkfifo', [join(directory, file)]);
      });
      expect(pipe.message).toMatch(/it is not a file$/);
      await refusal('classifier', async (directory) => {
        await rm(join(directory, file));
        await symlink('/dev/zero', join(directory, file));
      });
    }
    const backbone = writeCheckpoint(temporaryDirectory());
    await rm(join(backbone, 'model.safetensors'));
    await symlink('/dev/zero', join(backbone, 'model.safetensors'));
    await failureOf('model_folder', () => readBackbone({ name: 'x', directory: backbone }));
  });

  it('has no file that is larger than its kind ever is', async () => {
    const error = await refusal('classifier', (directory) => truncate(join(directory, 'config.json'), 2 ** 40));
    expect(error.message).toMatch(/config\.json: it has 1099511627776 bytes; at most 67108864 are read$/);
    await refusal('classifier', (directory) => truncate(join(directory, 'lexical.safetensors'), 2 ** 40));
    await refusal('classifier', (directory) => truncate(join(directory, 'onnx/model_quantized.onnx'), 2 ** 40));
  });

  it.each(['config.json', 'tokenizer.json', 'tokenizer_config.json'])(
    'may hold lists within lists, however many: %s',
    async (file) => {
      const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000);
      await refusal('classifier', (directory) => writeFile(join(directory, file), deep));
      const beside = await folder('classifier', async (directory) => {
        const text = await readFile(join(directory, file), 'utf8');
        await writeFile(join(directory, file), text.replace('{', `{"deep": ${deep},`));
      });
      expect(await read(beside)).toHaveLength(1);
    },
  );

  it.each<[string, (config: Config) => unknown, RegExp]>([
    ['more tokens than any encoder reads', (c) => set(c.orchard, 'max_tokens', 1e15), /orchard\.max_tokens: expected/],
    ['more tokens than positions', (c) => set(c.orchard, 'max_tokens', 13), /13, but the encoder has positions for 12/],
    ['no room for a text', (c) => set(c.orchard, 'max_tokens', 2), /max_tokens is 2, which leaves no room for a text/],
    [
      'windows that hardly move',
      (c) => set(c.orchard, 'window_overlap', 9),
      /window_overlap is 9, more than half of the 10 tokens/,
    ],
    [
      'a weight of infinity',
      (c) => set(c.orchard.blend, 'encoder', 1e300),
      /orchard\.blend\.encoder: expected a number/,
    ],
    [
      'more labels than outputs',
      (c) => c.orchard.labels.push('x'),
      /lexical\.safetensors: it has 3 outputs.* 4 labels/,
    ],
    [
      'one label of two',
      ({ orchard }) => Object.assign(orchard, { type: 'binary-text-classification', labels: ['x'] }),
      /orchard\.labels: expected two, found 1/,
    ],
    [
      'fewer rows than pieces',
      (c) => set(c, 'vocab_size', 5),
      /tokenizer\.json: it has ids up to \d+, but config\.json/,
    ],
    [
      'a long list of files',
      (c) => set(c.orchard, 'files', Array(5_000).fill('x')),
      /orchard\.files: expected an array/,
    ],
  ])('asks for nothing impossible: %s', async (_, change, message) => {
    const error = await refusal('classifier', (directory) => edit(directory, 'config.json', change));
    expect(error.message).toMatch(message);
  });

  it('may have 5,000 labels of its own graph, but no tags that its expert lacks', async () => {
    const error = await refusal('tagger', (directory) =>
      edit(directory, 'config.json', ({ orchard }) => {
        for (let label = 0; label < 5_000; label += 1) orchard.labels.push(`B-${label}`);
      }),
    );
    expect(error.message).toMatch(/lexical\.safetensors: it has \d tags, but config\.json has 500\d labels/);
  });

  it('takes only its own request with it', async () => {
    await refusal('classifier', (directory) => rm(join(directory, 'tokenizer.json')));
    expect(await read(models.classifier ?? '')).toHaveLength(1);
  });
});

interface Config {
  vocab_size: number;
  orchard: {
    files: string[];
    labels: string[];
    max_tokens: number;
    window_overlap?: number;
    blend: { encoder: number };
  };
}

function set<Parent extends object>(parent: Parent, field: keyof Parent & string, value: unknown): void {
  Object.defineProperty(parent, field, { value, enumerable: true });
}

async function edit(directory: string, file: string, change: (json: Config) => unknown): Promise<void> {
  const json: Config = JSON.parse(await readFile(join(directory, file), 'utf8'));
  change(json);
  await writeFile(join(directory, file), JSON.stringify(json));
}
