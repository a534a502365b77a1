// `npm run bridge -- <folder of parallel strings> <folder of clones> [table]`: learns data/bridge.bin, the table with which
// queries in other languages are translated. Reads `<language>.tsv` (English, tab, foreign) from the first folder and the
// repositories of sources.mjs, at their commits, from the second; what is not there is fetched from GitHub.
import { writeFileSync } from 'node:fs'
import { brotliCompressSync, constants } from 'node:zlib'
import { English, englishWords, learn } from './learn.mjs'
import { pairsOf } from './pairs.mjs'
import { prune } from './prune.mjs'
import { LANGUAGES } from './sources.mjs'
import { writeTable } from './table.ts'

const OPTIONS = { leastProbability: 0.1, leastRelative: 0.4 }
const MAX_WORDS = 10000
const LEAST_ENGLISH = 2

const [parallelFolder, cloneFolder, output] = process.argv.slice(2)
if (!parallelFolder || !cloneFolder) {
  console.error('Usage: npm run bridge -- <folder of parallel strings> <folder of clones> [table]')
  process.exit(2)
}

const english = new English()
const pairs = new Map()
const seen = new Set()
for (const language of Object.keys(LANGUAGES)) {
  const found = pairsOf(language, parallelFolder, cloneFolder)
  pairs.set(language, found)
  for (const [text] of found) {
    if (seen.has(text)) continue
    seen.add(text)
    english.add(englishWords(text))
  }
  console.error(`${language}: ${found.length} pairs`)
}

const usualForms = english.usualForms()
const lexicons = new Map()
for (const [language, found] of pairs) {
  const entries = learn(language, found, usualForms, OPTIONS)
  const kept = prune(entries).slice(0, MAX_WORDS)
  lexicons.set(language, kept)
  console.error(`${language}: ${kept.length} of ${entries.length} words`)
}
const englishEntries = [...english.forms]
  .filter(([, count]) => count >= LEAST_ENGLISH)
  .map(([word, count]) => ({ word, frequency: Math.log2(count), targets: [] }))
const bytes = writeTable(englishEntries, lexicons)
const compressed = brotliCompressSync(bytes, {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
})
writeFileSync(output ?? new URL('../../packages/core/data/bridge.bin', import.meta.url), compressed)
console.error(`${bytes.length} bytes, ${compressed.length} compressed`)
