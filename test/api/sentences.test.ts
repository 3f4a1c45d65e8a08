import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { checkData, embed, type ModelLoader, openSearch, rerank, scorePairs, search } from 'orchard-nlp';
import { describe, expect, it } from 'vitest';
import { poolTokens } from '../../src/families/retrieval/sentence-vector.js';
import type { PoolingMode, SentenceConfig } from '../../src/models/index.js';
import { similarityOf } from '../../src/search/index.js';
import { joinParts, loadTokenizer, TextReader } from '../../src/text/index.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { compareFolder } from '../support/sentence-oracle.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { widenedCheckpoint } from '../support/widened-checkpoint.js';

/**
 * Encoders and cross-encoders of sentence-transformers, against what it computed with them. Written by
 * `python3 bench/interop/sentences.py test/api/recorded-sentences --size tiny`.
 */

const recorded = fileURLToPath(new URL('recorded-sentences', import.meta.url));
const folderOf = (name: string): string => join(recorded, name);

describe.each(readdirSync(recorded))('the folder %s', (name) => {
  it('gives the numbers of sentence-transformers', async () => {
    const { numbers, largest } = await compareFolder(folderOf(name));
    expect(numbers).toBeGreaterThan(5);
    expect(largest).toBeLessThan(1e-5);
  });

  const { model_type } = JSON.parse(readFileSync(join(folderOf(name), 'config.json'), 'utf8'));
  it.runIf(model_type === 'bert')('gives them by WebAssembly, too', async () => {
    const { numbers, largest } = await compareFolder(
      widenedCheckpoint(folderOf(name), join(temporaryDirectory(), 'wide')),
      'wasm',
    );
    expect(numbers).toBeGreaterThan(5);
    expect(largest).toBeLessThan(1e-5);
  });
});

/** A copy of a recorded folder in which some JSON files have other fields; a list takes the place of the file's. */
function changed(name: string, files: Readonly<Record<string, object>> = {}): string {
  const folder = join(temporaryDirectory(), name);
  cpSync(folderOf(name), folder, { recursive: true });
  for (const [file, fields] of Object.entries(files)) {
    const json: object = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    writeFileSync(join(folder, file), JSON.stringify(Array.isArray(fields) ? fields : { ...json, ...fields }));
  }
  return folder;
}

const modulesOf = (name: string): readonly object[] =>
  JSON.parse(readFileSync(join(folderOf(name), 'modules.json'), 'utf8'));

describe('a vector', () => {
  /** Three tokens of two numbers, the first of which belongs to a prompt. */
  const states = { outputs: Float32Array.of(1, 8, 2, -2, 4, 6), encoding: encodingOf(3, 1) };
  const pooled = (pooling: readonly PoolingMode[], include_prompt: boolean) => [
    ...poolTokens(states, { pooling, width: 2, include_prompt }),
  ];

  it('is pooled by each mode as by hand', () => {
    expect(pooled(['cls'], true)).toEqual([1, 8]);
    expect(pooled(['lasttoken'], true)).toEqual([4, 6]);
    expect(pooled(['max'], true)).toEqual([4, 8]);
    expect(pooled(['mean'], true)).toEqual([7 / 3, 4].map(Math.fround));
    expect(pooled(['mean_sqrt_len_tokens'], true)).toEqual([7 / Math.sqrt(3), 12 / Math.sqrt(3)].map(Math.fround));
    expect(pooled(['weightedmean'], true)).toEqual([17 / 6, 22 / 6].map(Math.fround));
    expect(pooled(['lasttoken', 'cls'], true)).toEqual([4, 6, 1, 8]);
  });

  it('leaves out the tokens of a prompt, where the folder says so', () => {
    expect(pooled(['cls'], false)).toEqual([2, -2]);
    expect(pooled(['max'], false)).toEqual([4, 6]);
    expect(pooled(['mean'], false)).toEqual([3, 2]);
    expect(pooled(['weightedmean'], false)).toEqual([16 / 5, 14 / 5].map(Math.fround));
  });

  it('of a folder without modules is the mean, of unit length', async () => {
    const folder = changed('bert-max');
    rmSync(join(folder, 'modules.json'));
    const mean = changed('bert-max', {
      '1_Pooling/config.json': { pooling_mode: 'mean' },
    });
    const texts = ['Ada wrote to Babbage', 'x'];
    const [plain, pooled] = [
      await resultOf(embed(texts, { model: folder })),
      await resultOf(embed(texts, { model: mean })),
    ];
    for (const [at, vector] of pooled.entries()) {
      const norm = Math.hypot(...vector);
      expect(norm).not.toBeCloseTo(1, 3);
      for (const [element, value] of vector.entries()) expect(plain[at]?.[element]).toBeCloseTo(value / norm, 5);
    }
  });
});

