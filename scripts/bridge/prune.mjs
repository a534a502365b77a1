// Leaves out words whose translation is found through another form of them, so that the table has room for more words.
import { nearestWord, otherForm } from '../../packages/core/src/search/language.ts'
import { stem } from '../../packages/core/src/search/stem.ts'

const ROUNDS = 3

/** Returns the entries to keep, in their order: function words, and words that no other kept word covers. */
export function prune(entries) {
  const byWord = new Map(entries.map((entry) => [entry.word, entry]))
  let kept = firstChoice(entries)
  for (let round = 0; round < ROUNDS; round++) {
    const words = [...kept].sort(byText)
    const wrong = entries.filter((entry) => !kept.has(entry.word) && !isImplied(entry, words, byWord))
    if (wrong.length === 0) break
    kept = new Set([...kept, ...wrong.map(({ word }) => word)])
  }
  return entries.filter(({ word }) => kept.has(word))
}

/** Short forms first, because forms are found by their beginnings. */
function firstChoice(entries) {
  const kept = new Set()
  const words = []
  const byWord = new Map(entries.map((entry) => [entry.word, entry]))
  for (const entry of [...entries].sort((a, b) => a.word.length - b.word.length || byText(a.word, b.word))) {
    if (isImplied(entry, words, byWord)) continue
    kept.add(entry.word)
    insert(words, entry.word)
  }
  return kept
}

function isImplied({ word, targets }, words, byWord) {
  if (targets.length === 0 || UNSPACED.test(word)) return false
  const form = otherForm(word, { nearest: (one, least) => nearestWord(words, one, least) })
  const implied = form === undefined ? undefined : byWord.get(form).targets[0]
  return implied !== undefined && stem(implied) === stem(targets[0])
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u

function insert(words, word) {
  let [low, high] = [0, words.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (words[middle] < word) low = middle + 1
    else high = middle
  }
  words.splice(low, 0, word)
}

function byText(a, b) {
  return a < b ? -1 : a > b ? 1 : 0
}
