import { readFileSync } from 'node:fs';
import { checkData, embed, train } from 'orchard-nlp';
import { describe, expect, it } from 'vitest';
import { loadTokenizer } from '../../src/text/index.js';
import { unfamiliarTexts } from '../../src/training/known-texts.js';
import { atOnce } from '../support/at-once.js';

const warningOf = atOnce(unfamiliarTexts);
const tokenizerOf = (name: string) =>
  loadTokenizer(JSON.parse(readFileSync(`models/backbones/${name}/tokenizer.json`, 'utf8')));
const english = tokenizerOf('english-mini');
const warningFor = (texts: readonly string[], tokenizer = english) =>
  warningOf(texts, { encoder: 'the backbone', tokenizer, advice: 'take another' })?.message;

/** Two sentences of each, which many languages' owners could write about an order. */
const foreign = {
  German:
    'Der Akku hält leider nur zwei Stunden, und das Ladegerät wird heiß. Ich möchte mein Geld zurück, denn die Lieferung war beschädigt.',
  French:
    'La batterie ne tient malheureusement que deux heures et le chargeur chauffe. Pourriez-vous me renvoyer la facture, s’il vous plaît ?',
  Hindi:
    'बैटरी केवल दो घंटे चलती है और चार्जर गर्म हो जाता है। मुझे अपना पैसा वापस चाहिए, पैकेट टूटा हुआ था। कृपया बिल फिर से भेज दीजिए।',
  Arabic:
    'البطارية تدوم ساعتين فقط والشاحن يسخن. أريد استرداد أموالي لأن الطرد كان تالفا عند وصوله أمس. جودة ممتازة وأنصح به كل الناس',
  Georgian: 'ბატარეა მხოლოდ ორ საათს ძლებს, თანხის დაბრუნება მინდა',
  Thai: 'แบตเตอรี่อยู่ได้แค่สองชั่วโมง ฉันต้องการเงินคืน',
  Amharic: 'ባትሪው ሁለት ሰዓት ብቻ ይቆያል ገንዘቤ እንዲመለስ እፈልጋለሁ',
  emoji: '😡😡😡 😍❤️ 🤮😠',
};
const familiar = {
  English:
    'The battery lasts two hours at best, and the charger gets hot. I want my money back because the parcel was damaged.',
  tweets:
    '@anna_k92 cant believe $TSLA is up 4% again lol https://t.co/x1Yz #stocks #tothemoon why is everyone so hyped about this one',
  errors:
    'TypeError: cannot read properties of undefined (reading "length") at parseRow src/csv.ts:41:12 npm ERR! code ERESOLVE could not resolve dependency tree',
};

describe('texts that a backbone hardly knows', () => {
  it.each(Object.entries(foreign))('%s: are warned about, with what to do', (_, text) => {
    expect(warningFor([text])).toMatch(/% of the tokens|into \d\.\d tokens/);
    expect(warningFor([text])).toMatch(/; take another$/);
  });

  it.each(Object.entries(familiar))('%s: are not', (_, text) => {
    expect(warningFor([text])).toBeUndefined();
  });

  it('counts tokens for each word in scripts with spaces only', () => {
    const japanese = tokenizerOf('japanese-mini');
    expect(warningFor(['明日の朝七時に目覚ましをかけて', '東京の天気はどうですか'], japanese)).toBeUndefined();
  });

  it.each(['Georgian', 'Thai', 'Amharic', 'emoji'] as const)('%s: are trained on, fine-tuned too', async (name) => {
    const words = foreign[name].split(' ');
    const rows = Array.from({ length: 24 }, (_, row) => ({
      text: `${words[row % words.length]} ${words[0]}${'!'.repeat(1 + (row >> 1))}`,
      label: row % 2 === 0 ? 'a' : 'b',
    }));
    for (const options of [{}, { epochs: 1 }]) {
      const trained = await train({ rows, threads: 1, ...options });
      if (trained.isErr()) throw trained.error;
      const { warnings } = trained.value.training;
      const message = expect.stringContaining('multilingual');
      expect(warnings).toContainEqual(expect.objectContaining({ kind: 'unfamiliar_text', message }));
      await trained.value.close();
    }
  });

  it('are told of by `checkData`, whose encoder judges their labels', async () => {
    const words = foreign.Georgian.split(' ');
    const rows = Array.from({ length: 24 }, (_, row) => ({
      text: `${words[row % words.length]} ${row}`,
      label: row % 2 === 0 ? 'a' : 'b',
    }));
    const kinds = async (given: typeof rows) =>
      (await checkData({ rows: given }))._unsafeUnwrap().warnings.map(({ kind, message }) => [kind, message]);
    const advice = expect.stringMatching(/^the encoder english-mini, which judged the labels, .* with `model`$/);
    expect(await kinds(rows)).toContainEqual(['unfamiliar_text', advice]);
    expect(await kinds(rows.map((row, at) => ({ ...row, text: `a plain text of ${at}` })))).toEqual([]);
  });

  it('have no vectors: those of different texts would all be the same', async () => {
    const refused = await embed(['😡😡😡', '😍❤️']);
    expect(refused.isErr() && refused.error.message).toContain('texts.1: english-mini knows no word of this text');
    for (const texts of [['😡'], ['Hello', 'hello '], ['😡', 'fine']]) expect((await embed(texts)).isOk()).toBe(true);
  });
});
