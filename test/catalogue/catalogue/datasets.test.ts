import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';
import {
  newestAbstracts,
  readPapers,
  titlesAsQuestions,
} from '../../../models/recipes/catalogue/datasets/abstracts.js';
import { claimlessAbstracts } from '../../../models/recipes/catalogue/datasets/claimless-abstracts.js';
import { readFeelings } from '../../../models/recipes/catalogue/datasets/feelings.js';
import { readHeadlines } from '../../../models/recipes/catalogue/datasets/headlines.js';
import { withOtherCase } from '../../../models/recipes/catalogue/datasets/other-case.js';
import {
  readCustomerReviews,
  readMovieReviews,
  readProsAndCons,
} from '../../../models/recipes/catalogue/datasets/reviews.js';
import {
  readJigsaw,
  readParadetox,
  readToxicSpans,
  readTweets,
} from '../../../models/recipes/catalogue/datasets/toxicity.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

/** The readers on small files of the datasets' formats; none of the rows are theirs. */

/** A folder of datasets with these files, by their paths; brotli where a name says so. */
async function datasets(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const root = temporaryDirectory();
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, path, '..'), { recursive: true });
    const bytes = Buffer.from(content);
    await writeFile(join(root, path), path.endsWith('.br') ? brotliCompressSync(bytes) : bytes);
  }
  return root;
}

async function zipOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const zip = new ZipFile();
  zip.addEmptyDirectory('folder');
  for (const [path, content] of Object.entries(files)) zip.addBuffer(Buffer.from(content), path);
  zip.end();
  return buffer(zip.outputStream);
}

const texts = (rows: readonly { readonly text: string }[]) => rows.map(({ text }) => text);

describe('reviews', () => {
  it('takes pros as positive and cons as negative, without their tags', async () => {
    const root = await datasets({
      'nltk_reviews/pros_cons.zip': await zipOf({
        'pros_cons/IntegratedPros.txt': '  <Pros>light, loud</Pros>\n<Pros> </Pros>\n',
        'pros_cons/IntegratedCons.txt': '  <Cons>dim lamp</Cons>\n',
        'pros_cons/README.txt': 'About <Pros>tags</Pros>.',
      }),
    });
    expect(await readProsAndCons(root)).toEqual([
      { text: 'light, loud', labels: ['positive'] },
      { text: 'dim lamp', labels: ['negative'] },
    ]);
  });

  it('takes comments whose feelings are all of one sentiment', async () => {
    const comments = ['What a day!\t0,1\ta', 'So dull.\t2\tb', 'Good, and sad.\t0,2\tc', 'Who?\t3\td', 'Plain.\t4\te'];
    const root = await datasets({
      'goemotions/labels.txt': 'joy\nlove\nanger\nsurprise\nneutral\n',
      'goemotions/train.tsv.br': '',
      'goemotions/dev.tsv': '',
      'goemotions/test.tsv': comments.join('\n'),
    });
    expect(readFeelings(root)).toEqual([
      { text: 'What a day!', labels: ['positive'] },
      { text: 'So dull.', labels: ['negative'] },
    ]);
  });

  it('takes a whole film review as one text, judged by its folder', async () => {
    const root = await datasets({
      'nltk_reviews/movie_reviews.zip.br': await zipOf({
        'movie_reviews/pos/cv1.txt': 'a joy . \nsee it . \n',
        'movie_reviews/neg/cv2.txt': 'dull .\n',
        'movie_reviews/README': 'About it.',
      }),
    });
    expect(await readMovieReviews(root)).toEqual([
      { text: 'a joy . see it .', labels: ['positive'] },
      { text: 'dull .', labels: ['negative'] },
    ]);
  });

  it('are customer sentences by the id before each', async () => {
    const root = await datasets({ 'customer_reviews_cr/custrev.all': '1 it works .\n0 it broke .\n' });
    expect(readCustomerReviews(root)).toEqual([
      { text: 'it works .', labels: ['positive'] },
      { text: 'it broke .', labels: ['negative'] },
    ]);
  });
});

