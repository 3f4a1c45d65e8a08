/**
 * Records the session that README's picture shows: the commands of its block for the shell that trains, predicts and
 * evaluates, as they stand there, in an empty folder with this build and the reviews of examples/. Then draws it.
 * The result is docs/pictures/session.json, two pictures beside it, and the alternative text in README.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { alternativeOf } from './alternative.mjs';
import { writePictures } from './draw.mjs';
import { shownCommands } from './shown-commands.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const reviews = join(root, 'examples', 'customer-reviews');
const labels = JSON.parse(readFileSync(join(reviews, 'label_id.json'), 'utf8'));

/** Rows of the example as anybody's file of reviews has them. */
function asCsv(file) {
  const [, ...lines] = readFileSync(join(reviews, file), 'utf8').trimEnd().split('\n');
  const rows = lines.map((line) => {
    const [text = '', id = ''] = line.split('\t');
    return `"${text.replaceAll('"', '""')}",${labels[id]}`;
  });
  return `text,label\n${rows.join('\n')}\n`;
}

const folder = mkdtempSync(join(tmpdir(), 'orchard-picture-'));
try {
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  writeFileSync(join(folder, 'reviews.csv'), asCsv('train.tsv'));
  writeFileSync(join(folder, 'test.csv'), asCsv('dev.tsv'));
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  symlinkSync(root, join(modules, 'orchard-nlp'), 'junction');
  symlinkSync(join(root, 'dist', 'orchard.js'), join(modules, '.bin', 'orchard'));
  // What npm itself has to say is no part of the session.
  const env = { ...process.env, npm_config_loglevel: 'silent', NO_COLOR: '1' };
  const session = shownCommands(readFileSync(join(root, 'README.md'), 'utf8')).map((command) => {
    const printed = execFileSync('bash', ['-c', `${command} 2>&1`], { cwd: folder, env, encoding: 'utf8' });
    return { command, lines: printed.trimEnd().split('\n') };
  });
  const pictures = join(root, 'docs', 'pictures');
  writeFileSync(join(pictures, 'session.json'), `${JSON.stringify(session, undefined, 2)}\n`);
  writePictures(pictures);
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const said = readme.replace(
    /(session-light\.svg" width="\d+" alt=")[^"]*"/,
    (_, before) => `${before}${alternativeOf(session)}"`,
  );
  writeFileSync(join(root, 'README.md'), said);
} finally {
  rmSync(folder, { recursive: true });
}
