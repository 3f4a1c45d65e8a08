import { mkdtempSync, rmSync } from 'node:fs';
import { writeManyJobs } from './many-jobs.js';

const directory = mkdtempSync(`${process.argv[2]}/orchard-`);
let t = performance.now();
writeManyJobs(directory, { count: 100000, spacingMs: 300000, waiting: 10, isOld: false });
console.log('fill', performance.now() - t);
t = performance.now();
rmSync(directory, { recursive: true });
console.log('rm', performance.now() - t);
