// Learns the weights of the fusion: `npm run train -- <folder of sets> [<folder of model vectors>]`.
// Listwise softmax over candidates, plain gradient descent, no randomness. Prints what each left-out set would get with
// weights learned on the others, then the weights learned on all: packages/core/src/search/hybrid.ts holds them.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { table, report as writeReport } from '../bench/report.ts'
import { type QuerySet, readSets } from '../bench/sets.ts'
import { meanOf, measureRanking } from '../packages/core/src/search/evaluate.ts'
import {
  type Candidate,
  FUSION_FEATURES,
  type FusionWeights,
  fuse,
  gatherCandidates,
} from '../packages/core/src/search/hybrid.ts'
import { readIntent } from '../packages/core/src/search/intent.ts'
import { createLexicalIndex } from '../packages/core/src/search/lexical.ts'
import { createMeaning } from '../packages/core/src/search/meaning.ts'
import { createVectors } from '../packages/core/src/search/vectors.ts'

type Example = {
  readonly set: string
  readonly rows: readonly Float64Array[]
  readonly isGold: readonly boolean[]
  readonly documents: readonly number[]
  readonly gold: ReadonlySet<number>
  readonly acceptable: ReadonlySet<number>
  readonly weight: number
}

const [folder = '', modelFolder] = process.argv.slice(2)
const LEFT_OUT_OF_TRAINING = new Set<string>()
const meaning = createMeaning(readFileSync(new URL('../packages/core/data/meaning.bin', import.meta.url)))
const sets = readSets(folder, Number(process.env.MAX_QUERIES ?? 900))
const withModel = modelFolder !== undefined
const rows: string[][] = []

const examples = sets.flatMap((set) => [
  ...examplesOf(set, false),
  ...(withModel ? [] : examplesOf(set, true)),
])
const features = FUSION_FEATURES.filter((feature) => withModel || !feature.startsWith('model'))
const names = [...new Set(examples.map(({ set }) => set))]
for (const name of process.env.NO_LEAVING_OUT ? [] : names) {
  const others = examples.filter(
    ({ set }) =>
      !set.startsWith(name.split(' ')[0] ?? name) && !LEFT_OUT_OF_TRAINING.has(set.split(' ')[0] ?? ''),
  )
  report(
    `${name} (left out)`,
    examples.filter(({ set }) => set === name),
    train(others),
  )
}
const weights = train(examples.filter(({ set }) => !LEFT_OUT_OF_TRAINING.has(set.split(' ')[0] ?? '')))
for (const name of names)
  report(
    `${name} (all)`,
    examples.filter(({ set }) => set === name),
    weights,
  )
const printed = FUSION_FEATURES.map((feature) => `${feature} ${(weights[feature] ?? 0).toFixed(2)}`).join(
  ', ',
)
writeReport(
  withModel ? 'Fusion with the encoder' : 'Fusion',
  `npm run train -- <folder of sets>${withModel ? ' <folder of vectors>' : ''}`,
  [
    `Weights learned without the set that is measured, and on all sets; at most ${process.env.MAX_QUERIES ?? 900} queries a set.`,
    '',
    ...table(['set', 'queries', 'R@1', 'R@5', 'nDCG@10'], rows),
    '',
    `Learned on all: ${printed}.`,
  ],
)

function examplesOf(set: QuerySet, isShort: boolean): Example[] {
  const index = createLexicalIndex(set.tools)
  const vectors = createVectors(meaning)
  const place = new Map(set.tools.map(({ name }, position) => [name, position]))
  const original = new Map(set.tools.map(({ original }, position) => [original, position]))
  const find = (name: string) => place.get(name) ?? original.get(name) ?? -1
  const model = withModel ? modelScores(set.name) : undefined
  if (withModel && !model) return []
  const queries = isShort ? set.short : set.queries
  const inScope = (scope: string | undefined) => (document: number) =>
    !scope || set.tools[document]?.server === scope
  return queries.flatMap((query, position) => {
    const { candidates } = gatherCandidates(
      index,
      readIntent(query.query),
      vectors,
      model?.(query.id ?? '', position),
      query.scope ? 500 : 40,
    )
    const gold = new Set(query.gold.map(find))
    return [
      exampleOf(
        set.name + (isShort ? ' short' : ''),
        candidates,
        gold,
        new Set((query.acceptable ?? []).map(find)),
        inScope(query.scope),
        queries.length,
      ),
    ]
  })
}

