/**
 * Writes api/, the public names with their signatures, from the declarations in dist/: one file for each entry of
 * package.json's exports. With --check it writes nothing there, and fails with the difference where a file is stale.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const reports = join(root, 'api');
/** Where the current reports lie for comparison. */
const current = join(root, 'node_modules/.cache/api');
const check = process.argv.includes('--check');
const silent = { default: { logLevel: 'none' } };

if (!check) rmSync(reports, { recursive: true, force: true });
for (const folder of [reports, current]) mkdirSync(folder, { recursive: true });
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const declarations = Object.values(exports).flatMap(({ types }) => (types === undefined ? [] : [types]));
const present = readdirSync(reports);
const stale = declarations.map(report).filter((file) => file !== undefined);
stale.push(...present.filter((file) => !declarations.some((types) => file === reportOf(types))));
if (check && stale.length > 0) {
  for (const file of stale.filter((each) => present.includes(each))) {
    const compared = ['diff', '--no-index', join(reports, file), join(current, file)];
    spawnSync('git', compared, { cwd: root, stdio: 'inherit' });
  }
  console.error(`the public API is not that of api/: ${stale.join(', ')}. Where that is meant: npm run api`);
  process.exitCode = 1;
}

/** @returns the report's file name where it was stale. */
function report(types) {
  const configObject = {
    projectFolder: root,
    mainEntryPointFilePath: join(root, types),
    compiler: { tsconfigFilePath: join(root, 'tsconfig.json') },
    apiReport: {
      enabled: true,
      reportFileName: reportOf(types),
      reportFolder: reports,
      reportTempFolder: current,
      // A type that only others' signatures name is a part of them.
      includeForgottenExports: true,
    },
    messages: {
      compilerMessageReporting: silent,
      extractorMessageReporting: silent,
      tsdocMessageReporting: silent,
    },
  };
  const packageJsonFullPath = join(root, 'package.json');
  const config = ExtractorConfig.prepare({ configObject, packageJsonFullPath });
  const { apiReportChanged } = Extractor.invoke(config, {
    localBuild: !check,
    messageCallback: (message) => {
      message.handled = true;
    },
  });
  return apiReportChanged ? reportOf(types) : undefined;
}

/** File name of an entry's report. */
function reportOf(types) {
  return `${basename(types, '.d.ts')}.api.md`;
}