describe('a folder of which a file was overwritten in place', () => {
  /** Writes a file again: the folder, the size and the date of the file stay as they were. */
  function overwrite(file: string, change: (content: Buffer) => Uint8Array): void {
    const { mtime } = statSync(file);
    writeFileSync(file, change(readFileSync(file)));
    utimesSync(file, mtime, mtime);
  }

  /** The sign of every weight changes. */
  function negated(safetensors: Buffer): Uint8Array {
    const start = 8 + Number(safetensors.readBigUInt64LE());
    return safetensors.map((byte, at) => (at >= start && at % 4 === (start + 3) % 4 ? byte ^ 0x80 : byte));
  }

  it.each<[string, (content: Buffer) => Uint8Array]>([
    ['model.safetensors', negated],
    ['1_Pooling/config.json', (json) => Buffer.from(json.toString().replaceAll('max', 'cls'))],
  ])('gives the vectors of what it holds now: %s', async (name, change) => {
    const folder = changed('bert-max', { '1_Pooling/config.json': { pooling_mode: 'max' } });
    const vectors = () => resultOf(embed(['lamp'], { model: folder }));
    const before = await vectors();
    expect(await vectors()).toEqual(before);
    overwrite(join(folder, name), change);
    const after = await vectors();
    expect(after).not.toEqual(before);
    const copy = join(temporaryDirectory(), 'copy');
    cpSync(folder, copy, { recursive: true });
    expect(after).toEqual(await resultOf(embed(['lamp'], { model: copy })));
  });

  it('scores pairs as what it holds now', async () => {
    const folder = changed('cross-bert');
    const scores = () => resultOf(scorePairs([['lamp', 'room']], { model: folder }));
    const before = await scores();
    expect(await scores()).toEqual(before);
    overwrite(join(folder, 'model.safetensors'), negated);
    expect(await scores()).not.toEqual(before);
  });
});

describe('a prompt', () => {
  const model = folderOf('roberta-prompts');
  const vectorOf = async (text: string, prompt?: string | { readonly text: string }) => {
    const [vector] = await resultOf(embed([text], { model, prompt }));
    return [...(vector ?? [])];
  };

  it('is the one of its name, a given text, or else the default one', async () => {
    expect(await vectorOf('lamp', 'query')).toEqual(await vectorOf('lamp', { text: 'find: ' }));
    expect(await vectorOf('lamp')).toEqual(await vectorOf('lamp', 'task'));
    expect(await vectorOf('lamp', { text: '' })).not.toEqual(await vectorOf('lamp'));
  });

  it('for questions and passages is none where the folder has none', async () => {
    const [plain] = await resultOf(embed(['lamp'], { model: folderOf('bert-cls') }));
    const [asked] = await resultOf(embed(['lamp'], { model: folderOf('bert-cls'), prompt: 'query' }));
    expect(asked).toEqual(plain);
  });

  it('of passages may be called passage', async () => {
    const asked = { model: folderOf('deberta-v3'), prompt: 'document' };
    const folder = changed('deberta-v3', {
      'config_sentence_transformers.json': { prompts: { query: '', passage: 'a line ' } },
    });
    const [named] = await resultOf(embed(['lamp'], { model: folder, prompt: 'document' }));
    const [passage] = await resultOf(embed(['lamp'], { model: folder, prompt: { text: 'a line ' } }));
    expect(named).toEqual(passage);
    // sentence-transformers itself writes an empty prompt for documents, which counts.
    expect(await resultOf(embed(['lamp'], asked))).not.toEqual([passage]);
  });

  it('that the model has not is refused with those that it has', async () => {
    const { message } = await errorOf(embed(['lamp'], { model, prompt: 'qurey' }));
    expect(message).toMatch(/the model has no prompt "qurey": its prompts are .*query.*\{ text: "qurey" \}/);
  });
});

