// Puts the corpus together: licensed texts and phrases of our own, without repetition, in a fixed order.
import { phraseTexts } from './phrases.mjs'
import { brandNames, commandTexts, interfaceTexts, wordnetTexts } from './texts.mjs'
import { chance, shuffle } from './words.mjs'

/** What MiniLM reads: how many texts of each source at most, and the longest of them in characters. */
export const WIDE = {
  shares: { interfaces: 95_000, wordnet: 80_000, commands: 35_000, phrases: 80_000 },
  longest: 180,
}

/** What gte-small reads: it is five times slower, so short texts, most of them about tools. */
export const SHORT = {
  shares: { interfaces: 24_000, wordnet: 6_000, commands: 5_000, phrases: 13_000 },
  longest: 90,
}

/** Texts with their source, shuffled: any beginning of the list is a fair sample of the whole. */
export function buildCorpus(places, { shares, longest }) {
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
      if (text.length < 2 || text.length > longest || seen.has(text) || !/[a-z]/i.test(text)) continue
      seen.add(text)
      distinct.push({ text, source })
    }
    const taken = shuffle(distinct, chance(source.length)).slice(0, shares[source])
    for (const entry of taken) corpus.push(entry)
  }
  return shuffle(corpus, chance(7))
}
