// Why a hit ranks where it does, drawn: the parts of its score beside those of the first hit, and which word of the query
// met which field of the tool.
import type { RankedHit, RankingView, SearchView } from '../../api.ts'
import { SHADES, StackedBar } from '../ui/bars.tsx'
import { Section } from '../ui/parts.tsx'
import { ScrollRegion } from '../ui/scroll.tsx'
import { Foreign, ForeignBlock } from '../ui/text.tsx'
import { scoreParts, shadeOfLabel } from './score-parts.ts'

type AnyHit = Omit<RankedHit, 'rank'> & { readonly rank: number | null }

export function WhyPanel({
  view,
  picked,
}: {
  readonly view: SearchView
  readonly picked: { readonly ranker: string; readonly name: string }
}) {
  const ranking = view.rankings.find(({ ranker }) => ranker === picked.ranker)
  const hit = ranking && hitOf(ranking, picked.name)
  if (!hit) return null
  const first = ranking.hits[0]
  const place = hit.rank === null ? 'not found' : `number ${hit.rank}`
  return (
    <Section level={2} title="Why it ranks there">
      <p class="lead">
        <code>
          <Foreign text={hit.name} limit={120} />
        </code>{' '}
        is {place} by {picked.ranker}
      </p>
      {hit.description !== '' && <ForeignBlock label="Description" text={hit.description} />}
      <ScoreDrawing hit={hit} first={first && first.name !== hit.name ? first : undefined} />
      <WordMap words={hit.words} isFound={hit.rank !== null} />
    </Section>
  )
}

function hitOf(ranking: RankingView, name: string): AnyHit | undefined {
  const listed = ranking.hits.find((hit) => hit.name === name)
  return listed ?? (ranking.expected?.name === name ? ranking.expected : undefined)
}

function ScoreDrawing({ hit, first }: { readonly hit: AnyHit; readonly first: RankedHit | undefined }) {
  const rows = [...(first ? [first] : []), hit]
  const sum = (one: AnyHit) => scoreParts(one).reduce((total, { amount }) => total + Math.max(0, amount), 0)
  const scale = Math.max(...rows.map(sum), Number.EPSILON)
  const labels = [...new Set(rows.flatMap((one) => scoreParts(one).map(({ label }) => label)))]
  return (
    <>
      <div class="score-drawing">
        {rows.map((one) => (
          <div key={one.name} class="score-row">
            <span class="name">
              <Foreign text={one.name} limit={60} />
            </span>
            <StackedBar parts={scoreParts(one)} scale={scale} shadeOf={shadeOfLabel} />
            <span class="amount">{one.score.toFixed(3)}</span>
          </div>
        ))}
      </div>
      <table class="legend">
        <caption class="unseen">What each part gave to the score</caption>
        <thead class={first ? undefined : 'unseen'}>
          <tr>
            <th scope="col">Part</th>
            {rows.map((one) => (
              <th key={one.name} scope="col" class="number">
                {one === hit ? 'this tool' : 'the first'}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {labels.map((label) => (
            <tr key={label}>
              <th scope="row">
                <span class={`key shade-${shadeOfLabel(label) % SHADES}`} aria-hidden="true" /> {label}
              </th>
              {rows.map((one) => (
                <td key={one.name} class="number">
                  {amountFor(one, label)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

function amountFor(hit: AnyHit, label: string): string {
  const amount = scoreParts(hit).find((part) => part.label === label)?.amount
  return amount === undefined ? '–' : amount.toFixed(3).replace('-', '−')
}

/** A row per word, a column per field; the larger the square, the more the word contributed there. */
function WordMap({ words, isFound }: { readonly words: RankedHit['words']; readonly isFound: boolean }) {
  if (words.length === 0)
    return (
      <p class="hint">
        {isFound
          ? 'No word of the query is in this tool: it was found by its meaning.'
          : 'No word of the query is in this tool, and its meaning is not near enough. A hint gives it words to be found by.'}
      </p>
    )
  const fields = [...new Set(words.flatMap((word) => word.fields.map(({ field }) => field)))]
  const max = Math.max(...words.flatMap((word) => word.fields.map(({ amount }) => amount)), Number.EPSILON)
  return (
    <ScrollRegion class="scroll" label="Words and fields">
      <table class="word-map">
        <caption>Words of the query, and where they are in the tool</caption>
        <thead>
          <tr>
            <th scope="col">Word</th>
            {fields.map((field) => (
              <th key={field} scope="col">
                {field}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {words.map(({ word, term, how, fields: own }, at) => (
            <tr key={`${word}${at}`}>
              <th scope="row">
                <Foreign text={word} limit={40} />
                <span class="hint">
                  {' '}
                  {term === word ? (
                    how
                  ) : (
                    <>
                      → <Foreign text={term} limit={40} /> ({how})
                    </>
                  )}
                </span>
              </th>
              {fields.map((field) => {
                const amount = own.find((one) => one.field === field)?.amount ?? 0
                const size = 4 + 18 * Math.sqrt(amount / max)
                return (
                  <td key={field}>
                    {amount > 0 && (
                      <>
                        <span
                          class="dot"
                          aria-hidden="true"
                          style={{ width: `${size}px`, height: `${size}px` }}
                        />
                        <span class="amount">{amount.toFixed(2)}</span>
                      </>
                    )}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}
