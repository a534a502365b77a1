// The searches of a turn, each with its hits and their scores.
import type { InspectedSearch } from '../../model/turn-types.ts'
import { linkTo } from '../app/route.ts'
import { plural } from '../ui/format.ts'
import { Section } from '../ui/parts.tsx'
import { Foreign } from '../ui/text.tsx'

const MAX_HITS = 20

export function SearchesSection({ searches }: { readonly searches: readonly InspectedSearch[] }) {
  if (searches.length === 0) return null
  return (
    <Section title={searches.length === 1 ? 'Search' : 'Searches'}>
      {searches.map((search, at) => (
        <SearchCard key={`${search.time}${at}`} search={search} />
      ))}
    </Section>
  )
}

function SearchCard({ search }: { readonly search: InspectedSearch }) {
  const { query, ranker, matched, hits, searchable, refused, unsearched } = search
  const best = Math.max(...hits.map(({ score }) => score ?? 0), Number.EPSILON)
  const hidden = Math.max(0, hits.length - MAX_HITS)
  return (
    <div class="search-card">
      <p class="query">
        <q>
          <Foreign text={query} />
        </q>
        <a href={linkTo('search', [], { q: query })}>Try it in the playground</a>
      </p>
      <p class="hint">
        {matched === 0 ? 'Nothing matched' : `${plural(matched, 'tool')} matched`}
        {searchable !== undefined && ` of ${plural(searchable, 'tool')}`}, ranked by{' '}
        <Foreign text={ranker} limit={40} />
        {refused > 0 && `; ${refused} refused by a rule`}
        {unsearched.length > 0 && (
          <span class="warn">
            ; not searched: <Foreign text={unsearched.join(', ')} />
          </span>
        )}
      </p>
      <ol class="hits">
        {hits.slice(0, MAX_HITS).map(({ name, score }) => (
          <li key={name}>
            <code>
              <Foreign text={name} limit={120} />
            </code>
            <span class="bar" aria-hidden="true">
              <span class="own" style={{ width: `${(100 * (score ?? 0)) / best}%` }} />
            </span>
            <span class="amount">{score === undefined ? 'by name' : score.toFixed(3)}</span>
          </li>
        ))}
      </ol>
      {hidden > 0 && <p class="hint">{plural(hidden, 'more hit')}.</p>}
    </div>
  )
}
