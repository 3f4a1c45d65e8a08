import { describe, expect, it } from 'vitest';
import { dragonfruit } from '../../../src/families/families.js';
import { encodeVectors, VectorIndex } from '../../../src/families/index.js';
import { encodePassages } from '../../../src/families/retrieval/passages.js';
import { Bm25Index, encodeBm25 } from '../../../src/lexical/index.js';
import type { ModelFolderConfig } from '../../../src/models/index.js';
import { failureOf } from '../../support/outcomes.js';

const texts = ['Paris is in France.', 'Rome is in Italy.', 'Oslo is in Norway.'];
const config: ModelFolderConfig = {
  architectures: ['BertModel'],
  id2label: {},
  label2id: {},
  orchard: {
    format: 1,
    family: 'Dragonfruit',
    type: 'question-answering',
    size: 'mini',
    labels: [],
    pooling: 'mean',
    lowercase: true,
    max_tokens: 256,
    files: [],
    blend: { encoder: 4, expert: 2, bias: [] },
  },
};

/** The files of a model folder with this many passages, vectors and passages indexed for BM25. */
function filesOf(counts: { passages?: number; vectors?: number; indexed?: number } = {}) {
  const { passages = 3, vectors = 3, indexed = 3 } = counts;
  const unit = Float32Array.from({ length: vectors * 4 }, (_, at) => (at % 4 === Math.floor(at / 4) ? 1 : 0));
  const contents = {
    'passages.json': encodePassages(texts.slice(0, passages)),
    'passages.safetensors': encodeVectors(VectorIndex.fromVectors(unit, 4)),
    'lexical.safetensors': encodeBm25(Bm25Index.fromPassages(texts.slice(0, indexed), { stem: true })),
  };
  return new Map(Object.entries(contents).map(([name, bytes]) => [name, { bytes, file: `folder/${name}` }] as const));
}

/** What is told of a folder with these files, which can't be opened. */
async function refusalOf(files: ReturnType<typeof filesOf>) {
  const { message } = await failureOf('model_folder', () => dragonfruit.decoder(config, files));
  return message;
}

describe('the decoder of a Dragonfruit model', () => {
  it('ranks passages by cosine and by words, the scores adding up to 1', async () => {
    const decode = await dragonfruit.decoder(config, filesOf());
    const encoding = {
      ids: new Int32Array(2),
      typeIds: new Int32Array(2),
      sequenceIds: new Int32Array(2),
      offsets: null,
      truncated: 0,
    };
    // Two token states whose mean points at the third passage; a row of padding behind them counts for nothing.
    const outputs = Float32Array.of(1, 0, 2, 0, -1, 0, 4, 0, 99, 99, 99, 99);
    const { labels, scores } = decode('Rome', [{ encoding, outputs }]);
    // Logits: Oslo 4 · 1, Rome 2 · 1, Paris 0.
    const total = Math.exp(4) + Math.exp(2) + 1;
    expect(labels).toEqual([texts[2], texts[1], texts[0]]);
    expect(scores).toEqual([4, 2, 0].map((logit) => expect.closeTo(Math.exp(logit) / total, 6)));
  });

  it('refuses vectors or words of other passages, naming the file and both counts', async () => {
    expect(await refusalOf(filesOf({ vectors: 2 }))).toMatch(
      /^folder\/passages\.safetensors: .*2 passages, but passages\.json has 3/,
    );
    expect(await refusalOf(filesOf({ indexed: 2 }))).toMatch(
      /^folder\/lexical\.safetensors: .*2 passages, but passages\.json has 3/,
    );
    expect(await refusalOf(filesOf({ passages: 2 }))).toContain('passages.json has 2');
  });

  it('refuses a folder in which a file is missing or is something else', async () => {
    const files = filesOf();
    files.delete('passages.json');
    expect(await refusalOf(files)).toContain('passages.json');
    for (const text of ['no JSON', '{"0": "Paris"}', '[1, 2]']) {
      files.set('passages.json', { bytes: Buffer.from(text), file: 'folder/passages.json' });
      expect(await refusalOf(files)).toMatch(/^folder\/passages\.json: /);
    }
  });
});
