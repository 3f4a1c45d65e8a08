import { newestAbstracts, readPapers, titlesAsQuestions } from '../datasets/abstracts.js';
import { claimlessAbstracts } from '../datasets/claimless-abstracts.js';
import { questions, searchTest } from '../datasets/published.js';
import type { SearchRecipe } from '../recipe.js';

/** As many abstracts as fit in 9 MB: the text, vectors and postings of one take about 2.6 kB. */
const SHIPPED_ABSTRACTS = 3600;

export const researchPapersSearch: SearchRecipe = {
  name: 'research-papers-search',
  job: 'research-papers-search',
  family: 'Dragonfruit',
  language: 'english',
  training: { num_epochs: 2 },
  does: 'Answers a question with the ten abstracts of research papers on language technology that fit it best.',
  example: 'How can a small model learn from a large one?',
  notes: [
    'A passage is a title, the abstract (cut at 1,200 characters) and the address of the paper. The passages are the newest papers, as many as the size of the package allows.',
    'It was trained to find the abstract that belongs to a title or a conclusion, and the abstracts that bear on a claim. The test on SciFact searches the abstracts of SciFact; the model itself contains none of them.',
    'To search your own passages, train a model on them: the passages above are part of this model.',
  ],
  sources: [
    {
      title: 'ACL Anthology, titles and abstracts of 2016 to 2021',
      licence: 'CC BY 4.0',
      remark: 'the title is the question, the abstract the answer; every eighth paper, and every fiftieth for dev',
      read: (datasets) => titlesAsQuestions(readPapers(datasets)),
    },
    {
      title: 'SciFact, titles and last sentences of the abstracts that no claim of train, dev or test is about',
      licence: 'ODC-By 1.0',
      remark: 'each is a question that the rest of its abstract answers',
      read: claimlessAbstracts,
    },
    {
      title: 'SciFact, train (Wadden et al. 2020; judgements of BEIR)',
      licence: 'claims CC BY 4.0, abstracts ODC-By 1.0',
      read: (datasets) => questions('scifact', datasets),
    },
  ],
  tests: [
    {
      title: 'SciFact, test, over its 5,183 abstracts',
      references: [
        { figure: 'BM25 0.665, DPR 0.318', from: 'Thakur et al. 2021 (BEIR)' },
        { figure: 'all-MiniLM-L6-v2 0.645', from: 'MTEB' },
      ],
      read: searchTest('scifact'),
    },
  ],
  passages: {
    title: 'ACL Anthology, abstracts',
    licence: 'CC BY 4.0',
    notice: `passages.json holds titles and abstracts of papers in the ACL Anthology (https://aclanthology.org), by
their authors, each named at the address that ends its passage. They are licensed under the Creative
Commons Attribution 4.0 International Licence (https://creativecommons.org/licenses/by/4.0/).

Changes: white space was unified, and abstracts longer than 1,200 characters were cut.
`,
    read: (datasets) => newestAbstracts(readPapers(datasets), SHIPPED_ABSTRACTS),
  },
  weaknesses: [
    'It knows only papers on language technology from 2021; even a question about physics is answered with the nearest of these abstracts.',
    'The scores say which abstract answers the question if one of them does, not whether any does.',
    'It compares topics. Whether a paper contradicts the question or has other numbers makes no difference to it.',
    'The encoder reads only the beginning of a long question or abstract; the words after it count only for BM25.',
  ],
};
