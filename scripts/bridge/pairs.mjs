// Collects and cleans the parallel strings of one language.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readPairs } from './read.mjs'
import { gitDirectory, listFiles, readFile } from './repositories.mjs'
import { LANGUAGES, REPOSITORIES } from './sources.mjs'

const MAX_WORDS = 16
const MAX_LIST_WORDS = 40

/** Weight of a pair of our own list, which was chosen by hand. */
const EVERYDAY_COPIES = 4

/** All pairs [English, foreign] of a language, cleaned, each once. */
export function pairsOf(language, parallelFolder, cloneFolder) {
  const pairs = new Map()
  const add = ([english, foreign]) => {
    const pair = clean(english, foreign)
    if (pair) pairs.set(pair.join('\t').toLowerCase(), pair)
  }
  for (const code of LANGUAGES[language]) {
    const path = join(parallelFolder, `${code}.tsv`)
    if (existsSync(path))
      for (const line of readFileSync(path, 'utf8').split('\n')) if (line) add(line.split('\t'))
  }
  for (const source of REPOSITORIES) {
    const directory = gitDirectory(cloneFolder, source)
    const known = filesOf(directory, source)
    source.files.forEach((pattern, index) => {
      for (const code of LANGUAGES[language]) {
        const paths = [pattern.replace('*', code), pattern.replace('*', `${code}-${code.toUpperCase()}`)]
        const path = paths.find((one) => known.has(one))
        if (!path) continue
        const english = source.english ? englishOf(directory, source, source.english[index]) : undefined
        for (const pair of readPairs(source.format, readFile(directory, source, path), english)) add(pair)
      }
    })
  }
  return [...pairs.values(), ...everydayPairs(language)]
}

/** Our own list of everyday words, one pair a form. */
function everydayPairs(language) {
  const [header, ...lines] = readFileSync(new URL('everyday.tsv', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('\t'))
  const column = header.indexOf(language)
  if (column < 0) return []
  const pairs = lines.flatMap((cells) => cells[column].split(', ').map((form) => [cells[0], form]))
  return Array(EVERYDAY_COPIES).fill(pairs).flat()
}

const lists = new Map()
const englishTexts = new Map()

function filesOf(directory, source) {
  if (!lists.has(directory)) lists.set(directory, new Set(listFiles(directory, source)))
  return lists.get(directory)
}

function englishOf(directory, source, path) {
  const key = `${directory}\n${path}`
  if (!englishTexts.has(key)) englishTexts.set(key, readFile(directory, source, path))
  return englishTexts.get(key)
}

const PLACEHOLDER = /\{\{[^}]*\}\}|\{[^}]*\}|%\([^)]*\)[a-z]|%\d*\$?[sd@]|:[a-z_]+\b|<[^>]*>|`[^`]*`/g

/** Removes placeholders, tags and addresses. Returns undefined for a pair without words. */
function clean(english = '', foreign = '') {
  const [a, b] = [english, foreign].map((text) => text.replace(PLACEHOLDER, ' ').replace(/\s+/g, ' ').trim())
  if (a === '' || b === '' || a.toLowerCase() === b.toLowerCase()) return undefined
  if (/https?:|[{}<>|$\\]|\b(MMM|LLL|EEE|yy)/.test(a + b) || !/\p{L}{2}/u.test(a) || !/\p{L}/u.test(b))
    return undefined
  const most = a.includes(', ') ? MAX_LIST_WORDS : MAX_WORDS
  if (a.split(' ').length > most || b.length > 4 * a.length + 20 || a.length > 6 * b.length + 20)
    return undefined
  return [a, b]
}