describe('toxic comments', () => {
  it('are the originals of ParaDetox; the rewordings are not', async () => {
    const content = 'toxic\tneutral1\tneutral2\tneutral3\nyou fool !\tYou are wrong.\tI disagree.\t\n';
    const root = await datasets({ 'paradetox/paradetox.tsv.br': content });
    expect(readParadetox(root)).toEqual([
      { text: 'you fool !', labels: ['toxic'] },
      { text: 'You are wrong.', labels: ['non-toxic'] },
      { text: 'I disagree.', labels: ['non-toxic'] },
    ]);
  });

  it('are those with a marked span; comments without one are neither', async () => {
    const rows = 'spans,text\n"[0, 1]","Silly man,\nhe said"\n[],"Who knows?"\n';
    const root = await datasets({
      'toxic_spans/tsd_train.csv.br': rows,
      'toxic_spans/tsd_trial.csv': rows,
      'toxic_spans/tsd_test.csv': rows,
    });
    expect(texts(readToxicSpans(root))).toEqual(Array(3).fill('Silly man, he said'));
  });

  it('are hateful and offensive tweets, with names of users and addresses taken out', async () => {
    const content = [
      ',count,hate_speech,offensive_language,neither,class,tweet',
      '0,3,3,0,0,0,"RT @Some_One: awful &amp; bad &#128514; &unknown; http://t.co/x"',
      '1,3,0,3,0,1,rude',
      '2,3,0,0,3,2,a calm lake',
    ].join('\n');
    const root = await datasets({ 'davidson_hate_offensive/labeled_data.csv.br': `${content}\n` });
    expect(readTweets(root)).toEqual([
      { text: 'RT @user: awful & bad 😂 &unknown;', labels: ['toxic'] },
      { text: 'rude', labels: ['toxic'] },
      { text: 'a calm lake', labels: ['non-toxic'] },
    ]);
  });

  it('are halved within each label, so that a file sorted by label still tests both', async () => {
    const root = await datasets({
      'jigsaw_subset_robtest/test.csv.br': '"a, b",0\nc,0\nd,0\ne,0\nf,1\ng,1\n',
    });
    const { train, test } = readJigsaw(root);
    expect(train.map(({ text, labels }) => [text, labels[0]])).toEqual([
      ['a, b', 'non-toxic'],
      ['c', 'non-toxic'],
      ['f', 'toxic'],
    ]);
    expect(texts(test)).toEqual(['d', 'g']);
  });

  it('are not for test where the backbone has read of them', async () => {
    const labelled = (row: number) => `comment ${row},${row < 6090 ? 0 : 1}`;
    const lines = Array.from({ length: 2 * 6090 }, (_, row) => labelled(row));
    const root = await datasets({ 'jigsaw_subset_robtest/test.csv.br': `${lines.join('\n')}\n` });
    const { train, test } = readJigsaw(root);
    expect(train).toHaveLength(6090);
    expect(test).toHaveLength(2 * (3045 - 1312));
    expect(texts(test)).not.toContain('comment 3047');
  });
});

describe('headlines', () => {
  it('are taken where all their entities are judged alike', async () => {
    const content = [
      'S No.,Title,Decisions,Words',
      `1,Acme soars,{'Acme': 'positive'},2`,
      `2,"Acme soars, Emca sinks","{'Acme': 'positive', 'Emca': 'negative'}",4`,
      `3,Two firms wait,"{""Acme's"": 'neutral', 'Emca': 'neutral'}",3`,
      '4,Nobody is judged,{},3',
    ].join('\n');
    const root = await datasets({ 'sentfin/SEntFiN.csv': `${content}\n` });
    expect(readHeadlines(root)).toEqual([
      { text: 'Acme soars', labels: ['positive'] },
      { text: 'Two firms wait', labels: ['neutral'] },
    ]);
  });
});

