import packageJson from '../package.json' with { type: 'json' };

/** Versions of the software that a training runs on, by name; stored with the model. */
export const runtimeVersions = (): Record<string, string> => ({
  'orchard-nlp': packageJson.version,
  node: process.versions.node,
  platform: `${process.platform} ${process.arch}`,
});
