import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse/sync';
import { describe, expect, it, vi } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { pour, run, start } from './run-command.js';

/** `orchard predict` and `orchard evaluate`, with models of the catalogue. */

const model = 'sentiment-classification';

function file(name: string, content: string | Uint8Array): string {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, content);
  return path;
}

const jsonLines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('rules and redaction', () => {
  const entityModel = 'named-entity-recognition';
  const rules = () => file('rules.json', JSON.stringify([{ type: 'ORDER', pattern: 'A-\\d{5}' }]));

  it('predicts, explains and evaluates with the rules of a file', async () => {
    const text = 'Where is A-12345?';
    const predicted = await run(['predict', entityModel, '--rules', rules(), text]);
    expect(predicted).toEqual({ exitCode: 0, stdout: 'Where is [A-12345 ORDER]?\n', stderr: '' });
    const explained = await run(['explain', entityModel, '--rules', rules(), text]);
    expect(explained.stdout).toBe('ORDER\t1.0000\tWhere is A-12345?\t(rule 0 matches "A-12345")\n');
    const rows = file('rows.jsonl', JSON.stringify({ text, entities: [{ start: 9, end: 16, type: 'ORDER' }] }));
    const f1 = async (...more: string[]) => {
      const { stdout } = await run([
        'evaluate',
        entityModel,
        rows,
        '--rules',
        rules(),
        '--resamples',
        '100',
        '--json',
        ...more,
      ]);
      return JSON.parse(stdout).micro.f1;
    };
    expect(await f1()).toBe(1);
    expect(await f1('--without-rules')).toBe(0);
  });

  it('names what is wrong with a file of rules', async () => {
    const refusal = async (content: string) =>
      (await run(['predict', entityModel, '--rules', file('bad.json', content), 'x'])).stderr;
    expect(await refusal('{')).toMatch(/--rules .*bad\.json: give a JSON array/);
    expect(await refusal('[{"type":"X","pattern":"("}]')).toMatch(/0\.pattern: Invalid regular expression/);
    expect((await run(['predict', entityModel, '--rules', 'missing.json', 'x'])).stderr).toMatch(
      /--rules missing\.json: no such file/,
    );
  });

  it('redacts texts of standard input, each on its line', async () => {
    const input = 'Ada Lovelace lived in London.\nNobody did.\n';
    const all = await run(['redact', entityModel], { input });
    expect(all).toEqual({ exitCode: 0, stdout: '[PER] lived in [LOC].\nNobody did.\n', stderr: '' });
    const some = await run(['redact', entityModel, '--types', 'LOC', '--replacement', '***', '--json'], { input });
    expect(jsonLines(some.stdout)).toEqual([
      {
        line: 1,
        text: 'Ada Lovelace lived in ***.',
        entities: [expect.objectContaining({ type: 'LOC', text: 'London', start: 22, end: 28, replacement: '***' })],
      },
      { line: 2, text: 'Nobody did.', entities: [] },
    ]);
    expect((await run(['redact', entityModel, '--types', 'PERSON', 'Ada'])).stderr).toMatch(
      /^text 1: --types\.PERSON: .* no entity type "PERSON"/,
    );
    expect((await run(['predict', entityModel, '--none-of-these', 'Ada'])).stderr).toMatch(
      /^text 1: --none-of-these: the model has no threshold for --none-of-these: only classifiers/,
    );
  });
});

