import { createHash } from 'node:crypto';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type DistillEvent,
  type DistillOptions,
  distill,
  type TeacherAnswer,
  type TeacherFunction,
  train,
} from 'orchard-nlp';
import { describe, expect, it, vi } from 'vitest';
import { checkedAnswer } from '../../src/api/distilling/teacher-answers.js';
import { openTeacher } from '../../src/api/distilling/teachers.js';
import { OpenModel } from '../../src/api/open-model.js';
import { rows } from '../public/sentiments.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** A small model learns from a teacher's answers. */

/** Short: the lexical expert learns these texts. */
const quick = { pretrained: false, epochs: 1, threads: 1, tuning: { quantize: false } } as const;
const texts = rows.map(({ text }) => text);
const labelOf = new Map(rows.map(({ text, label }) => [text, label]));
const labels = ['negative', 'positive'];

/** Answers with a label, and remembers what it was asked. */
function aTeacher(answer: (text: string) => TeacherAnswer = (text) => labelOf.get(text) ?? null) {
  const asked: string[] = [];
  const teacher: TeacherFunction = async (some) => {
    asked.push(...some);
    return some.map(answer);
  };
  return { teacher, asked };
}

const output = () => join(temporaryDirectory(), 'small');
const linesOf = (path: string) =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('what a teacher says', () => {
  const text = 'Ada met Bob, and Bob met Ada';
  const rules = {
    labels: { kind: 'labels', isMultilabel: false, labels: new Set(['a', 'b']) },
    multilabel: { kind: 'labels', isMultilabel: true, labels: new Set(['a', 'b']) },
    entities: { kind: 'entities', isMultilabel: false, labels: new Set(['PER']) },
    passages: { kind: 'passages', isMultilabel: false, labels: undefined },
  } as const;
  const person = (start: number, end: number) => ({ start, end, type: 'PER' });
  const aDoubt = (tags: object, end = 3) => ({ entities: [], doubts: [{ start: 0, end, tags }] });

  it.each<[string, keyof typeof rules, unknown, object]>([
    ['a label', 'labels', 'a', { shares: { a: 1 } }],
    ['probabilities', 'labels', { a: 0.25, b: 0.75 }, { shares: { a: 0.25, b: 0.75 } }],
    ['probabilities that were rounded', 'labels', { a: 0.33, b: 0.66 }, { shares: { a: 0.33 / 0.99, b: 0.66 / 0.99 } }],
    ['several labels', 'multilabel', ['a', 'b'], { shares: { a: 1, b: 1 } }],
    ['no label of several', 'multilabel', [], { shares: {} }],
    ['probabilities of several', 'multilabel', { a: 0.9, b: 0.8 }, { shares: { a: 0.9, b: 0.8 } }],
    ['places', 'entities', [{ type: 'PER', start: 8, end: 11 }], { entities: [person(8, 11)] }],
    [
      'words in their order',
      'entities',
      [
        { type: 'PER', text: 'Bob' },
        { type: 'PER', text: 'Bob' },
        { type: 'PER', text: 'Ada' },
      ],
      { entities: [person(8, 11), person(17, 20), person(25, 28)] },
    ],
    ['no entity', 'entities', [], { entities: [] }],
    [
      'entities and doubts about tags',
      'entities',
      { entities: [{ type: 'PER', text: 'Ada' }], doubts: [{ start: 0, end: 3, tags: { 'B-PER': 0.7, O: 0.3 } }] },
      { entities: [person(0, 3)], doubts: [{ start: 0, end: 3, tags: { 'B-PER': 0.7, O: 0.3 } }] },
    ],
    ['scores of candidates', 'passages', [2, -1], { scores: [2, -1] }],
    ['scores of passages', 'passages', [{ passage: 'second', score: 3 }], { scores: [3, 3] }],
  ])('may be %s', (_, kind, answer, expected) => {
    expect(checkedAnswer(answer, text, rules[kind], ['first', 'second'])).toMatchObject(expected);
  });

  it.each<[keyof typeof rules, unknown, string]>([
    ['labels', null, 'no answer'],
    ['labels', 'c', 'found the label "c"; the labels are "a", "b"'],
    ['labels', ['a', 'b'], 'found 2 labels instead of one'],
    ['labels', 7, 'found 7 instead of a label'],
    ['labels', { a: 0.5, b: 0.9 }, 'the probabilities add up to 1.4, not to 1'],
    ['labels', { a: Number.NaN, b: 1 }, 'the probability of "a" is'],
    ['multilabel', { a: 1.2 }, 'the probability of "a" is 1.2, not a number from 0 to 1'],
    ['entities', 'Ada', 'instead of an array of entities'],
    ['entities', [{ type: 'PER', text: 'Eve' }], '"Eve" is not in the text'],
    ['entities', [{ type: 'PER', start: 8, end: 40 }], '8 to 40 is not a range in a text of 28 UTF-16 code units'],
    ['entities', [{ type: 'PER', start: 0, end: 3, text: 'Bob' }], '0 to 3 is "Ada", not "Bob"'],
    ['entities', [person(0, 7), person(4, 11)], 'overlaps "Ada met"'],
    ['entities', [{ type: 'ORG', text: 'Ada' }], 'found the type "ORG"; the labels are "PER"'],
    ['entities', aDoubt({ 'B-ORG': 1 }), 'doubts: found the type "ORG"; the labels are "PER"'],
    [
      'entities',
      aDoubt({ PER: 1 }),
      'doubts.0.tags.PER: give an object with the probabilities of BIO tags: O, B-… or I-…',
    ],
    ['entities', aDoubt({ O: 0.5 }), 'doubts.0.tags: give probabilities that add up to 1'],
    ['entities', aDoubt({ O: 1 }, 40), 'doubts.0: 0 to 40 is not a range in a text of 28 UTF-16 code units'],
    ['passages', [1], 'found 1 score for 2 candidates'],
    ['passages', [{ passage: 'third', score: 1 }], '"third" is not one of the candidates'],
    ['passages', [{ passage: 'first', score: Number.POSITIVE_INFINITY }], 'not a finite number'],
  ])('makes no sense for %s: %j', (kind, answer, problem) => {
    const checked = checkedAnswer(answer, text, rules[kind], ['first', 'second']);
    expect('problem' in checked && checked.problem).toContain(problem);
  });
});

