/** Texts to try pretrained models on, by their names. */
const ofModels: Readonly<Record<string, readonly string[]>> = {
  'sentiment-classification': [
    'A warm, funny and quietly moving film.',
    'The plot is thin, but the actors are wonderful.',
  ],
  'emotion-detection': ['I can’t believe you did that for me, thank you!', 'Leave me alone.'],
  'customer-review': ['The battery lasts for days.', 'It broke after a week and nobody answers.'],
  'toxicity-detection': ['You are a wonderful person.', 'Shut up, you idiot.'],
  'news-classification': [
    'The central bank raises interest rates again.',
    'The striker scored twice in the final minutes.',
  ],
  'financial-sentiment-analysis': ['Shares fall as profits miss expectations.', 'Revenue doubles in a year.'],
  'financial-customer-support': ['My card still hasn’t arrived.', 'Why was I charged twice for one payment?'],
  'named-entity-recognition': [
    'Angela Merkel met the head of Siemens in Berlin.',
    'Apple opens a shop in Paris.',
  ],
  'research-papers-search': [
    'How can machine translation handle rare words?',
    'detecting sarcasm in short messages',
  ],
  'conversational-language-understanding-english': ['Wake me up at seven tomorrow.', 'Play some jazz.'],
  'conversational-language-understanding-japanese': ['明日の朝七時に起こして', 'ジャズをかけて'],
};

/** @param model its path below /predictor/language. */
export function exampleQueries(model: string): readonly string[] {
  return ofModels[model.replace('pre-trained/', '')] ?? [];
}
