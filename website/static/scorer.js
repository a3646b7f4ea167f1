// The order of search results: pages that explain come before lists that mention a word.
const LISTS = /^(bibliography|changelog|contributing|errata|sources|licence|security|genindex|benchmarks\/|source_files\/)/;
const EXPLANATIONS = /^(guide\/|howto\/|tour$|reference\/)/;
var Scorer = {
  score: ([page, , , , score]) => score + (LISTS.test(page) ? -12 : EXPLANATIONS.test(page) ? 3 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
