import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { run } from './run-command.js';

/** `orchard archive`, and `orchard train` on what it made. */

it('orchard train trains on an archive that orchard archive made', async () => {
  const folder = temporaryDirectory();
  const [rows, zip, model] = [join(folder, 'rows.csv'), join(folder, 'rows.zip'), join(folder, 'model')];
  const texts = Array.from(
    { length: 24 },
    (_, row) => `text ${row} ${row % 2 ? 'good' : 'bad'},${row % 2 ? 'a' : 'b'}`,
  );
  writeFileSync(rows, `text,label\n${texts.join('\n')}\n`);
  const archived = await run(['archive', rows, '--type', 'binary-text-classification', '--output', zip]);
  expect(archived).toMatchObject({ exitCode: 0 });
  const options = ['--language', 'german', '--epochs', '1', '--output', model, '--json'];
  const trained = await run(['train', zip, ...options]);
  expect(trained).toMatchObject({ exitCode: 0 });
  expect(JSON.parse(trained.stdout)).toMatchObject({ type: 'binary-text-classification' });
  const byUrl = await run(['train', pathToFileURL(zip).href, ...options]);
  expect(byUrl).toMatchObject({ exitCode: 0 });
  expect(JSON.parse(byUrl.stdout)).toMatchObject({ name: 'rows', type: 'binary-text-classification' });
  const named = await run(['train', zip, ...options, '--label-column', 'label']);
  expect(named.stderr).toMatch(/--label-column: an archive has its own; leave --label-column out/);
  const validated = await run(['cross-validate', zip]);
  expect(validated.stderr).toMatch(/rows\.zip: found a zip archive; .*unzip it and give the file of rows in it/);
});

it('orchard archive refuses a share to set aside next to rows that are set aside', async () => {
  const rows = join(temporaryDirectory(), 'rows.csv');
  writeFileSync(rows, 'text,label\na,x\nb,y\n');
  const args = ['archive', rows, '--type', 'binary-text-classification', '--dev', rows, '--dev-fraction', '0.2'];
  const { exitCode, stderr } = await run(args);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('--dev-fraction: has no effect with --dev; leave one of them out');
});

it('orchard archive refuses the name of a column that the rows of the type do not have', async () => {
  const { exitCode, stderr } = await run(['archive', 'x.conll', '--type', 'sequence-labeling', '--text-column', 'a']);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/^orchard archive: --text-column: does not apply to sequence-labeling; leave it out\n/);
});
