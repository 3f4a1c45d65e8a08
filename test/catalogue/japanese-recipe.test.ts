import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { MeasuredTexts } from '../../models/recipes/backbones/corpus/measured-texts.js';
import { passagesOf, randomAims } from '../../models/recipes/backbones/corpus/passages.js';
import { writeCorpus } from '../../models/recipes/backbones/corpus/write-corpus.js';
import { askTeacher } from '../../models/recipes/backbones/distillation/ask-teacher.js';
import { weighedPlan } from '../../models/recipes/backbones/distillation/plan.js';
import { Targets } from '../../models/recipes/backbones/distillation/targets.js';
import { exportBackbone } from '../../models/recipes/backbones/export-backbone.js';
import { floatBackbone } from '../../models/recipes/backbones/float-backbone.js';
import { plans } from '../../models/recipes/backbones/japanese/plans.js';
import { japanese } from '../../models/recipes/backbones/japanese/recipe.js';
import { measuredTexts, sources } from '../../models/recipes/backbones/japanese/sources.js';
import { japaneseTokenizer, makeVocabulary } from '../../models/recipes/backbones/japanese/vocabulary.js';
import { MAX_PASSAGE_TOKENS } from '../../models/recipes/backbones/settings.js';
import { commonSteps } from '../../models/recipes/backbones/steps.js';
import { studentSettings } from '../../models/recipes/backbones/student/student-settings.js';
import { WorkFolder } from '../../models/recipes/backbones/work-folder.js';
import { readEncoder } from '../../src/encoder/index.js';
import { decodeSafetensors, decodeWeights, encodeSafetensors, roundedToFloat16 } from '../../src/models/index.js';
import { loadTokenizer, type Tokenizer } from '../../src/text/index.js';
import { someNumbers } from '../support/finite-differences.js';

/** The corpus here is shorter than what validation takes otherwise. */
vi.mock('../../models/recipes/backbones/settings.js', async (importOriginal) => {
  const settings = await importOriginal<typeof import('../../models/recipes/backbones/settings.js')>();
  const learningSettings = { ...settings.learningSettings, batchSize: 8, validationExamples: 4 };
  return { ...settings, learningSettings };
});

const folder = mkdtempSync(join(tmpdir(), 'orchard-japanese-'));
const datasets = join(folder, 'datasets');
const work = new WorkFolder(join(folder, 'work'));

/** A story of many sentences, none like another. */
const story = (subject: string) =>
  Array.from({ length: 60 }, (_, day) => `${subject}は${day + 1}日目に山の上のきれいな家へゆっくり歩いていった。`).join(
    '',
  );
const learned = ['明日の天気を教えてください', '台所の電気を消して', 'タイマーを五分にセットして'];
const testRow = '音楽を止めてから台所の電気を消してください';
const devRow = '週末に京都へ行く電車を予約して';
const intents = (partition: string, texts: readonly string[]) =>
  texts.map((utt) => JSON.stringify({ partition, intent: 'any', utt }));

function writeDatasets(): void {
  const put = (path: string, text: string) => {
    mkdirSync(join(datasets, path, '..'), { recursive: true });
    writeFileSync(join(datasets, path), path.endsWith('.br') ? brotliCompressSync(text) : text);
  };
  put('pretrain_text/ja_aozora_modern_kana.txt.br', `${story('太郎')}${testRow}。\n\n　${story('花子')}\n`);
  put('pretrain_text/ja_wikinews.txt.br', `見出し\n${story('市長')}\n`);
  put('pretrain_text/ja_react_docs.txt.br', '## 見出し\n[この文書](/docs)は`React`の*使い方*を説明しています。\n');
  put('pretrain_text/ja_tanaka_sentences.txt.br', `彼は犬が好きです。\n${devRow}。\n私の猫は魚を食べます。\n`);
  put('pretrain_text/ja_wikipedia_ner_sentences.txt', '株式会社果樹園は東京都に本社を置く企業である。\n');
  const rows = [
    ...intents('train', [...learned, testRow, '静かに']),
    ...intents('dev', [devRow]),
    ...intents('test', [testRow, '静かに']),
  ];
  put('massive/ja-JP.jsonl.br', `${rows.join('\n')}\n`);
}

/** For comparing millions of numbers at once. */
const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array = new Float32Array()) =>
  Buffer.from(buffer, byteOffset, byteLength);

const makeCorpus = (tokenizer: Tokenizer) =>
  writeCorpus(work, {
    datasets,
    sources,
    measured: measuredTexts(datasets),
    examples: (sentences, random) => passagesOf(sentences, tokenizer, randomAims(random)),
  });

