import { describe, expect, it } from 'vitest';
import { languageCode, modelCard, reportFiles } from '../../src/report/index.js';
import { aReport, aTagger } from './a-report.js';

/** The cells of each row below a table's header. */
function tableUnder(card: string, header: string): string[][] {
  const lines = card.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${header} |`));
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('the model card', () => {
  it('begins with what the Hub reads, and leaves the licence to the publisher', () => {
    const [, frontMatter] = modelCard(aReport()).split('---\n');
    expect(frontMatter?.split('\n').slice(0, 5)).toEqual([
      'license: other',
      'language: "en"',
      'library_name: orchard-nlp',
      'pipeline_tag: text-classification',
      'tags:',
    ]);
  });

  it('names the model of the Hub that it was fine-tuned from, and no folder', () => {
    const cardFrom = (name: string) => {
      const report = aReport();
      return modelCard({ ...report, training: { ...report.training, backbone: { name } } });
    };
    expect(cardFrom('owner/tiny@v1')).toContain('\nbase_model: owner/tiny\n');
    expect(cardFrom('owner/tiny')).toContain('from the backbone owner/tiny');
    expect(cardFrom('tiny')).not.toContain('base_model');
  });

  it('says how other libraries show capitals to an encoder that reads them by token types', () => {
    const report = aReport({ model: aTagger });
    const orchard = { ...report.config.orchard, token_types: 'capitals' } as const;
    const card = modelCard({ ...report, config: { ...report.config, orchard } });
    expect(card).toContain('`token_type_ids`: 1 for each piece with a capital letter');
    expect(modelCard(report)).not.toContain('token_type_ids');
  });

  it.each([
    ['int8', 'Orchard answers with 8-bit weights (`onnx/model_quantized.onnx`): the main figure is 89.8 %'],
    ['float32', 'Orchard answers with float32 weights: the main figure is 90.0 %'],
  ] as const)('says that it answers in %s, and what either reaches', (answers, sentence) => {
    const precision = { float32: 0.9, int8: 0.898, answers };
    expect(modelCard(aReport({ training: { precision } }))).toContain(sentence);
    expect(modelCard(aReport())).not.toContain('8-bit');
  });

  it('gives the figures of each part and the split they were measured on', () => {
    const card = modelCard(aReport());
    expect(card).toContain('Split: dev, 16 rows.');
    expect(tableUnder(card, 'dev')).toEqual([
      ['Encoder alone', '81.3 %', '70.0 %', '0.050'],
      ['Lexical expert alone', '84.0 %', '80.0 %', '0.060'],
      ['Blend of both', '87.5 %', '85.0 %', '0.025'],
    ]);
  });

  it('keeps its tables whole whatever a label is', () => {
    const label = 'a|b\\|\n<script> `c` *d*';
    const classes = [{ label, precision: 1, recall: 0.5, f1: 0.667, support: 2 }];
    const card = modelCard(aReport({ evaluation: { classes } }));
    expect(tableUnder(card, 'label')).toEqual([
      ['a\\|b\\\\\\| \\<script\\> \\`c\\` \\*d\\*', '100.0 %', '50.0 %', '66.7 %', '2'],
    ]);
  });

  it('lists labels without figures if nothing was evaluated', () => {
    expect(modelCard(aReport({ evaluation: null }))).toContain('## Labels\n\ngood, bad, mixed\n');
  });

  it('names entity types, not their tags', () => {
    const labels = ['O', 'B-PER', 'I-PER', 'B-LOC'];
    expect(modelCard(aReport({ labels, model: aTagger, evaluation: null }))).toContain('## Entity types\n\nPER, LOC\n');
    const classes = [{ label: 'PER', precision: 1, recall: 0.5, f1: 0.667, support: 2 }];
    const card = modelCard(aReport({ labels, model: aTagger, evaluation: { classes } }));
    expect(tableUnder(card, 'entity type')).toEqual([['PER', '100.0 %', '50.0 %', '66.7 %', '2']]);
    expect(card).not.toContain('B-PER');
  });

  it.each([
    ['multilabel-text-classification', 'Papaya', "pipeline('text-classification'"],
    ['named-entity-recognition', 'Grapefruit', "pipeline('token-classification'"],
    ['question-answering', 'Dragonfruit', 'SentenceTransformer('],
  ] as const)('shows how other libraries load a %s model', (type, family, call) => {
    expect(modelCard(aReport({ model: { type, family } }))).toContain(call);
  });

  it('loads the folder with Orchard, and gives a model of pairs a pair', () => {
    const report = aReport();
    expect(modelCard(report)).toContain(
      "loadModel('<this folder>'));\nconsole.log(await orThrow(model.predict('A text.')));",
    );
    const orchard = { ...report.config.orchard, parts: 'pair' } as const;
    const ofPairs = modelCard({ ...report, config: { ...report.config, orchard } });
    expect(ofPairs).toContain("model.predict({ text: 'A text.', text2: 'Another.' })");
  });

  it('says of a model without rows that it has seen no examples', () => {
    const dataset = { train_rows: 0, dev_rows: 0 };
    const card = modelCard(aReport({ training: { dataset } }));
    expect(card).toContain('- It has seen no examples');
    expect(card).not.toMatch(/was trained on|what its dataset says/);
    expect(modelCard(aReport())).toContain('- It learned what its dataset says');
  });

  it('warns about labels that no dev row has', () => {
    const classes = [{ label: 'rare', precision: 0, recall: 0, f1: 0, support: 0 }];
    expect(modelCard(aReport({ evaluation: { classes } }))).toContain('1 label has no dev row');
    const training = { dataset: { train_rows: 9, dev_rows: 0, folds: 8, judged_rows: 8 } };
    expect(modelCard(aReport({ evaluation: { classes }, training }))).toContain('1 label has no cross-validated row');
    expect(modelCard(aReport())).not.toContain('no dev row');
  });
});

describe('reportFiles', () => {
  it('are the card and, if a model was evaluated, its evaluation', () => {
    const report = aReport();
    const files = reportFiles(report);
    expect(files.get('README.md')).toBe(modelCard(report));
    expect(JSON.parse(files.get('evaluation.json') ?? '')).toEqual(report.evaluation);
    expect([...reportFiles(aReport({ evaluation: null })).keys()]).toEqual(['README.md']);
  });
});

describe('languageCode', () => {
  it.each([
    ['english', 'en'],
    ['Japanese', 'ja'],
    ['norwegian', 'no'],
    ['hebrew', 'he'],
    ['DE', 'de'],
    ['klingon-ish', undefined],
    ['', undefined],
  ])('of %j is %j', (language, code) => expect(languageCode(language)).toBe(code));
});
