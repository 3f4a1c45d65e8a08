/** Every guide by its file's name, below the headings of the site's menu, in their order. */
export const GUIDES = {
  'First steps': ['install', 'front-door', 'cli', 'examples', 'bundlers', 'dev-servers'],
  'Train models': [
    'files',
    'archives',
    'training',
    'data-checks',
    'tuning',
    'drift',
    'backbones',
    'lexical',
    'entities',
    'retrieval',
    'accuracy',
    'time-to-accuracy',
  ],
  'Ask models': ['pretrained', 'README', 'inference', 'search', 'explanations', 'reports', 'model-folder', 'devices'],
  'Serve many': ['service', 'http', 'versions', 'postgres', 'postgres-queue', 'scaling', 'threat-model', 'SECURITY'],
  'How it is made': ['house', 'engine', 'decisions', 'dependencies', 'CONTRIBUTING', 'CHANGELOG'],
};
