#!/usr/bin/env node
/** The command `orchard`: serves models over HTTP, and makes the keys for it. */
import { newKeyCommand, serveCommand, USAGE } from './http/index.js';

const [command, ...args] = process.argv.slice(2);
if (command === 'serve') await serveCommand(args);
else if (command === 'new-key') await newKeyCommand(args);
else {
  console.error(USAGE);
  process.exitCode = 2;
}
