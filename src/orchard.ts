#!/usr/bin/env node
/** The command `orchard`: serves models over HTTP, and makes the keys for it. */
import { orchard } from './http/index.js';

await orchard(process.argv.slice(2));
