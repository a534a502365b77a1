// Learns the lexicon of one language from its pairs: which English words translate each of its words.

import { foreignWords } from '../../packages/core/src/search/language.ts'
import { stem } from '../../packages/core/src/search/stem.ts'
import { STOP_WORDS, splitWords } from '../../packages/core/src/search/words.ts'
import { align } from './align.mjs'

const MAX_TARGETS = 3

/** English stems with the form in which each is usual, and how often every form was seen. */
export class English {
  forms = new Map()

  add(words) {
    for (const word of words) this.forms.set(word, (this.forms.get(word) ?? 0) + 1)
  }

  /** The most frequent form of each stem. */
  usualForms() {
    const usual = new Map()
    for (const [word, count] of this.forms) {
      const key = stem(word)
      const known = usual.get(key)
      if (!known || count > known.count || (count === known.count && word.length < known.word.length))
        usual.set(key, { word, count })
    }
    return new Map([...usual].map(([key, { word }]) => [key, word]))
  }
}

export function englishWords(text) {
  return splitWords(text).filter((word) => /^[a-z]{2,30}$/.test(word))
}

/** The words of a foreign text; runs without spaces are cut by the dictionary of the platform. */
export function wordsOf(text, language) {
  return foreignWords(text).flatMap(({ word, script, isName }) => {
    if (isName || script === 'other') return []
    if (script !== 'kana' && script !== 'han') return [word]
    return [...segmenterOf(language).segment(word)].map(({ segment }) => segment)
  })
}

const segmenters = new Map()

function segmenterOf(language) {
  if (!segmenters.has(language))
    segmenters.set(language, new Intl.Segmenter(language, { granularity: 'word' }))
  return segmenters.get(language)
}

/** Entries of a lexicon, the most useful first: word, logarithm of its count, English words. */
export function learn(language, pairs, usualForms, options) {
  const foreign = createNumbers([''])
  const english = createNumbers([''])
  const counts = new Map()
  const short = new Set()
  const lists = []
  const texts = []
  for (const [a, b] of pairs) {
    const forms = [...new Set(englishWords(a))]
    const targets = [...new Set(forms.map(stem))]
    const sources = [...new Set(wordsOf(b, language))]
    if (targets.length === 0 || sources.length === 0) continue
    for (const word of sources) counts.set(word, (counts.get(word) ?? 0) + 1)
    if (sources.length <= SHORT && targets.length <= SHORT) for (const word of sources) short.add(word)
    lists.push([sources.map(foreign.of), targets.map(english.of)])
    texts.push([sources, forms])
  }
  const rows = likeliest(align(lists), english.words, options)
  const entries = []
  for (const [word, count] of counts) {
    const targets = targetsOf(rows.get(foreign.of(word)) ?? [], options)
    if (targets && isUseful(word, count, targets, short.has(word)))
      entries.push({ word, count, frequency: Math.log2(count), targets })
  }
  nameTargets(entries, texts, usualForms)
  const worth = ({ word, count }) => count + (short.has(word) ? SHORT_WORTH : 0)
  return entries.sort((a, b) => worth(b) - worth(a) || (a.word < b.word ? -1 : 1))
}

/** Replaces stems by words: the form that occurs most often with the foreign word ("customer", not "custom"). */
function nameTargets(entries, texts, usualForms) {
  const seen = new Map(
    entries.map(({ word, targets }) => [word, new Map(targets.map((one) => [one, new Map()]))]),
  )
  for (const [sources, forms] of texts) {
    for (const source of sources) {
      const wanted = seen.get(source)
      if (!wanted) continue
      for (const form of forms) {
        const counts = wanted.get(stem(form))
        counts?.set(form, (counts.get(form) ?? 0) + 1)
      }
    }
  }
  for (const entry of entries)
    entry.targets = entry.targets.map(
      (one) => mostFrequent(seen.get(entry.word).get(one), usualForms.get(one)) ?? one,
    )
}

function mostFrequent(counts, usual) {
  let best = usual
  for (const [form, count] of counts) if (count > (counts.get(best) ?? 0)) best = form
  return best
}

/** Per foreign word its likely English stems, with scores that count both directions. */
function likeliest({ firsts, seconds, there, back }, english, { leastProbability }) {
  const rows = new Map()
  for (let cell = 0; cell < there.length; cell++) {
    if (there[cell] < leastProbability || firsts[cell] === 0 || seconds[cell] === 0) continue
    const found = { word: english[seconds[cell]], score: there[cell] * Math.sqrt(back[cell]) }
    const row = rows.get(firsts[cell])
    if (row) row.push(found)
    else rows.set(firsts[cell], [found])
  }
  return rows
}

/** Returns the best stems; an empty list for a word that only translates function words. */
function targetsOf(row, { leastRelative }) {
  const scored = row.sort((a, b) => b.score - a.score || (a.word < b.word ? -1 : 1))
  if (scored.length === 0) return undefined
  if (STOP_WORDS.has(scored[0].word)) return []
  const telling = scored.filter(({ word }) => !STOP_WORDS.has(word))
  return telling
    .filter(({ score }) => score >= telling[0].score * leastRelative)
    .slice(0, MAX_TARGETS)
    .map(({ word }) => word)
}

/** Returns whether the evidence suffices: function words need many pairs, rare words need short ones. */
function isUseful(word, count, targets, isInShort) {
  if (word.length > MAX_WORD_LENGTH) return false
  if (targets.length === 0) return count >= 4
  return count >= 3 || isInShort
}

/** Pairs with at most this many words are the most informative. */
const SHORT = 3
const SHORT_WORTH = 4

const MAX_WORD_LENGTH = 40

function createNumbers(first) {
  const numbers = new Map(first.map((word, index) => [word, index]))
  const words = [...first]
  return {
    words,
    of(word) {
      let number = numbers.get(word)
      if (number === undefined) {
        number = words.push(word) - 1
        numbers.set(word, number)
      }
      return number
    },
  }
}