let tokenizer: Tokenizer;
let lines: readonly string[];
beforeAll(async () => {
  vi.spyOn(console, 'log').mockImplementation(() => {});
  writeDatasets();
  await makeVocabulary(work, datasets);
  tokenizer = loadTokenizer(japaneseTokenizer(work));
  await makeCorpus(tokenizer);
  lines = work.readPassages();
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('texts that Japanese models are measured on', () => {
  const measured = new MeasuredTexts(['「静かに」', '今日は雨。明日は一日中よく晴れるでしょう。']);

  it('are known by their telling sentences, though these have no words between spaces', () => {
    expect(measured.has('静かに！')).toBe(true);
    expect(measured.has('明日は、一日中よく晴れるでしょう')).toBe(true);
    expect(measured.has('今日は雨。')).toBe(false);
  });
});

describe('the Japanese vocabulary', () => {
  it('makes a plain BERT tokenizer, whose accents stay', () => {
    const json = japaneseTokenizer(work);
    expect(json).toMatchObject({
      normalizer: {
        type: 'BertNormalizer',
        handle_chinese_chars: true,
        strip_accents: false,
        lowercase: true,
      },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      model: { type: 'WordPiece', continuing_subword_prefix: '##' },
    });
    const pieces = (text: string) =>
      [...tokenizer.encode(text).ids.subarray(1, -1)].map((id) =>
        Object.keys(json.model.vocab).find((piece) => json.model.vocab[piece] === id),
      );
    expect(pieces('山の上')).toEqual(['山', 'の', '上']);
    expect(pieces('ゆっくり').join('').replaceAll('##', '')).toBe('ゆっくり');
  });

  it('knows no character that only measured rows have', () => {
    expect(tokenizer.encode('週末').ids.subarray(1, -1)).toEqual(
      Int32Array.of(tokenizer.specialTokens.unknown, tokenizer.specialTokens.unknown),
    );
  });
});

describe('the Japanese corpus', () => {
  it('holds whole sentences in their order', () => {
    const text = story('太郎');
    const passages = lines.filter((line) => line.startsWith('太郎'));
    expect(passages.length).toBeGreaterThan(10);
    for (const passage of passages) {
      expect(text).toContain(passage.replaceAll(' ', ''));
      expect(passage.endsWith('。')).toBe(true);
      expect(tokenizer.encode(passage).ids.length).toBeLessThanOrEqual(MAX_PASSAGE_TOKENS);
    }
  });

  it('has unrelated sentences on lines of their own', () => {
    expect(lines).toContain('彼は犬が好きです。');
    for (const text of learned) expect(lines).toContain(text);
  });

  it('keeps the texts of a page without its markup', () => {
    expect(lines.join('\n')).toContain('この文書はReactの使い方を説明しています。');
  });

  it('repeats no row that a model is measured on, whatever source has it', () => {
    const text = lines.join('\n');
    for (const row of [testRow, devRow]) expect(text).not.toContain(row);
    expect(lines).not.toContain('静かに');
  });

  it('is reproducible', async () => {
    await makeCorpus(tokenizer);
    expect(work.readPassages()).toEqual(lines);
  });
});

describe('the steps of the Japanese recipe', () => {
  const recipe = japanese(weighedPlan(plans.use ?? { teachers: [] }));
  const steps = commonSteps(recipe, { size: 'mini', threads: '1', minutes: '0.005', steps: '3' });

  const teacher = join(folder, 'use-multilingual-v3');
  const ask = () =>
    askTeacher(recipe, work, {
      teacher,
      plan: weighedPlan(plans.use ?? { teachers: [] }),
      passages: work.readPassages(),
      threads: 1,
      texts: '1000',
      'shard-of': '1/1',
      int8: false,
    });

  it('take the vectors of a teacher that another program ran, without their mean', async () => {
    mkdirSync(teacher);
    await expect(ask()).rejects.toThrow('has no vectors, which another program computes');
    const file = join(teacher, 'vectors.safetensors');
    const write = (values: Float32Array) =>
      writeFileSync(file, encodeSafetensors(new Map([['vectors', { shape: [values.length / 8, 8], values }]])));
    write(someNumbers(8 * (lines.length - 1), 1, 3));
    await expect(ask()).rejects.toThrow(`has vectors of ${lines.length - 1} passages, and not of ${lines.length}`);
    const values = someNumbers(8 * lines.length, 1, 3).map((value) => value + 2);
    write(values);
    await ask();
    const targets = Targets.open([{ folder: work.targets('use-multilingual-v3'), tracks: ['last'] }]);
    expect(targets.places).toHaveLength(lines.length);
    const mean = Array.from({ length: 8 }, (_, i) =>
      lines.reduce((sum, _line, at) => sum + (values[8 * at + i] ?? 0) / lines.length, 0),
    );
    for (const place of targets.places) {
      const row = targets.of('use-multilingual-v3').rows(0, place.text, 'last', 0);
      for (const [i, code] of row.codes(0).entries()) {
        const centred = (values[8 * place.text + i] ?? 0) - (mean[i] ?? 0);
        expect(Math.abs(code * row.scale(0) - centred)).toBeLessThan(row.scale(0));
      }
      expect(targets.ids(place)).toEqual(tokenizer.encode(lines[place.text] ?? '').ids);
    }
    targets.close();
  });

  it('end in a folder that holds a BertModel with its tokenizer, in 8 bits', async () => {
    await steps.embeddings(work);
    await steps.learn(work);
    await steps.anneal(work);
    const target = pathToFileURL(`${join(folder, 'backbones')}/`);
    await exportBackbone(recipe, work, studentSettings(work, {}), { target });

    const read = (file: string) => readFileSync(new URL(`japanese-mini/${file}`, target));
    const json = (file: string): unknown => JSON.parse(read(file).toString());
    const config = readEncoder(json('config.json'), 'config.json');
    expect(config).toMatchObject({
      width: 256,
      layers: 4,
      vocabularySize: tokenizer.vocabularySize,
    });
    const loaded = loadTokenizer(json('tokenizer.json'), json('tokenizer_config.json'));
    expect(loaded.encode('彼は犬が好きです。').ids).toEqual(tokenizer.encode('彼は犬が好きです。').ids);
    const weights = read('model.safetensors');
    const tensors = decodeWeights(weights, 'model.safetensors');
    expect(tensors.get('embeddings.word_embeddings.weight')?.shape).toEqual([tokenizer.vocabularySize, 256]);
    expect([...tensors.keys()].filter((name) => !/^(embeddings|encoder)\./u.test(name))).toEqual([]);
    const numbers = [...tensors.values()].reduce((sum, { values }) => sum + values.length, 0);
    expect(weights.length).toBeLessThan(1.05 * numbers);
    expect(read('README.md').toString()).toContain('4 layers of width 256');
    expect(read('curve.csv').toString().split('\n')[0]).toBe(
      'step,seconds,tokens,training_loss,validation_use-multilingual-v3.last.4_passages',
    );
  });

  it('tell on card and data sheet what they grew from', async () => {
    const target = pathToFileURL(`${join(folder, 'others')}/`);
    await exportBackbone(recipe, work, studentSettings(work, {}), {
      target,
      grownFrom: 'there/japanese-nano',
    });
    const read = (file: string) => readFileSync(new URL(`japanese-mini/${file}`, target), 'utf8');
    expect(read('README.md')).toContain('the weights of orchard-japanese-nano. With');
    expect(read('DATA.md')).toContain('hours, beyond what orchard-japanese-nano had read, which it grew from.');
  });

  it('write what was exported anew as float16, under the names and shapes of BertModel', () => {
    const target = pathToFileURL(`${join(folder, 'backbones')}/`);
    floatBackbone('japanese-mini', work, target);
    const read = (file: string) => readFileSync(join(work.path, 'japanese-mini', file));
    expect(JSON.parse(read('config.json').toString())).toMatchObject({
      model_type: 'bert',
      torch_dtype: 'float16',
    });
    const { tensors, metadata } = decodeSafetensors(read('model.safetensors'), 'floats');
    expect(metadata.format).toBe('pt');
    const exported = readFileSync(new URL('japanese-mini/model.safetensors', target));
    const weights = decodeWeights(exported, 'bytes');
    expect(new Set(tensors.keys())).toEqual(new Set(weights.keys()));
    for (const [name, { shape, values }] of weights) {
      const float = tensors.get(name);
      expect(float?.shape).toEqual(shape);
      expect(bytesOf(float?.values).equals(bytesOf(roundedToFloat16(values)))).toBe(true);
    }
    const header = read('model.safetensors').toString('utf8', 0, 20_000);
    expect(header).toContain('"embeddings.word_embeddings.weight":{"dtype":"F16"');
  });

  it('write what the corpus is made of, with the licences', () => {
    const target = pathToFileURL(`${join(folder, 'backbones')}/`);
    const sheet = readFileSync(new URL('japanese-mini/DATA.md', target), 'utf8');
    const row = /\| Japanese Wikinews \| CC BY 2\.5 \| 1 \| (\d+) \|/u.exec(sheet);
    expect(Number(row?.[1])).toBeGreaterThan(3);
    expect(sheet).toContain(`${lines.length} passages`);
    expect(sheet).toContain('[CC BY-SA 3.0](https://creativecommons.org/licenses/by-sa/3.0/)');
    expect(sheet).toContain('sentences of twelve letters or more');
    expect(sheet).toContain('The novels, many of them a hundred years old,');
  });

  it('refuse to go on with a student of another shape', async () => {
    const base = commonSteps(recipe, { size: 'base', threads: '1', minutes: '0.001' });
    await expect(base.learn(work)).rejects.toThrow('with size mini, not base; give another folder');
    const narrow = commonSteps(recipe, { shape: '6x256', threads: '1', minutes: '0.001' });
    await expect(narrow.learn(work)).rejects.toThrow('with shape 4x256, not 6x256');
  });

  it('refuse embeddings that were made for another width', async () => {
    const other = new WorkFolder(join(folder, 'wide'), work.path);
    writeFileSync(other.embeddings, readFileSync(work.embeddings));
    const wide = commonSteps(recipe, { shape: '2x384', threads: '1', minutes: '0.001' });
    await expect(wide.learn(other)).rejects.toThrow('no word embeddings of width 384');
  });
});
