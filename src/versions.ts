import packageJson from '../package.json' with { type: 'json' };

/** What a training runs on, by name; kept with the model. */
export const runtimeVersions = (): Record<string, string> => ({
  'orchard-nlp': packageJson.version,
  node: process.versions.node,
  platform: `${process.platform} ${process.arch}`,
});