it('an encoder in a folder of its own judges labels', async () => {
  const folder = changed('bert-max', {
    'modules.json': modulesOf('bert-max').map((each, at) => (at === 0 ? { ...each, path: '0_Transformer' } : each)),
  });
  mkdirSync(join(folder, '0_Transformer'));
  const files = [
    'config.json',
    'model.safetensors',
    'sentence_bert_config.json',
    'tokenizer.json',
    'tokenizer_config.json',
  ];
  for (const file of files) renameSync(join(folder, file), join(folder, '0_Transformer', file));
  const rows = Array.from({ length: 24 }, (_, at) => ({ text: `lamp ${at}`, label: at % 2 === 0 ? 'a' : 'b' }));
  const { labelErrors } = await resultOf(checkData({ rows, model: folder }));
  expect(labelErrors?.judged).toBe(24);
});

describe('a folder is refused by the name of what can not be computed', () => {
  const failure = async (name: string, files: Parameters<typeof changed>[1]) => {
    const { code, message } = await errorOf(embed(['a'], { model: changed(name, files) }));
    expect(code).toBe('model_folder');
    return message;
  };
  const withModule = (type: string) => [...modulesOf('bert-max'), { idx: 9, name: '9', path: '9_Own', type }];

  it('a module', async () => {
    const own = await failure('bert-max', { 'modules.json': withModule('my_package.MyPooling') });
    expect(own).toMatch(/modules\.json: its module my_package\.MyPooling can't be run here/);
    const cnn = await failure('bert-max', { 'modules.json': withModule('sentence_transformers.models.CNN') });
    expect(cnn).toMatch(/sentence_transformers\.models\.CNN can't be run here: use Transformer, Pooling, Dense/);
    const first = await failure('bert-max', { 'modules.json': modulesOf('bert-max').slice(1) });
    expect(first).toMatch(/Pooling can't be run here: the first module must be Transformer/);
  });

  it('a pooling, an activation, another kind of model, another task', async () => {
    const pooling = await failure('bert-max', {
      '1_Pooling/config.json': { pooling_mode: 'median' },
    });
    expect(pooling).toMatch(/1_Pooling\/config\.json: pooling_mode: expected "cls" or "max"/);
    const dense = await failure('xlm-roberta-cls-dense', {
      '2_Dense/config.json': { activation_function: 'torch.nn.modules.activation.Mish' },
    });
    expect(dense).toMatch(/2_Dense\/config\.json: activation_function: torch\.nn\.modules\.activation\.Mish can't/);
    const sparse = await failure('bert-max', {
      'config_sentence_transformers.json': { model_type: 'SparseEncoder' },
    });
    expect(sparse).toMatch(/a SparseEncoder gives no vectors of texts/);
    const task = await failure('bert-max', {
      'sentence_bert_config.json': { transformer_task: 'fill-mask' },
    });
    expect(task).toMatch(/transformer_task: fill-mask can't be run here/);
  });

  it('weights and files that are missing', async () => {
    const model = changed('xlm-roberta-cls-dense');
    rmSync(join(model, '2_Dense', 'model.safetensors'));
    expect((await errorOf(embed(['a'], { model }))).message).toMatch(/2_Dense\/model\.safetensors/);
    rmSync(join(model, '1_Pooling', 'config.json'));
    expect((await errorOf(embed(['a'], { model }))).message).toMatch(
      /1_Pooling\/config\.json: modules\.json asks for it/,
    );
  });

  it('a similarity, by search alone', async () => {
    const { message } = await errorOf(search(['a', 'b'], { model: folderOf('deberta-v3') }));
    expect(message).toMatch(
      /similarity_fn_name: search can't compare vectors by manhattan; use cosine, dot, euclidean/,
    );
  });
});

/** Gives the files that are asked for, and no others, as the Hub does. */
function sparingLoader(folder: string): ModelLoader & { readonly asked: (readonly string[])[] } {
  const asked: (readonly string[])[] = [];
  const directory = temporaryDirectory();
  return {
    specificationVersion: 1,
    asked,
    async load(_name, { files = [] } = {}) {
      asked.push(files);
      for (const file of files) {
        mkdirSync(dirname(join(directory, file)), { recursive: true });
        try {
          copyFileSync(join(folder, file), join(directory, file));
        } catch {
          // The model has no such file.
        }
      }
      return { directory };
    },
  };
}

it('a model of a loader brings the files of its modules along, and those alone', async () => {
  const modelLoader = sparingLoader(folderOf('mpnet-mean-dense-normalize'));
  const loaded = await resultOf(embed(['a text'], { model: 'owner/name', modelLoader }));
  expect(loaded).toEqual(await resultOf(embed(['a text'], { model: folderOf('mpnet-mean-dense-normalize') })));
  expect(modelLoader.asked).toHaveLength(2);
  expect(modelLoader.asked[1]).toEqual(expect.arrayContaining(['1_Pooling/config.json', '2_Dense/model.safetensors']));
  expect(modelLoader.asked.flat()).not.toContain('expected.json');
});

describe('search', () => {
  const passages = [
    'Ada Lovelace wrote to Charles Babbage. It was in London.',
    'The plot twist was funny.',
    'A cafe in München costs 3.50 today.',
    'Tokyo is near Yokohama.',
    'NATO, the EU and firms.',
    'Two spaces and a tab.',
  ];
  const question = 'who wrote to babbage?';

  it.each(['cosine', 'dot', 'euclidean'] as const)('compares vectors by %s', (similarity) => {
    const settings: SentenceConfig = {
      ...{ width: 3, pooling: ['mean'], include_prompt: true, layers: [], prompts: {} },
      similarity,
    };
    const { stored, asked, score } = similarityOf({ name: 'any', settings });
    const vectors = fc.float32Array({ minLength: 3, maxLength: 3, min: -4, max: 4, noNaN: true });
    fc.assert(
      fc.property(vectors, vectors, (a, b) => {
        const dot = (x: Float32Array, y: Float32Array) => x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0);
        const expected = {
          cosine: dot(a, b) / (Math.hypot(...a) * Math.hypot(...b) || 1),
          dot: dot(a, b),
          euclidean: -Math.hypot(...a.map((value, at) => value - (b[at] ?? 0))),
        };
        expect(score(dot(stored(a), asked(b)), b)).toBeCloseTo(expected[similarity], 2);
      }),
    );
  });

  it('reads questions with their prompt and passages with theirs', async () => {
    // The same text on both sides: only the prompts tell them apart.
    const prompted = await resultOf(search(passages, { model: folderOf('roberta-prompts') }));
    const alike = changed('roberta-prompts', {
      'config_sentence_transformers.json': {
        prompts: { query: 'the text: ', document: 'the text: ' },
        default_prompt_name: null,
      },
    });
    const same = await resultOf(search(passages, { model: alike }));
    const scores = async (index: typeof prompted) =>
      (await resultOf(index.search('it', { k: 6 }))).map(({ score }) => score);
    expect(await scores(prompted)).not.toEqual(await scores(same));
    await Promise.all([prompted.close(), same.close()]);
  });

  it('orders the best passages by a cross-encoder, also after it was saved', async () => {
    const reranker = folderOf('cross-bert-identity');
    const options = { model: folderOf('bert-cls') };
    await using plain = await resultOf(search(passages, options));
    await using index = await resultOf(search(passages, { ...options, rerank: reranker, rerankDepth: 4 }));
    const candidates = await resultOf(plain.search(question, { k: 4 }));
    const pairs = candidates.map(({ passage }) => [question, passage] as const);
    const logits = await resultOf(scorePairs(pairs, { model: reranker }));
    const expected = candidates
      .map((each, at) => ({ ...each, score: 1 / (1 + Math.exp(-(logits[at] ?? 0))) }))
      .sort((a, b) => b.score - a.score);
    const found = await resultOf(index.search(question, { k: 3 }));
    expect(found.map(({ index }) => index)).toEqual(expected.slice(0, 3).map(({ index }) => index));
    for (const [at, { score }] of found.entries()) expect(score).toBeCloseTo(expected[at]?.score ?? 0, 5);
    // More than the depth: so many are read.
    expect(await resultOf(index.search(question, { k: 6 }))).toHaveLength(6);
    const saved = join(temporaryDirectory(), 'index');
    await resultOf(index.save(saved));
    await using opened = await resultOf(openSearch(saved));
    expect(await resultOf(opened.search(question, { k: 3 }))).toEqual(found);
  });

  it('reads as many passages with the cross-encoder as one question asks for, or none', async () => {
    const options = { model: folderOf('bert-cls') };
    await using plain = await resultOf(search(passages, options));
    await using index = await resultOf(search(passages, { ...options, rerank: folderOf('cross-bert-identity') }));
    expect(await resultOf(index.search(question, { rerank: false }))).toEqual(await resultOf(plain.search(question)));
    const two = await resultOf(index.search(question, { k: 1, rerank: 2 }));
    const best = await resultOf(plain.search(question, { k: 2 }));
    const read = await resultOf(
      rerank(
        question,
        best.map(({ passage }) => passage),
        { model: folderOf('cross-bert-identity') },
      ),
    );
    expect(two.map(({ passage }) => passage)).toEqual([read[0]?.passage]);
    const refused = await errorOf(plain.search(question, { rerank: 20 }));
    expect(refused.message).toMatch(/this index has no cross-encoder; index the passages again with `rerank`/);
    expect((await errorOf(index.search(question, { rerank: 0 }))).code).toBe('validation');
  });

  it('orders passages of any source by the scores of their pairs', async () => {
    const model = folderOf('cross-bert-identity');
    const given = passages.map((text, at) => ({ id: `p${at}`, text, data: { at } }));
    const logits = await resultOf(
      scorePairs(
        passages.map((each) => [question, each] as const),
        { model },
      ),
    );
    const expected = given
      .map(({ text, ...rest }, index) => ({
        ...rest,
        passage: text,
        index,
        score: 1 / (1 + Math.exp(-(logits[index] ?? 0))),
      }))
      .sort((a, b) => b.score - a.score);
    const all = await resultOf(rerank(question, given, { model }));
    expect(all.map(({ score, ...rest }) => rest)).toEqual(expected.map(({ score, ...rest }) => rest));
    for (const [at, { score }] of all.entries()) expect(score).toBeCloseTo(expected[at]?.score ?? 0, 6);
    const middle = all[2]?.score ?? 0;
    expect(await resultOf(rerank(question, given, { model, k: 5, minScore: middle }))).toEqual(all.slice(0, 3));
    expect(await resultOf(rerank(question, [], { model }))).toEqual([]);
    expect((await errorOf(rerank(question, ['a', ''], { model }))).message).toMatch(
      /passages\.1.*the passage is empty/,
    );
    expect(
      (
        await errorOf(
          rerank(
            question,
            [
              { id: 'a', text: 'x' },
              { id: 'a', text: 'y' },
            ],
            { model },
          ),
        )
      ).message,
    ).toMatch(/another passage already has the id "a"/);
  });

  it('refuses an index whose encoder is not the one that gave its vectors', async () => {
    const saved = join(temporaryDirectory(), 'index');
    const other = join(temporaryDirectory(), 'other');
    for (const [model, folder] of [
      [folderOf('bert-cls'), saved],
      [folderOf('bert-lasttoken'), other],
    ] as const) {
      await using index = await resultOf(search(passages, { model }));
      await resultOf(index.save(folder));
    }
    rmSync(join(saved, 'encoder'), { recursive: true });
    cpSync(join(other, 'encoder'), join(saved, 'encoder'), { recursive: true });
    const { code, message } = await errorOf(openSearch(saved));
    expect(code).toBe('model_folder');
    expect(message).toMatch(
      /encoder: it is not the encoder that computed the vectors of the index; index the passages again/,
    );
  });
});

describe('pairs of texts', () => {
  it('are refused by a model that gives no single number', async () => {
    const message = async (model: string) => (await errorOf(scorePairs([['a', 'b']], { model }))).message;
    expect(await message(folderOf('bert-cls'))).toMatch(
      /bert-cls\/modules\.json: its module .*Pooling can't be run here/,
    );
    const three = changed('cross-bert', {
      'config.json': { id2label: { 0: 'contradiction', 1: 'entailment', 2: 'neutral' } },
    });
    expect(await message(three)).toMatch(/classifier\.weight|has the labels contradiction, entailment, neutral/);
  });

  it('are read apart, whatever is in them', () => {
    const json = JSON.parse(readFileSync(join(folderOf('cross-bert'), 'tokenizer.json'), 'utf8'));
    const tokenizer = loadTokenizer(json, {});
    const reader = new TextReader(tokenizer, { max_tokens: 16, parts: 'pair' });
    const text = fc.string({ unit: 'grapheme', maxLength: 12 });
    fc.assert(
      fc.property(text, text, (first, second) => {
        const [window] = reader.read([joinParts(first, second)]);
        expect(window?.encoding.ids).toEqual(tokenizer.encode(first, { pair: second, maxLength: 16 }).ids);
      }),
    );
  });
});

function encodingOf(tokens: number, promptTokens: number) {
  const zeros = new Int32Array(tokens);
  return { ids: zeros, typeIds: zeros, sequenceIds: zeros, offsets: null, truncated: 0, promptTokens };
}
