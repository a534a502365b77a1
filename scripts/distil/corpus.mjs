// Assembles the corpus: licensed texts and phrases of our own, without duplicates, in a fixed order.
import { phraseTexts } from './phrases.mjs'
import { brandNames, commandTexts, interfaceTexts, wordnetTexts } from './texts.mjs'
import { chance, shuffle } from './words.mjs'

/** How many texts of each source are taken at most. */
const SHARES = { interfaces: 95_000, wordnet: 80_000, commands: 35_000, phrases: 80_000 }

/** Texts with their source, shuffled: any beginning of the list is a fair sample of the whole. */
export function buildCorpus(places) {
  const sources = {
    interfaces: interfaceTexts(places.interfaces),
    wordnet: wordnetTexts(places.wordnet),
    commands: commandTexts(places.commands),
    phrases: phraseTexts(brandNames(places.brands)),
  }
  const seen = new Set()
  const corpus = []
  for (const [source, texts] of Object.entries(sources)) {
    const distinct = []
    for (const text of texts) {
      if (text.length < 2 || text.length > 180 || seen.has(text) || !/[a-z]/i.test(text)) continue
      seen.add(text)
      distinct.push({ text, source })
    }
    const taken = shuffle(distinct, chance(source.length)).slice(0, SHARES[source])
    for (const entry of taken) corpus.push(entry)
  }
  return shuffle(corpus, chance(7))
}