describe('orchard predict', () => {
  it('answers texts of the command line: label, score and text', async () => {
    const texts = ['Works perfectly!', 'It broke at once,\tand nobody helped.'];
    const { exitCode, stdout, stderr } = await run(['predict', model, ...texts]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^positive\t0\.9\d{3}\tWorks perfectly!\nnegative\t0\.\d{4}\tIt broke at once, and nobody/);
  });

  it('answers standard input; reports a bad line with its number and in its place, and goes on with the rest', async () => {
    const input = Buffer.concat([
      Buffer.from('Works perfectly!\n\n'),
      Buffer.from([0x62, 0xff, 0x0a]),
      Buffer.from('Awful.'),
    ]);
    const { exitCode, stdout, stderr } = await run(['predict', model, '--json'], { input });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^standard input line 3: found the byte 0xFF, which isn't UTF-8/);
    expect(jsonLines(stdout)).toEqual([
      expect.objectContaining({ line: 1, kind: 'labels', label: 'positive' }),
      { line: 3, error: expect.stringContaining("isn't UTF-8") },
      expect.objectContaining({ line: 4, label: 'negative' }),
    ]);
  });

  it('says on which line a text is too long to be asked', async () => {
    const { exitCode, stdout, stderr } = await run(['predict', model], {
      input: `fine\n${'long '.repeat(20_001)}\nfine\n`,
    });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^standard input line 2: .*100,000 UTF-16 code units/);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t')[2]),
    ).toEqual(['fine', undefined, 'fine']);
  });

  it('reads a column of a table, and writes CSV that reads back', async () => {
    const input = file('reviews.csv', 'id,review\n1,"Works, ""really"" well"\n2,Awful\n');
    const { exitCode, stdout } = await run([
      'predict',
      model,
      '-i',
      input,
      '--text-column',
      'review',
      '-f',
      'csv',
      '-k',
      '2',
    ]);
    expect(exitCode).toBe(0);
    const rows: Record<string, string>[] = parse(stdout, { columns: true });
    expect(rows.map(({ line, label }) => [line, label])).toEqual([
      ['2', 'positive'],
      ['2', 'negative'],
      ['3', 'negative'],
      ['3', 'positive'],
    ]);
    expect(rows[0]?.text).toBe('Works, "really" well');
    expect(Number(rows[0]?.score) + Number(rows[1]?.score)).toBeCloseTo(1, 6);
  });

  it('writes a line for each line that is read, an empty one where there is no text', async () => {
    const { exitCode, stdout } = await run(['predict', model], { input: 'Works perfectly!\n\n  \nAwful\n\n' });
    expect(exitCode).toBe(0);
    expect(stdout.split('\n').map((line) => line.split('\t')[0])).toEqual(['positive', '', '', 'negative', '']);
  });

  it('says how to read a file whose name is given as a text', async () => {
    const reviews = file('reviews.txt', 'Works perfectly!\n');
    const { exitCode, stderr } = await run(['predict', model, reviews, 'good']);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: `${reviews} is a file, but its name was used as a text; to read the file, use --input ${reviews}\n`,
    });
  });

  it('says that a blank text has no answer', async () => {
    const { exitCode, stdout, stderr } = await run(['predict', model, 'Works perfectly!', ' ']);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^positive.*\n\n$/);
    expect(stderr).toMatch(/text 2: the text is blank/);
  });

  it('reads a checkpoint as --aggregation says, and refuses --weights for a model folder', async () => {
    const folder = fileURLToPath(new URL('../api/recorded-checkpoints/bert-tokens', import.meta.url));
    const { texts } = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'));
    vi.stubEnv('ORCHARD_MODELS_DIRECTORY', temporaryDirectory());
    const asked = async (...flags: string[]) => (await run(['predict', folder, ...texts, ...flags])).stdout;
    expect(await asked('--aggregation', 'first')).not.toBe(await asked('--aggregation', 'simple'));
    vi.unstubAllEnvs();
    const refused = await run(['predict', model, 'good', '--weights', 'int8']);
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--weights') });
  });

  it('prints one line per text, also for a label with a line feed', async () => {
    const output = join(temporaryDirectory(), 'model');
    const rows = Array.from(
      { length: 24 },
      (_, at) => `it is ${at % 2 ? 'good' : 'bad'} ${at},${at % 2 ? '"po\ns"' : 'n'}`,
    );
    const data = file('rows.csv', `text,label\n${rows.join('\n')}\n`);
    const trained = await run(['train', data, '--language', 'german', '--epochs', '1', '--output', output]);
    expect(trained.exitCode).toBe(0);
    expect((await run(['predict', output, 'it is', '--top', '2'])).stdout).toMatch(/^.*po s\t.*\tit is\n$/);
    expect((await run(['evaluate', output, data])).stdout).toMatch(/^po s +[01]\.\d{4} /m);
  });

  it('refuses --top for a model of entities', async () => {
    const { exitCode, stderr } = await run(['predict', 'named-entity-recognition', 'Ada', '--top', '1']);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^orchard predict: named-entity-recognition finds entities; leave --top out\n/);
  });

  it('marks entities in their text', async () => {
    const { stdout } = await run(['predict', 'named-entity-recognition', 'Ada Lovelace never saw Vienna.']);
    expect(stdout).toBe('[Ada Lovelace PER] never saw [Vienna LOC].\n');
  });

  it.each([
    ['nothing at all', ''],
    ['blank lines alone', '\n  \n'],
  ])('of %s makes nothing, and is no failure', async (_, input) => {
    expect(await run(['predict', model], { input })).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });

  it.each([
    ['a file that is not there', ['--input', '/no/such/file'], /the input \/no\/such\/file: no such file or folder/],
    ['a folder', ['--input', '/'], /the input \/: it is a folder; give a file/],
  ])('of %s says so', async (_, args, message) => {
    const { exitCode, stderr } = await run(['predict', model, ...args]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(message) });
  });

  it.each([
    ['predict', model, 'csv'],
    ['redact', 'named-entity-recognition', 'text'],
  ])('refuses orchard %s %s --json with the format %s', async (command, name, format) => {
    const { exitCode, stderr } = await run([command, name, 'a text', '--json', '--format', format]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`--format: ${format} is not JSON; give jsonl, or leave out --json`);
  });

  it('draws its progress on standard error, only where that is a terminal and the answers go elsewhere', async () => {
    const input = file('texts.txt', 'Works perfectly!\n'.repeat(3));
    const drawn = await run(['predict', model, '-i', input], { terminals: ['stderr'] });
    expect(drawn.stderr).toMatch(/█.*\d % {2}\d texts?/);
    expect((await run(['predict', model, '-i', input])).stderr).toBe('');
    expect((await run(['predict', model, '-i', input], { terminals: ['stdout', 'stderr'] })).stderr).toBe('');
  });

  it('asks a person for texts', async () => {
    const { stderr } = await run(['predict', model], {
      input: 'Fine.\n',
      terminals: ['stdin', 'stdout', 'stderr'],
    });
    expect(stderr).toBe('Type one text per line; press Ctrl+D to end.\n');
  });

  it('ends with success when the reader has gone, as with | head, and reads no more', async () => {
    const { child, ended, stderr } = start(['predict', model]);
    const poured = pour(child.stdin, 'Works perfectly!\n'.repeat(64), 2 ** 30);
    const [first] = await once(createInterface(child.stdout), 'line');
    child.stdout.destroy();
    expect(first).toMatch(/^positive/);
    expect(await ended).toEqual({ exitCode: 0, signal: null });
    expect(await stderr).toBe('');
    expect(await poured).toBeLessThan(2 ** 24);
  });

  it('answers each line as it comes, while standard input stays open', async () => {
    const { child, ended } = start(['predict', model]);
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    for (const text of ['Works perfectly!', 'Awful.']) {
      child.stdin.write(`${text}\n`);
      expect((await lines.next()).value).toContain(text);
    }
    child.stdin.end();
    expect(await ended).toEqual({ exitCode: 0, signal: null });
  });
});

