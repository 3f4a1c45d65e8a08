import { loadModel, orThrow, search, train } from 'orchard-nlp';

const praise = [
  ...['音がとてもきれいです', '届くのが早くて助かりました', '使いやすくて気に入っています'],
  ...['値段のわりに質がいい', '店員さんが親切でした', 'また買いたいです'],
];
const blame = [
  ...['すぐに壊れました', '音が割れて聞き取れません', '説明書が分かりにくい'],
  ...['届くのが遅すぎます', '値段が高すぎる', '問い合わせても返事がありません'],
];
const rows = [...praise.map((text) => ({ text, label: '満足' })), ...blame.map((text) => ({ text, label: '不満' }))];

await using reviews = await orThrow(train({ rows, language: 'japanese', output: './reviews' }));
const { label, score } = await orThrow(reviews.predict('音がきれいで気に入りました'));
console.log(label, score.toFixed(2));

await using requests = await orThrow(loadModel('conversational-language-understanding-japanese'));
const request = await orThrow(requests.predict('明日の朝六時に起こして'));
console.log(request.label);

const passages = [
  '図書館は平日の午前九時に開きます。',
  '印刷は一枚十五円です。',
  '会員証をなくしたら、受付へお越しください。',
];
await using index = await orThrow(search(passages, { model: 'japanese-mini' }));
const [best] = await orThrow(index.search('印刷はいくらですか'));
console.log(best && passages[best.index]);
