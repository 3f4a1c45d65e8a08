import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeDatasetProblem } from '../../src/contract/errors.js';
import { columnOf } from '../../src/datasets/index.js';
import { retrievalRows } from '../../src/families/retrieval/rows.js';
import { checkFeeds, Graph, onnxExecutor, ShapeError } from '../../src/graph/index.js';
import { decodeSafetensors, encodeSafetensors } from '../../src/models/index.js';
import { loadTokenizer } from '../../src/text/index.js';
import { aRetrievalArchive, entries, PASSAGES } from '../families/retrieval/retrieval-archive-builder.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { toOnnx } from '../support/to-onnx.js';

/** Names in files that plain objects have already: each is found, refused or kept like any other. */

const names = ['__proto__', 'constructor', 'toString'];

describe.each(names)('the name %s', (name) => {
  const path = () => join(temporaryDirectory(), 'file');

  it('is a column of JSON Lines where it is written, and missing where it is not', async () => {
    const file = path();
    writeFileSync(file, `{"${name}": "there"}\n{"other": 1}\n`);
    expect(await columnOf(file, name)).toEqual([
      { line: 1, value: 'there' },
      { line: 2, value: '' },
    ]);
  });

  it('is no index of a question', async () => {
    const question = { question: 'Where is Paris?', context: PASSAGES[0] };
    const train = entries(question).replace(/\}\s*$/, `, "${name}": ${JSON.stringify(question)}}`);
    const archive = aRetrievalArchive().withFile('train.json', train).writeTo(temporaryDirectory());
    const { problems } = await failureOf('dataset', () => retrievalRows.read(archive, 'question-answering'));
    expect(problems.map(describeDatasetProblem)).toEqual([
      `train.json: found the id "${name}"; expected a whole number`,
    ]);
  });

  it('is the name of a tensor like any other', () => {
    const values = Float32Array.of(1, 2);
    const bytes = encodeSafetensors(new Map([[name, { shape: [2], values }]]));
    expect(decodeSafetensors(bytes, 'x').tensors).toEqual(new Map([[name, { shape: [2], values }]]));
  });

  it('is no special token of a template unless the file declares it', async () => {
    const vocab = Object.fromEntries(
      ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'a'].map((piece, id) => [piece, id]),
    );
    const special = { SpecialToken: { id: name, type_id: 0 } };
    const text = (id: 'A' | 'B') => ({ Sequence: { id, type_id: 0 } });
    const json = {
      added_tokens: [],
      normalizer: {
        type: 'BertNormalizer',
        clean_text: true,
        handle_chinese_chars: true,
        strip_accents: null,
        lowercase: true,
      },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      post_processor: {
        type: 'TemplateProcessing',
        single: [special, text('A')],
        pair: [text('A'), text('B')],
        special_tokens: {},
      },
      decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
      model: {
        type: 'WordPiece',
        unk_token: '[UNK]',
        continuing_subword_prefix: '##',
        max_input_chars_per_word: 100,
        vocab,
      },
    };
    const { message } = await failureOf('model_folder', () => loadTokenizer(json));
    expect(message).toBe(`tokenizer.json: post_processor.special_tokens: "${name}" of the template is missing`);
  });

  it('is a dimension of a graph whose size is that of what is fed', () => {
    const feed = { type: 'float32', dims: [3], data: new Float32Array(3) } as const;
    const sizes = checkFeeds([{ name: 'x', type: 'float32', shape: [name] }], { x: feed });
    expect(Object.entries(sizes)).toEqual([[name, 3]]);
  });

  it.each(['input', 'output'] as const)('is refused as the %s of an ONNX file', async (which) => {
    const graph = new Graph();
    const x = graph.input(which === 'input' ? name : 'x', 'float32', [2]);
    graph.output(which === 'output' ? name : 'y', graph.add(x, x));
    const file = path();
    writeFileSync(file, await toOnnx(graph));
    await expect(onnxExecutor().load(file)).rejects.toThrow(ShapeError);
    await expect(onnxExecutor().load(file)).rejects.toThrow(`a tensor named ${name}`);
  });
});
