#!/usr/bin/env node
import { orchard } from './cli/index.js';

/** The command `orchard`: trains models, asks them and serves them. */

process.exitCode = await orchard(process.argv.slice(2));
