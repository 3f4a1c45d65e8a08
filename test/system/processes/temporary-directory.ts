import { writeSync } from 'node:fs';
import { TemporaryDirectory } from '../../../src/system/index.js';

/** Makes a temporary directory, says so, and waits to be killed. */

await new TemporaryDirectory().path();
writeSync(1, 'made');
setInterval(() => undefined, 1000);