describe('a student', () => {
  it('learns from a function, leaves out what makes no sense, and says how well it agrees', async () => {
    const { teacher, asked } = aTeacher((text) => (text === texts[5] ? 'neither' : (labelOf.get(text) ?? null)));
    const folder = output();
    const events: DistillEvent[] = [];
    await using model = await resultOf(
      distill({
        teacher,
        texts: [...texts, ' ', texts[0]?.toUpperCase() ?? ''],
        labels,
        ...quick,
        curve: true,
        output: folder,
        onProgress: (event) => events.push(event),
      }),
    );
    expect([...asked].sort()).toEqual([...texts].sort());
    const { distillation } = model;
    expect(distillation).toMatchObject({
      ...{ teacher: 'function', texts: 80, answered: 80, kept: 0, retries: 0, answers: `${folder}.answers.jsonl` },
      unusable: { count: 1, examples: [{ text: texts[5], problem: expect.stringContaining('"neither"') }] },
      learned: { texts: 79 - 7, rows: 0 },
      agreement: { of: 7 },
    });
    expect(model.labels).toEqual(labels);
    expect(model.training.type).toBe('binary-text-classification');
    const { agreement, differences, curve = [] } = distillation;
    expect(curve.map(({ texts: count }) => count)).toEqual([18, 36, 72]);
    expect(curve.at(-1)?.agreement.share).toBe(agreement?.share);
    expect(agreement?.labels.reduce((sum, { of }) => sum + of, 0)).toBe(7);
    expect(differences).toHaveLength(Math.round(7 * (1 - (agreement?.share ?? 0))));
    expect(JSON.parse(await readFile(join(folder, 'distillation.json'), 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(distillation)),
    );
    expect(await resultOf(model.card())).toContain('## Teacher');
    const teaching = events.filter(({ type }) => type === 'teaching');
    expect(teaching.at(-1)).toMatchObject({ answered: 80, texts: 80, unusable: 1, remainingMs: 0 });
    expect(events.some(({ type }) => type === 'epoch' || type === 'state')).toBe(true);
    const lines = linesOf(`${folder}.answers.jsonl`);
    expect(lines[0]).toEqual({ format: 'orchard-answers', version: 1 });
    expect(lines.filter(({ problem }) => problem !== undefined)).toMatchObject([{ text: texts[5], answer: 'neither' }]);
  });

  it('learns from rows, too, and both are judged on those that were set aside', async () => {
    const { teacher, asked } = aTeacher();
    const given = rows.slice(0, 40);
    await using model = await resultOf(distill({ teacher, texts, rows: given, ...quick, output: output() }));
    const { accuracy, learned, texts: different } = model.distillation;
    expect(different).toBe(80);
    expect(learned.rows).toBe(36);
    expect(accuracy).toMatchObject({ rows: 4, metric: 'accuracy', teacher: { value: 1 } });
    // Texts of rows are asked only for figures.
    expect(asked).toHaveLength(40 + 4);
  });

  it('chooses its epoch by labelled rows: those given, or a tenth of the others with a tenth of the answers', async () => {
    const { teacher, asked } = aTeacher();
    const [dev, given] = [rows.slice(40, 60), rows.slice(0, 40)];
    await using chosen = await resultOf(distill({ teacher, texts, dev, labels, ...quick, output: output() }));
    expect(chosen.training.dev).toBe(20);
    expect(asked).toHaveLength(60);
    await using others = await resultOf(
      distill({ teacher, texts, rows: given, temperature: 2, ...quick, output: output() }),
    );
    // 8 texts are held out; 4 answers and 3 of the 36 labelled rows to learn from are for dev.
    expect(others.training).toMatchObject({ dev: 4 + 3, train: 40 - 8 + 36 - 3 });
  });

  it('reads the rows for dev from a file, by the names of its columns, and asks for none of their texts', async () => {
    const { teacher, asked } = aTeacher();
    const dev = join(temporaryDirectory(), 'dev.csv');
    const lines = rows.slice(0, 60).map(({ text, label }) => `${text},${label}`);
    writeFileSync(dev, ['title,topic', ...lines].join('\n'));
    const columns = { text: 'title', label: 'topic' };
    await using model = await resultOf(distill({ teacher, texts, labels, dev, columns, ...quick, output: output() }));
    expect([...asked].sort()).toEqual(texts.slice(60).sort());
    expect(model.training).toMatchObject({ train: 18, dev: 60 });
  });

  it('is opened on the device of the call if it is given by its name', async () => {
    using opened = vi.spyOn(OpenModel, 'open').mockRejectedValue(new Error('not opened'));
    const options = { modelLoader: undefined, teacherName: undefined, passages: undefined, signal: undefined };
    const opening = openTeacher('sentiment-classification', { ...options, device: 'webgpu' });
    await expect(opening).rejects.toThrow('not opened');
    expect(opened).toHaveBeenCalledWith(
      expect.anything(),
      expect.objectContaining({ service: expect.objectContaining({ device: 'webgpu' }) }),
    );
  });

  it('learns probabilities from models, whose answers are averaged', async () => {
    await using one = await resultOf(train({ rows, ...quick }));
    await using other = await resultOf(train({ rows: rows.slice(10), ...quick, seed: 1 }));
    const answers = join(temporaryDirectory(), 'answers.jsonl');
    await using model = await resultOf(
      distill({ teacher: [one, other], texts, test: rows.slice(0, 30), answers, ...quick }),
    );
    const { cost, accuracy } = model.distillation;
    expect(cost.teacher.bytes).toBeGreaterThan(cost.student.bytes ?? 0);
    expect(cost.teacher.millisecondsPerText).toBeGreaterThan(0);
    expect(accuracy?.rows).toBe(30);
    expect(model.training.test).toMatchObject({ rows: 30 });
    const kept = linesOf(answers).find(({ text }) => text === texts[7]);
    const [first, second] = await Promise.all(
      [one, other].map(async (each) => {
        const { scores } = await resultOf(each.predict(texts[7] ?? ''));
        return scores.find(({ label }) => label === 'positive')?.score ?? Number.NaN;
      }),
    );
    expect(kept.answer.positive).toBeCloseTo(((first ?? 0) + (second ?? 0)) / 2, 4);
  });

  it('has the time of the calls, and no size, of several teachers that score passages', async () => {
    const encoder = fileURLToPath(new URL('recorded-sentences/distilbert-norm', import.meta.url));
    const options = { modelLoader: undefined, device: undefined, teacherName: undefined, signal: undefined };
    const teacher = await openTeacher([encoder, encoder], { ...options, passages: ['on the shelf', 'in the box'] });
    expect(await teacher.cost?.(['where is it?'])).toEqual({});
    await teacher.close();
  });

  it('finds entities', async () => {
    const names = ['Ada', 'Bob', 'Cleo', 'Dora', 'Eli', 'Finn'];
    const sentences = names.flatMap((one) =>
      names.flatMap((other) => (one === other ? [] : [`${one} wrote to ${other} today`])),
    );
    const { teacher } = aTeacher((text) =>
      names.filter((name) => text.includes(name)).map((name) => ({ type: 'PER', text: name })),
    );
    await using model = await resultOf(
      distill({ teacher, texts: sentences, type: 'named-entity-recognition', ...quick, output: output() }),
    );
    expect(model.kind).toBe('entities');
    expect(model.labels).toEqual(['PER']);
    expect(model.distillation.agreement).toMatchObject({ of: 3, labels: [{ label: 'PER', of: 6 }] });
  });

  it('answers questions from passages, of which the teacher scores the likeliest', async () => {
    const things = [
      'bread',
      'milk',
      'soup',
      'rice',
      'honey',
      'cheese',
      'apples',
      'fish',
      'cake',
      'salad',
      'tea',
      'juice',
    ];
    const passages = things.map((thing, at) => `There is ${thing} on shelf ${at}`);
    const questions = things.flatMap((thing) => [`where is ${thing}?`, `do you have ${thing}`]);
    const seen: number[] = [];
    const teacher: TeacherFunction = (some, { candidates }) => {
      seen.push(...candidates.map(({ length }) => length));
      return some.map((question, at) =>
        (candidates[at] ?? []).map((passage) =>
          question.replace('?', '').split(' ').at(-1) === passage.split(' ')[2] ? 5 : -5,
        ),
      );
    };
    await using model = await resultOf(distill({ teacher, texts: questions, passages, ...quick, output: output() }));
    expect(new Set(seen)).toEqual(new Set([10]));
    expect(model.kind).toBe('passages');
    expect(model.distillation.agreement).toMatchObject({ of: 2 });
    const answer = await resultOf(model.predict('where is the honey'));
    expect(answer.kind === 'passages' && answer.passages).toHaveLength(10);
  });
});

describe('kept answers', () => {
  const options = (more: Partial<DistillOptions> & Pick<DistillOptions, 'teacher'>): DistillOptions => ({
    ...{ texts, labels, ...quick, textsPerCall: 4, concurrency: 2, retryDelayMs: 0 },
    ...more,
  });
  const weightsOf = (folder: string) => readFileSync(join(folder, 'model.safetensors'));

  it('are not asked for again after a failure, and make the same student', async () => {
    const undisturbed = aTeacher();
    const straight = output();
    await using _ = await resultOf(distill(options({ teacher: undisturbed.teacher, output: straight })));

    const folder = output();
    const first = aTeacher();
    let calls = 0;
    const failing: TeacherFunction = (some, call) => {
      calls += 1;
      if (calls > 9) throw new Error('no credit left');
      return first.teacher(some, call);
    };
    const error = await errorOf(distill(options({ teacher: failing, attempts: 2, output: folder })));
    expect(error).toMatchObject({ code: 'teacher', answered: 36, left: 44, answers: `${folder}.answers.jsonl` });
    expect(error.message).toMatch(
      /failed 2 times on ".*" and 3 more: no credit left; 36 answers are kept in .*; make the same call again to continue with the remaining 44/,
    );

    const second = aTeacher();
    await using model = await resultOf(distill(options({ teacher: second.teacher, output: folder })));
    expect(first.asked.filter((text) => second.asked.includes(text))).toEqual([]);
    expect([...first.asked, ...second.asked].sort()).toEqual([...texts].sort());
    expect(model.distillation).toMatchObject({ answered: 80, kept: 36 });
    expect(weightsOf(folder).equals(weightsOf(straight))).toBe(true);
  });

  it('survive a line that was not finished, and no other call', async () => {
    const folder = output();
    const answers = `${folder}.answers.jsonl`;
    await using _ = await resultOf(distill(options({ teacher: aTeacher().teacher, output: folder })));
    const whole = readFileSync(answers);
    truncateSync(answers, whole.length - 5);
    const { teacher, asked } = aTeacher();
    await using __ = await resultOf(distill(options({ teacher, output: folder })));
    expect(asked).toHaveLength(1);
    expect(linesOf(answers)).toHaveLength(81);

    const renamed = aTeacher();
    await using ___ = await resultOf(
      distill(options({ teacher: renamed.teacher, teacherName: 'prompt 2', output: folder })),
    );
    expect(renamed.asked).toHaveLength(80);
  });

  it('are never written to a file of another kind', async () => {
    const answers = join(temporaryDirectory(), 'notes.txt');
    writeFileSync(answers, 'my notes\n');
    const { teacher, asked } = aTeacher();
    const error = await errorOf(distill(options({ teacher, answers })));
    expect(error.message).toContain('notes.txt: this is not a file of answers');
    expect(asked).toEqual([]);
    expect(readFileSync(answers, 'utf8')).toBe('my notes\n');
  });

  it('have those of a call that was aborted', async () => {
    const stop = new AbortController();
    const folder = output();
    const { teacher, asked } = aTeacher();
    const onProgress = ({ type }: DistillEvent) => {
      if (type === 'teaching' && asked.length >= 20) stop.abort();
    };
    const error = await errorOf(distill(options({ teacher, output: folder, signal: stop.signal, onProgress })));
    expect(error.code).toBe('aborted');
    expect(linesOf(`${folder}.answers.jsonl`).length - 1).toBe(asked.length);
    expect(asked.length).toBeLessThan(80);
  });
});

describe('a teacher', () => {
  it('is asked again after a pause when it rejects or gives too few answers, and counts how often', async () => {
    let calls = 0;
    const { teacher, asked } = aTeacher();
    const flaky: TeacherFunction = async (some, call) => {
      calls += 1;
      if (calls === 1) throw new Error('429');
      if (calls === 2) return [];
      return teacher(some, call);
    };
    await using model = await resultOf(
      distill({ teacher: flaky, texts, labels, ...quick, retryDelayMs: 0, output: output() }),
    );
    expect(model.distillation.retries).toBe(2);
    expect([...asked].sort()).toEqual([...texts].sort());
  });

  it('is asked no more than maxTexts, and a larger budget asks for further texts only', async () => {
    const folder = output();
    const first = aTeacher();
    await using _ = await resultOf(
      distill({ teacher: first.teacher, texts, labels, maxTexts: 30, ...quick, output: folder }),
    );
    expect(first.asked).toHaveLength(30);
    const second = aTeacher();
    await using __ = await resultOf(
      distill({ teacher: second.teacher, texts, labels, maxTexts: 50, ...quick, output: folder }),
    );
    expect(second.asked).toHaveLength(20);
    const central = aTeacher();
    await using ___ = await resultOf(
      distill({ teacher: central.teacher, texts, labels, maxTexts: 8, choose: 'central', ...quick, output: output() }),
    );
    // One of each group: they are not of one subject or verdict.
    expect(new Set(central.asked).size).toBe(8);
    expect(new Set(central.asked.map((text) => text.split(' ').at(1))).size).toBeGreaterThan(2);
  });

  it('reads texts from a file or a stream', async () => {
    const file = join(temporaryDirectory(), 'texts.txt');
    await writeFile(file, texts.join('\n'));
    const [first, second] = [aTeacher(), aTeacher()];
    await using one = await resultOf(
      distill({ teacher: first.teacher, texts: file, labels, ...quick, output: output() }),
    );
    async function* stream() {
      yield* texts;
    }
    await using other = await resultOf(
      distill({ teacher: second.teacher, texts: stream(), labels, ...quick, output: output() }),
    );
    expect(first.asked).toEqual(second.asked);
    expect(other.distillation.agreement).toEqual(one.distillation.agreement);
  });

  it('stops to read a stream of texts when the signal fires, even while the stream waits', async () => {
    const stop = new AbortController();
    async function* stream() {
      yield* texts.slice(0, 2);
      setImmediate(() => stop.abort());
      await new Promise(() => {});
    }
    const { teacher, asked } = aTeacher();
    const given = { teacher, texts: stream(), labels, ...quick, output: output(), signal: stop.signal };
    expect(await errorOf(distill(given))).toMatchObject({ code: 'aborted', message: 'the distillation was aborted' });
    expect(asked).toEqual([]);
  });

  it.each<[string, Partial<DistillOptions>, string]>([
    [
      'a function without a place for its answers',
      { output: undefined },
      'answers: the answers of a function may cost money; give `output` or `answers`',
    ],
    [
      'a function that says nothing of its answers',
      { labels: undefined },
      'type: the answers do not show the type of the model; give `type`, `labels`',
    ],
    ['a blank text for dev', { dev: [{ text: ' ', label: 'positive' }] }, 'dev.0.text'],
    [
      'pairs for dev',
      { dev: [{ text: 'a', text2: 'b', label: 'positive' }] },
      'dev: the rows of dev are pairs of texts',
    ],
    [
      'rows for test of another kind',
      { test: [{ text: 'Ada', entities: [] }] },
      "test: the rows of test don't fit the teacher's answers",
    ],
    ['no text', { texts: [' '] }, 'texts: all texts are blank'],
    ['an unknown option', { rows: undefined, ...{ path: 'x' } }, 'path'],
    [
      'a temperature for passages',
      { labels: undefined, passages: ['one', 'two'], temperature: 2 },
      'temperature: applies only to classifiers and entities',
    ],
    ['a choice among all', { choose: 'central' }, 'choose: without `maxTexts`, the teacher answers all texts'],
    ['a format without rows', { format: 'csv' }, 'format: applies only to `rows`, `dev` and `test`, and none is given'],
    [
      'a type that is another than that of the passages',
      { labels: undefined, passages: ['one', 'two'], type: 'binary-text-classification' },
      'type: the teacher and the other options ask for a student of type question-answering',
    ],
    ['one passage', { labels: undefined, passages: ['one'] }, 'passages: found 1 passage'],
  ])('is refused with %s', async (_, more, message) => {
    const { teacher, asked } = aTeacher();
    const error = await errorOf(distill({ teacher, texts, labels, ...quick, output: output(), ...more }));
    expect(error.code).toBe('validation');
    expect(error.message).toContain(message);
    expect(asked).toEqual([]);
  });

  it.each(['rows', 'dev', 'test'])('is not asked if %s have another label, in memory or in a file', async (option) => {
    const { teacher, asked } = aTeacher();
    const given = [...rows.slice(0, 3), { text: 'so so', label: 'mixed' }];
    const file = join(temporaryDirectory(), 'some.csv');
    writeFileSync(file, ['text,topic', ...given.map(({ text, label }) => `${text},${label}`)].join('\n'));
    const problem = 'found label "mixed"; expected one of "negative", "positive"';
    for (const [from, columns, place] of [
      [given, undefined, `${option} line 4, column label`],
      [file, { label: 'topic' }, 'some.csv line 5, column topic'],
    ] as const) {
      const error = await errorOf(
        distill({ teacher, texts, labels, columns, ...quick, output: output(), [option]: from }),
      );
      expect(error.message).toBe(`${place}: ${problem}`);
    }
    expect(asked).toEqual([]);
  });

  it('leaves out rows with another label or a blank text as `skipInvalid` says, with warnings', async () => {
    const { teacher } = aTeacher();
    const blank = { text: ' ', label: 'positive' };
    const dev = [...rows.slice(0, 10), { text: 'so so', label: 'mixed' }, blank];
    await using model = await resultOf(
      distill({ teacher, texts, labels, dev, skipInvalid: true, ...quick, output: output() }),
    );
    expect(model.training.dev).toBe(10);
    expect(model.training.warnings.filter(({ kind }) => kind === 'invalid_row').map(({ count }) => count)).toEqual([
      1, 1,
    ]);
  });

  it('reads several labels from files where the teacher gives several', async () => {
    const several = rows.map(({ text, label }) => ({
      text,
      labels: label === 'positive' ? [label, 'thing'] : [label],
    }));
    await using one = await resultOf(train({ rows: several, ...quick }));
    const file = join(temporaryDirectory(), 'several.csv');
    const lines = several.slice(0, 30).map(({ text, labels: all }) => `${text},"${all.join(',')}"`);
    writeFileSync(file, ['text,labels', ...lines].join('\n'));
    for (const option of ['rows', 'dev', 'test']) {
      await using model = await resultOf(
        distill({ teacher: one, texts: texts.slice(30), [option]: file, ...quick, output: output() }),
      );
      expect(model.labels).toEqual(['negative', 'positive', 'thing']);
    }
  });

  it('that answers nothing of use is an error that shows an answer', async () => {
    const { teacher } = aTeacher(() => 'neither');
    const error = await errorOf(distill({ teacher, texts, labels, ...quick, output: output() }));
    expect(error.message).toContain(
      '0 of 80 texts can be used for training, and at least two are needed (80 unusable answers, such as',
    );
  });
});

describe('a student of entities', () => {
  const checkpoints = fileURLToPath(new URL('recorded-checkpoints', import.meta.url));
  const wordPieces = join(checkpoints, 'bert-tokens');
  const byteLevel = join(checkpoints, 'roberta-tokens');
  const names = ['Ada', 'Lovelace', 'Zoe', 'Bob'];
  const told = Array.from({ length: 40 }, (_, at) => `${names[at % 4]} was fun in film ${at}, the plot was not`);
  const hashOf = (folder: string, file = 'model.safetensors') =>
    createHash('sha256')
      .update(readFileSync(join(folder, file)))
      .digest('hex');
  const answersOf = (folder: string) => linesOf(`${folder}.answers.jsonl`).slice(1);

  it('learns what a model says of tags, and is the same after an interruption', async () => {
    const [straight, stopped, softer] = [output(), output(), output()];
    const given = { teacher: wordPieces, texts: told, ...quick, textsPerCall: 5 };
    await using _ = await resultOf(distill({ ...given, output: straight }));
    expect(answersOf(straight).filter(({ answer }) => answer.doubts?.length > 0).length).toBeGreaterThan(30);
    const stop = new AbortController();
    const stopAtHalf = (event: DistillEvent) => {
      if (event.type === 'teaching' && event.answered >= 20) stop.abort();
    };
    const stoppedBy = { signal: stop.signal, onProgress: stopAtHalf };
    expect((await errorOf(distill({ ...given, ...stoppedBy, output: stopped }))).code).toBe('aborted');
    await using again = await resultOf(distill({ ...given, output: stopped }));
    expect(again.distillation.kept).toBeGreaterThanOrEqual(20);
    expect(again.distillation.kept).toBeLessThan(40);
    expect(hashOf(stopped)).toBe(hashOf(straight));

    const answers = `${straight}.answers.jsonl`;
    await using __ = await resultOf(distill({ ...given, answers, temperature: 2, output: softer }));
    expect(hashOf(softer)).not.toBe(hashOf(straight));
  });

  it('learns the mean of several models, whose tokenizers differ', async () => {
    const answersTo = async (teacher: string | string[]) => {
      const folder = output();
      await using _ = await resultOf(distill({ teacher, texts: told.slice(0, 20), ...quick, output: folder }));
      return new Map(answersOf(folder).map(({ text, answer }) => [text, answer]));
    };
    const [one, other, both] = [
      await answersTo(wordPieces),
      await answersTo(byteLevel),
      await answersTo([wordPieces, byteLevel]),
    ];
    /** The tags of the word that begins a text. */
    const firstTags = (answer: { doubts?: { start: number; tags: Record<string, number> }[] }) =>
      answer.doubts?.find(({ start }) => start === 0)?.tags;
    let compared = 0;
    for (const text of told.slice(0, 20)) {
      const [a, b, mean] = [one, other, both].map((answers) => firstTags(answers.get(text)));
      if (!a || !b || !mean) continue;
      for (const tag of ['O', 'B-PER', 'B-LOC']) {
        expect(mean[tag] ?? 0).toBeCloseTo(((a[tag] ?? 0) + (b[tag] ?? 0)) / 2, 3);
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(30);
  });

  it('learns doubts with its encoder, and spans with its lexical expert', async () => {
    const many = Array.from({ length: 600 }, (_, at) => `${names[at % 4]} met nobody at ${at}`);
    const lexical = 'lexical.safetensors';
    const teacherWith =
      (share: number): TeacherFunction =>
      (some) =>
        some.map((text) => {
          const end = text.indexOf(' ');
          const entities = [{ type: 'PER', start: 0, end }];
          return share === 1
            ? entities
            : { entities, doubts: [{ start: 0, end, tags: { 'B-PER': share, O: 1 - share } }] };
        });
    const studentOf = async (share: number) => {
      const folder = output();
      const type = 'named-entity-recognition';
      await using _ = await resultOf(
        distill({ teacher: teacherWith(share), type, texts: many, ...quick, output: folder }),
      );
      return folder;
    };
    const [sure, unsure] = [await studentOf(1), await studentOf(0.6)];
    expect(hashOf(unsure, lexical)).toBe(hashOf(sure, lexical));
    expect(hashOf(unsure)).not.toBe(hashOf(sure));
  });
});