describe('orchard search', () => {
  it('reports a passage that it cannot read, searches the others, and fails', async () => {
    const bad = Buffer.from([0x62, 0xff, 0x0a]);
    const passages = file('passages.txt', Buffer.concat([Buffer.from('The library closes at nine.\n'), bad]));
    const { exitCode, stdout, stderr } = await run(['search', passages, 'When does the library close?']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/passages\.txt line 2: found the byte 0xFF/);
    expect(stdout).toMatch(/^0\.\d{4}\tThe library closes at nine\.\n$/);
  });
});

describe('orchard explain', () => {
  const text = 'Slow delivery, but it works perfectly.';

  it('gives each word of the text what it adds to the answer', async () => {
    const { exitCode, stdout, stderr } = await run(['explain', model, text]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^(positive|negative)\t0\.\d{4}\tSlow\([+-]\d+\.\d\d\) delivery/);
    expect(stdout.replaceAll(/\([+-]\d+\.\d\d\)/g, '')).toContain(text);
    const [json] = jsonLines((await run(['explain', model, text, '--json'])).stdout);
    expect(json).toMatchObject({
      line: 1,
      text,
      answer: { kind: 'labels' },
      explained: [{ words: expect.any(Array) }],
    });
  });

  it('says which labels there are, for one that is not', async () => {
    const { exitCode, stderr } = await run(['explain', model, text, '--label', 'great']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^text 1: --label: .*great/);
  });

  it('refuses a label for a model that gives none', async () => {
    const { exitCode, stderr } = await run(['explain', 'named-entity-recognition', text, '--label', 'PER']);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^orchard explain: named-entity-recognition is not a classifier; leave --label out\n/);
  });
});