function exampleOf(
  set: string,
  candidates: readonly Candidate[],
  gold: Set<number>,
  acceptable: Set<number>,
  isIn: (document: number) => boolean,
  size: number,
): Example {
  const kept = candidates.filter(({ document }) => isIn(document))
  const good = new Set([...gold, ...acceptable])
  const rows = kept.map(({ features }) => Float64Array.from(FUSION_FEATURES.map((name) => features[name])))
  const places = kept.map(({ document }) => document)
  return {
    set,
    rows,
    isGold: places.map((document) => good.has(document)),
    documents: places,
    gold,
    acceptable,
    weight: 1 / size,
  }
}

/** Minus log of the golds' share of the softmax, each set counting the same. */
function train(from: readonly Example[]): FusionWeights {
  const usable = from.filter(({ isGold }) => isGold.some(Boolean) && !isGold.every(Boolean))
  const weights = Float64Array.from(FUSION_FEATURES.map((feature) => (features.includes(feature) ? 1 : 0)))
  const speed = new Float64Array(weights.length)
  const second = new Float64Array(weights.length)
  const total = usable.reduce((sum, { weight }) => sum + weight, 0)
  for (let step = 1; step <= 120; step++) {
    const slope = new Float64Array(weights.length)
    for (const example of usable) addSlope(example, weights, slope)
    for (let feature = 0; feature < weights.length; feature++) {
      if (!features.includes(FUSION_FEATURES[feature]!)) continue
      const value = slope[feature]! / total + 0.002 * weights[feature]!
      speed[feature] = 0.9 * speed[feature]! + 0.1 * value
      second[feature] = 0.99 * second[feature]! + 0.01 * value * value
      const rate = 0.15 / (1 + step / 100)
      weights[feature]! -=
        (rate * (speed[feature]! / (1 - 0.9 ** step))) /
        (Math.sqrt(second[feature]! / (1 - 0.99 ** step)) + 1e-8)
      if (weights[feature]! < 0) weights[feature] = 0
    }
  }
  return Object.fromEntries(
    FUSION_FEATURES.map((feature, index) => [feature, weights[index]!]),
  ) as FusionWeights
}

function addSlope({ rows, isGold, weight }: Example, weights: Float64Array, slope: Float64Array): void {
  const powers = new Float64Array(rows.length)
  let top = Number.NEGATIVE_INFINITY
  for (let position = 0; position < rows.length; position++) {
    const row = rows[position]!
    let score = 0
    for (let feature = 0; feature < row.length; feature++) score += row[feature]! * weights[feature]!
    powers[position] = score
    if (score > top) top = score
  }
  let [all, good] = [0, 0]
  for (let position = 0; position < rows.length; position++) {
    powers[position] = Math.exp(powers[position]! - top)
    all += powers[position]!
    if (isGold[position]) good += powers[position]!
  }
  for (let position = 0; position < rows.length; position++) {
    const row = rows[position]!
    const pull = weight * (powers[position]! / all - (isGold[position] ? powers[position]! / good : 0))
    for (let feature = 0; feature < row.length; feature++) slope[feature]! += pull * row[feature]!
  }
}

function report(title: string, from: readonly Example[], weights: FusionWeights): void {
  const results = from.map(({ rows, documents, gold, acceptable }) => {
    const order = rows
      .map((row, position) => ({
        document: documents[position]!,
        score: fuse(
          Object.fromEntries(FUSION_FEATURES.map((f, i) => [f, row[i]!])) as FusionWeights,
          weights,
        ),
      }))
      .sort((a, b) => b.score - a.score || a.document - b.document)
    return measureRanking(
      order.slice(0, 10).map(({ document }) => document),
      gold,
      acceptable,
    )
  })
  const { r1, r5, ndcg10 } = meanOf(results)
  rows.push([title, String(from.length), ...[r1, r5, ndcg10].map((value) => (100 * value).toFixed(1))])
  console.log(rows.at(-1)?.join('  '))
}

/** Cosines of precomputed vectors: `<set>-tools.f32` and `<set>-queries.f32`, 384 numbers a row, in file order. */
function modelScores(name: string): ((id: string, position: number) => Float32Array) | undefined {
  const path = (kind: string) => join(modelFolder ?? '', `${name}-${kind}.f32`)
  if (!existsSync(path('tools')) || !existsSync(path('queries'))) return undefined
  const read = (kind: string) => {
    const bytes = readFileSync(path(kind))
    return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  }
  const [tools, queries] = [read('tools'), read('queries')]
  const count = tools.length / 384
  return (_, position) => {
    const scores = new Float32Array(count)
    for (let row = 0; row < count; row++) {
      let sum = 0
      for (let index = 0; index < 384; index++)
        sum += tools[row * 384 + index]! * queries[position * 384 + index]!
      scores[row] = sum
    }
    return scores
  }
}