describe('sentences in another case', () => {
  it('are every fourth in lower case and every eighth in capitals, behind the sentences themselves', () => {
    const sentences = Array.from({ length: 16 }, (_, at) => ({ words: [`To${at}`], tags: ['O'] }));
    const all = withOtherCase(sentences);
    expect(all.slice(0, 16)).toEqual(sentences);
    const copies = all.slice(16).map(({ words }) => words.join(' '));
    expect(copies).toEqual(['to3', 'to7', 'to11', 'to15', 'TO7', 'TO15']);
  });
});

describe('abstracts', () => {
  const paper = (at: number, abstract = `Abstract ${at}.`) => ({
    id: `P${at}`,
    year: 2000 + (at % 3),
    title: `Title ${at}`,
    abstract,
  });

  it('are one line each, whatever separates lines inside', async () => {
    const lines = [paper(1, 'One\n two\u2028three.')].map((each) => JSON.stringify(each)).join('\n');
    const root = await datasets({ 'acl_anthology_abstracts/abstracts_2016plus.jsonl.br': `${lines}\n` });
    expect(readPapers(root)).toEqual([paper(1, 'One two three.')]);
  });

  it('answer their titles, every fiftieth one in dev', () => {
    const { train, dev } = titlesAsQuestions(Array.from({ length: 100 }, (_, at) => paper(at)));
    expect(dev).toEqual([
      { question: 'Title 0', context: 'Abstract 0.' },
      { question: 'Title 50', context: 'Abstract 50.' },
    ]);
    expect(train).toHaveLength(13);
  });

  it('answer their titles and last sentences where no claim is about them', async () => {
    const conclusion = 'So lorem ipsum goes with dolor sit amet in all cases.';
    const document = (id: number, abstract: string) => ({ doc_id: `${id}`, title: `Title ${id}`, abstract });
    const documents = [
      document(1, `We ask. ${conclusion}`),
      document(2, `Trained on. ${conclusion}`),
      document(3, `Measured on. ${conclusion}`),
      document(4, 'We ask. Yes.'),
      document(5, conclusion),
    ];
    const lines = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    const root = await datasets({
      'scifact/corpus.jsonl.br': lines(documents),
      'scifact/beir_queries.jsonl': lines([
        { _id: '7', text: 'A claim.' },
        { _id: '8', text: 'Another.' },
      ]),
      'scifact/beir_qrels_train.tsv': 'query-id\tcorpus-id\tscore\n7\t2\t1\n',
      'scifact/beir_qrels_test.tsv': 'query-id\tcorpus-id\tscore\n8\t3\t1\n',
    });
    expect(claimlessAbstracts(root)).toEqual({
      train: [
        { question: 'Title 1', context: `We ask. ${conclusion}` },
        { question: conclusion, context: 'Title 1 We ask.' },
        { question: 'Title 4', context: 'We ask. Yes.' },
        { question: 'Title 5', context: conclusion },
      ],
    });
  });

  it('are shipped newest first, with title and address', () => {
    expect(newestAbstracts([paper(3), paper(4), paper(5), { ...paper(8), title: 'Why?' }], 3)).toEqual([
      'Title 5. Abstract 5. https://aclanthology.org/P5',
      'Why? Abstract 8. https://aclanthology.org/P8',
      'Title 4. Abstract 4. https://aclanthology.org/P4',
    ]);
  });

  it('are cut behind a whole word where they are long', () => {
    const [passage = ''] = newestAbstracts([paper(1, 'lorem '.repeat(300).trim())], 1);
    expect(passage).toMatch(/^Title 1\. (lorem )+… https:\/\/aclanthology\.org\/P1$/);
    expect(passage.length).toBeLessThan(1260);
    expect(passage.length).toBeGreaterThan(1200);
  });
});
