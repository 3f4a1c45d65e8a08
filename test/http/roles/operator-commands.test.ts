import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { postgresStorage } from '../../../src/postgres/index.js';
import { describeWithPostgres, PASSWORD } from '../../postgres/private-server.js';
import { aReadyModelIn } from '../../support/ready-model.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

/** What an operator does on the command line to the accounts of a database. */

const command = fileURLToPath(new URL('../../../dist/orchard.js', import.meta.url));

describeWithPostgres('orchard erase and orchard unused on a database', (server) => {
  async function run(args: readonly string[], environment: Record<string, string> = {}) {
    const env = { ...process.env, ...environment };
    const options = { env, cwd: temporaryDirectory() };
    const failure = (thrown: { readonly stderr?: string }) => ({ stdout: '', stderr: String(thrown.stderr) });
    return promisify(execFile)(process.execPath, [command, ...args], options).catch(failure);
  }

  /** A schema with one READY model of the account `acme`. */
  async function aSchemaWithAModel(): Promise<string> {
    const schema = server.newSchema();
    const storage = postgresStorage(server.connectionString, { schema });
    await aReadyModelIn(storage, 'acme');
    await storage.close();
    return schema;
  }

  it('find what there is, and erase it', async () => {
    const place = ['--database', server.connectionString, '--schema', await aSchemaWithAModel()];
    expect((await run(['unused', ...place])).stdout).toMatch(/no model has been unused/);
    const { stdout } = await run(['erase', 'acme', '--yes', ...place]);
    expect(stdout).toMatch(/^acme: erased 1 job and its model, 1 folder with [\d,]+ bytes/);
    expect((await run(['erase', 'acme', '--yes', ...place])).stdout).toMatch(/^acme: erased 0 jobs/);
  });

  it('ask by no name that tells the password', async () => {
    const schema = await aSchemaWithAModel();
    const { stderr } = await run(['erase', 'acme', '--database', server.connectionString, '--schema', schema]);
    expect(stderr).toContain(`removes all data of acme in the schema ${schema} of the database`);
    expect(stderr).not.toContain(PASSWORD);
  });

  it('take the database of the environment, but for a folder that is named', async () => {
    const schema = await aSchemaWithAModel();
    const environment = { ORCHARD_DATABASE: server.connectionString };
    const folder = temporaryDirectory();
    const named = await run(['erase', 'acme', '--yes', '--data', folder], environment);
    expect(named.stderr).toContain(`${folder} contains no jobs or models`);
    const { stdout } = await run(['erase', 'acme', '--yes', '--schema', schema], environment);
    expect(stdout).toMatch(/^acme: erased 1 job /);
  });

  it('say where no database answers, without the password', async () => {
    const away = `postgres://orchard:${PASSWORD}@127.0.0.1:1/name`;
    const { stderr } = await run(['erase', 'acme', '--yes', '--database', away]);
    expect(stderr).toMatch(/the database 127\.0\.0\.1:1\/name can't be opened: .*ECONNREFUSED/);
    expect(stderr).not.toContain(PASSWORD);
  });
});
