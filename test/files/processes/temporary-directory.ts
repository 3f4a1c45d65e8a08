/** Makes a temporary directory, says so, and waits to be killed. */
import { writeSync } from 'node:fs';
import { TemporaryDirectory } from '../../../src/files/index.js';

await new TemporaryDirectory().path();
writeSync(1, 'made');
setInterval(() => undefined, 1000);
