// The search playground: a query against all rankers side by side, and why each hit ranks where it does.
import { useEffect, useState } from 'preact/hooks'
import type { SearchInput, SearchView } from '../../api.ts'
import { goTo, linkTo, type Route } from '../app/route.ts'
import { useApp } from '../app/state.ts'
import { plural } from '../ui/format.ts'
import { Empty, ErrorNote } from '../ui/parts.tsx'
import { Foreign } from '../ui/text.tsx'
import { ExpectedTool } from './expected.tsx'
import { QueryForm } from './query-form.tsx'
import { RankingColumn } from './ranking.tsx'
import { useSearch } from './use-search.ts'
import { WhyPanel } from './why.tsx'

/** Texts of a tool that are tried in a search. */
export type TriedTexts = NonNullable<SearchInput['change']>

export function PlaygroundPage({ route }: { readonly route: Route }) {
  const { about } = useApp()
  const query = route.query.get('q') ?? ''
  const expected = route.query.get('expected') ?? ''
  const [change, setChange] = useState<TriedTexts>({})
  const rankers = about.value?.rankers
  const { view, error, isSearching } = useSearch({ query, expected, change, rankers })
  const [chosen, setChosen] = useState<{ readonly ranker: string; readonly name: string } | undefined>()
  useEffect(() => setChosen(undefined), [query])
  useEffect(() => setChange({}), [query, expected])
  if (about.value && !about.value.can.search)
    return (
      <Empty title="There is nothing to search here">
        <p>
          Start the inspector with your servers: run <code>toolshelf inspect</code> where your toolshelf.json
          is.
        </p>
      </Empty>
    )
  const go = (next: { q?: string; expected?: string }) =>
    goTo(linkTo('search', [], { q: query, expected, ...next }), { isReplaced: true })
  const picked = chosen ?? firstHit(view, expected)
  return (
    <div class="playground">
      <QueryForm query={query} expected={expected} onChange={go} />
      <ErrorNote text={error} />
      {view && <Summary view={view} isSearching={isSearching} />}
      {view && expected !== '' && (
        <ExpectedTool view={view} name={expected} change={change} onChange={setChange} />
      )}
      {view && (
        <div class="rankings">
          {(rankers ?? []).map((ranker) => (
            <RankingColumn
              key={ranker}
              ranker={ranker}
              ranking={view.rankings.find((one) => one.ranker === ranker)}
              expected={expected}
              picked={picked}
              onPick={(name) => setChosen({ ranker, name })}
              onExpect={(name) => go({ expected: name })}
            />
          ))}
        </div>
      )}
      {view && picked && <WhyPanel view={view} picked={picked} />}
      {!view && error === '' && <Invitation isSearching={isSearching && query !== ''} />}
    </div>
  )
}

/** What is explained until another hit is chosen: the expected tool, else the first hit. */
function firstHit(view: SearchView | undefined, expected: string) {
  const ranking = view?.rankings.find(({ hits }) => hits.length > 0)
  const name = ranking?.expected && expected !== '' ? expected : ranking?.hits[0]?.name
  return ranking && name !== undefined ? { ranker: ranking.ranker, name } : undefined
}

function Summary({ view, isSearching }: { readonly view: SearchView; readonly isSearching: boolean }) {
  const { searched, translation } = view
  return (
    <p class="hint" role="status">
      {isSearching ? 'Searching…' : `${plural(searched, 'tool')} searched.`}
      {translation && (
        <>
          {' '}
          Read as {translation.language}:{' '}
          {translation.words
            .filter(({ to }) => to.length > 0)
            .map(({ from, to }) => (
              <span key={from} class="word">
                <Foreign text={from} limit={60} /> → {to.join(', ')}
              </span>
            ))}
        </>
      )}
    </p>
  )
}

function Invitation({ isSearching }: { readonly isSearching: boolean }) {
  if (isSearching) return <p class="hint">Searching…</p>
  return (
    <Empty title="What would a model search for?">
      <p>
        Type it as a model would: <a href={linkTo('search', [], { q: 'create an issue' })}>create an issue</a>
        , <a href={linkTo('search', [], { q: 'send a message to a channel' })}>send a message to a channel</a>
        . Name the tool that should come first to see why it does not, and what would lift it.
      </p>
    </Empty>
  )
}
