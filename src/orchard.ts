#!/usr/bin/env node
/** The command `orchard`: trains models, asks them and serves them. */
import { orchard } from './cli/index.js';

process.exitCode = await orchard(process.argv.slice(2));