describe('orchard evaluate', () => {
  it('prints figures per class and intervals, and as JSON what the library tells', async () => {
    const rows = file('test.csv', 'text,label\nWorks perfectly!,positive\nAwful.,negative\nI love it,negative\n');
    const { exitCode, stdout, stderr } = await run(['evaluate', model, rows]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^ +precision +recall +f1 +support\n/);
    // Two of three are right: positive has precision 1/2 and recall 1, negative the other way round.
    expect(stdout).toMatch(/^negative +1\.0000 +0\.5000 +0\.6667 +2$/m);
    expect(stdout).toMatch(/^positive +0\.5000 +1\.0000 +0\.6667 +1$/m);
    expect(stdout).toMatch(/^accuracy +0\.6667 +0\.\d{4} to 1\.0000 at 95 %$/m);
    expect(stdout).toMatch(/^1 × +negative +predicted as positive$/m);
    const [json] = jsonLines((await run(['evaluate', model, rows, '--json'])).stdout);
    expect(json).toMatchObject({ kind: 'labels', rows: 3, accuracy: 2 / 3 });
  });

  it('names the lines that it cannot score', async () => {
    const rows = file('test.csv', 'text,label\nWorks perfectly!,positive\na,b,c\n');
    const { exitCode, stderr } = await run(['evaluate', model, rows]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^test\.csv line 3: found 3 columns/);
  });

  it('writes a page about it', async () => {
    const rows = file('test.csv', 'text,label\nWorks perfectly!,positive\nAwful.,negative\n');
    const report = join(temporaryDirectory(), 'report.html');
    expect((await run(['evaluate', model, rows, '--report', report])).exitCode).toBe(0);
    expect(readFileSync(report, 'utf8')).toMatch(/^<!doctype html>/i);
  });
});

describe('orchard train', () => {
  const csv = () => {
    const rows = Array.from(
      { length: 24 },
      (_, row) => `it is ${row % 2 ? 'good' : 'bad'} ${row},${row % 2 ? 'yes' : 'no'}`,
    );
    return file('opinions.csv', `text,label\n${rows.join('\n')}\n`);
  };

  it('names the lines of rows that it cannot train on, with the exit code 1', async () => {
    const data = file('bad.csv', 'text,label\none,a\ntwo,b,c\n');
    const { exitCode, stdout, stderr } = await run(['train', data]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^bad\.csv line 3: found 3 columns/);
  });

  it('stops at SIGINT with the exit code 130, and leaves nothing behind', async () => {
    const home = join(temporaryDirectory(), 'temporary');
    mkdirSync(home);
    const output = join(temporaryDirectory(), 'model');
    const args = ['train', csv(), '--output', output, '--epochs', '500'];
    const { child, ended } = start(args, { ...process.env, TMPDIR: home });
    while (readdirSync(home).length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
    child.kill('SIGINT');
    expect(await ended).toEqual({ exitCode: 130, signal: null });
    expect(existsSync(output)).toBe(false);
    expect(readdirSync(home)).toEqual([]);
  });
});
