// Generates phrases from our own word lists: words of tools and services, and requests of people.
// Random pairs of verbs and objects were tried as well: they made no difference beyond chance, so they are left out.
import { readFileSync } from 'node:fs'
import { chance } from './words.mjs'

const SEED = 21
const REQUEST_ROUNDS = 190

const QUESTION = /^(what|who|how|is|when|where|which|will|do)\b/

/** The words of the lists, the names of products, then requests with what a tool for each may be called. */
export function* phraseTexts(brands) {
  yield* brands
  for (const name of ['verbs', 'objects', 'services']) yield* readList(name)
  for (const words of Object.values(readSlots())) yield* words
  for (const [text, intent] of requestPairs()) {
    yield text
    yield intent
  }
}

/** Pairs of what a person may say and what a tool for it may be called. */
export function* requestPairs() {
  const random = chance(SEED)
  const slots = readSlots()
  const lines = readFileSync(listAddress('requests'), 'utf8').trim().split('\n')
  const requests = lines.map((line) => line.split(' => '))
  for (let i = 0; i < REQUEST_ROUNDS * requests.length; i++) {
    const [template, intent] = pick(requests, random)
    yield [request(fill(template, slots, random), random), intent]
  }
}

/** A request as it is, as a sentence, or with a courtesy. */
function request(text, random) {
  const style = random()
  if (style < 0.5) return text
  const sentence = text[0].toUpperCase() + text.slice(1) + (QUESTION.test(text) ? '?' : '.')
  if (style < 0.8) return sentence
  return style < 0.9 ? `${sentence} Thanks!` : `Hi, ${text}`
}

function fill(template, slots, random) {
  return template.replaceAll(/\{(\w+)\}/g, (_, slot) => pick(slots[slot], random))
}

function pick(list, random) {
  return list[Math.floor(random() * list.length)]
}

/** Values for `{place}`, `{time}` and so on. */
function readSlots() {
  const slots = {}
  for (const line of readFileSync(listAddress('slots'), 'utf8').trim().split('\n')) {
    const [slot, words] = line.split(': ')
    slots[slot] = words.split(', ')
  }
  return slots
}

function readList(name) {
  return [
    ...new Set(
      readFileSync(listAddress(name), 'utf8')
        .trim()
        .split(/,\s*|\n/),
    ),
  ]
}

function listAddress(name) {
  return new URL(`lists/${name}.txt`, import.meta.url)
}
